"""Binds a load to a network: finds its parties and flows, and reports everything that prevents it from running."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from lab_workload.flows import Flow, Party, flow_problems, named
from lab_workload.load import Load
from lab_workload.names import canonical, did_you_mean
from lab_workload.problems import Problem, WorkloadError, in_file_order
from lab_workload.schema import NODE_WORDS, Part, SetupStep, Workload
from lab_workload.subject import LoadPart, Subject
from lab_workload.templates import Arguments


@dataclass(frozen=True)
class Network:
    """A running network. The functions may send requests to a bridge, and raise its client's errors."""

    parties: Mapping[str, Party]
    """All parties by name, without notaries."""
    flows: Callable[[str], Sequence[Flow]]
    """Returns the flows that a node can start by RPC, for the node's name."""
    platform_version: Callable[[str], int]
    """Returns the platform version of a node, for its name."""
    start_problem: Callable[[str, str, Mapping[str, Any]], Problem | None] = lambda node, flow, args: None
    """Returns why the bridge would refuse to start a flow on a node with these arguments, without starting it."""
    notaries: Sequence[str] = ()
    """Names of the notaries, if they are known."""
    notary: str | None = None
    """X.500 name of the first notary that flows can use, if there is one."""
    startable: Sequence[str] = ()
    """Names of all parties that a larger network would have, in order."""


@dataclass(frozen=True)
class Roles:
    """The parties of the flows that one node starts."""

    node: Party
    """The party that starts the flows."""
    counterparty: Party | None
    """The other party; None if neither the run nor the workload chooses one."""
    parties: Mapping[str, str]
    """X.500 names of all parties by name."""
    starters: tuple[str, ...] = ()
    """Names of all nodes that start flows in the run, in turn, this one among them."""
    notary: str | None = None
    """X.500 name of the first notary that flows can use, if there is one."""

    def counterparty_of(self, part: Part) -> Party | None:
        """Return the other party of ``part``: its own if it has one, else that of the run."""
        name = canonical(part.counterparty, self.parties) if part.counterparty else None
        if name is None:
            return self.counterparty
        name = partner_of(name, self.node.name, self.starters)
        return Party(name, self.parties[name])

    def node_of(self, step: SetupStep, item: object = None) -> str:
        """Return the name of the node on which ``step`` runs for ``item``. There may be no party with this name."""
        counterparty = self.counterparty.name if self.counterparty else ""
        words = {"node": self.node.name, "counterparty": counterparty, "item": item}
        return str(words.get(step.node, step.node))


def partner_of(counterparty: str, node: str, starters: Sequence[str]) -> str:
    """Return the other party of the flows that ``node`` starts.

    If the counterparty is itself one of several ``starters``, the nodes form a ring: each has the next one as its
    counterparty, and the last has the first.
    """
    if len(starters) < 2 or counterparty not in starters:
        return counterparty
    return starters[(starters.index(node) + 1) % len(starters)]


def bind(workload: Workload, load: Load, network: Network) -> tuple[Roles, ...]:
    """Find the parties and flows of a load, for each node that starts its flows in turn.

    Raises ``WorkloadError`` with everything that the network does not have. ``subject_of`` says what is counted.
    """
    # If the network is too small, only report that, and not each missing party.
    _refuse(_size_problems(workload, network))
    starters = _starters(workload, load, network)
    flows_of = cache(network.flows)
    # If the CorDapp is missing, only report that, and not each missing flow.
    _refuse([problem for roles in starters for problem in _cordapp_problems(workload, roles.node.name, flows_of)])
    problems = [*_same_party_problems(workload, load, starters)]
    for roles in starters:
        node = roles.node.name
        problems += _platform_problems(workload, node, network)
        for part in workload.flows:
            own = [*_party_problems(part, roles, network), *flow_problems(node, part.flow, part.args, flows_of(node))]
            problems += [workload.source.locate(problem, part.location) for problem in own]
        for step in workload.setup:
            own = list(_step_problems(step, roles, network, flows_of))
            problems += [workload.source.locate(problem, step.location) for problem in own]
    _refuse(problems)
    return starters


def subject_of(workload: Workload, starters: Sequence[Roles], flows: Callable[[str], Sequence[Flow]]) -> Subject:
    """Return what is counted of a load. ``flows`` returns the flows of a node, as that of a network."""
    subjects = []
    for roles in starters:
        node = roles.node.name
        known = flows(node)
        subjects.append(
            Subject(node, tuple(_load_part(part, roles, named(part.flow, known)[0]) for part in workload.flows))
        )
    return replace(subjects[0], others=tuple(subjects[1:]))


def _load_part(part: Part, roles: Roles, flow: Flow) -> LoadPart:
    party = roles.counterparty_of(part)
    counterparty = party.name if party else None
    return LoadPart(
        name=part.name,
        flow=flow.name,
        flow_short=flow.short_name,
        counterparty=counterparty,
        weight=part.weight,
        unit=part.unit,
        states_per_flow=part.states_per_flow,
        changes=part.vault_changes(roles.node.name, counterparty),
    )


def unknown_party(name: str, network: Network) -> Problem | None:
    """Return why ``name`` is not a party; None if it is one."""
    if canonical(name, network.parties) is not None:
        return None
    remedy = f"The parties are {', '.join(network.parties)}."
    notary = canonical(name, network.notaries)
    if notary is not None:
        return Problem(f"{notary} is a notary", remedy=remedy)
    startable = canonical(name, network.startable)
    if startable is not None:
        count = network.startable.index(startable) + 1
        remedy = f"{remedy} Start more with `scripts/lab up --parties {count}`."
        return Problem(f"unknown party {name!r}", remedy=remedy)
    return Problem(f"unknown party {name!r}{did_you_mean(name, network.parties)}", remedy=remedy)


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        raise WorkloadError(in_file_order(problems))


def _size_problems(workload: Workload, network: Network) -> list[Problem]:
    needed = workload.requires.parties
    if needed is None or len(network.parties) >= needed:
        return []
    text = f"needs {needed} parties, but the network has {len(network.parties)}"
    remedy = f"Start the lab with `scripts/lab up --parties {needed}`."
    return [workload.source.problem(("requires", "parties"), text, remedy)]


def _platform_problems(workload: Workload, node: str, network: Network) -> list[Problem]:
    needed = workload.requires.platform
    if needed is None or (version := network.platform_version(node)) >= needed:
        return []
    text = f"needs platform version {needed}, but {node} has {version}"
    remedy = "Start the lab with a newer version of Corda (`scripts/lab up --corda`)."
    return [workload.source.problem(("requires", "platform"), text, remedy)]


def _cordapp_problems(workload: Workload, node: str, flows_of: Callable[[str], Sequence[Flow]]) -> Iterator[Problem]:
    needed = workload.requires.cordapp
    if needed is None or all(named(part.flow, flows_of(node)) for part in workload.flows):
        return
    text = f"needs the CorDapp {needed!r}, which {node} does not have"
    remedy = f"Start the lab with `scripts/lab up --cordapp {needed}`."
    yield workload.source.problem(("requires", "cordapp"), text, remedy)


def _starters(workload: Workload, load: Load, network: Network) -> tuple[Roles, ...]:
    """Return the parties for each node that starts flows. Raises ``WorkloadError`` if one does not exist."""
    problems = []
    names: list[str] = []
    asked = load.nodes or ((load.node,) if load.node else ())
    for index, wanted in enumerate(asked or workload.nodes):
        problem = unknown_party(wanted, network)
        name = canonical(wanted, network.parties)
        if name is not None and name in names:
            problem = Problem(f"{name} is named twice", remedy="Name each node once.")
        if problem is not None and asked:
            problems.append(replace(problem, location=("nodes" if load.nodes else "node",)))
        elif problem is not None:
            problems.append(workload.source.locate(problem, ("nodes", index)))
        names.append(str(name))
    counterparty = load.counterparty or workload.counterparty
    problem = unknown_party(counterparty, network) if counterparty else None
    if problem is not None:
        problems.append(_of_load_or_file(problem, workload, load))
    _refuse(problems)
    other = canonical(counterparty, network.parties) if counterparty else None
    parties = {name: party.x500_name for name, party in network.parties.items()}
    return tuple(
        Roles(
            node=network.parties[name],
            counterparty=network.parties[partner_of(other, name, names)] if other else None,
            parties=parties,
            starters=tuple(names),
            notary=network.notary,
        )
        for name in names
    )


def _of_load_or_file(problem: Problem, workload: Workload, load: Load) -> Problem:
    """Locate the problem of the counterparty: in the option of the load if it has one, else in the workload file."""
    where = ("counterparty",)
    return replace(problem, location=where) if load.counterparty else workload.source.locate(problem, where)


def _same_party_problems(workload: Workload, load: Load, starters: Sequence[Roles]) -> Iterator[Problem]:
    if len(starters) > 1:
        # A counterparty of the workload gives way to the ring. One that the load names cannot.
        name = canonical(load.counterparty, starters[0].starters) if load.counterparty else None
        if name is not None:
            remedy = "Choose a party that starts none, or leave it out: then each node's counterparty is the next node."
            yield Problem(f"{name} is also one of the nodes that start the flows", ("counterparty",), remedy)
        return
    (roles,) = starters
    message = f"{roles.node.name} is also the node that starts the flows"
    problem = Problem(message, remedy="Choose two different parties.")
    for part in workload.flows:
        if roles.counterparty_of(part) != roles.node:
            continue
        if part.counterparty:
            yield workload.source.locate(problem, (*part.location, "counterparty"))
        else:
            yield _of_load_or_file(problem, workload, load)


def _party_problems(part: Part, roles: Roles, network: Network) -> Iterator[Problem]:
    if part.counterparty and (problem := unknown_party(part.counterparty, network)):
        yield replace(problem, location=("counterparty",))
    for state, nodes in part.changes.items():
        for node in nodes:
            problem = None if node in NODE_WORDS else unknown_party(node, network)
            if problem is not None:
                yield replace(problem, location=("states", state, node))
    yield from _template_problems(part.args, roles.counterparty_of(part), network)


def _template_problems(arguments: Arguments, counterparty: Party | None, network: Network) -> Iterator[Problem]:
    """Yield the parties that templates name and that do not exist."""
    if "notary" in arguments.used_names and network.notary is None:
        yield Problem("uses notary, but the network has none", ("args", *arguments.used_names["notary"]))
    where = arguments.used_names.get("counterparty")
    if where is not None and counterparty is None:
        text, remedy = "uses counterparty, but the run has none", "Set a counterparty, for example PartyB."
        yield Problem(text, ("args", *where), remedy)
    for name, place in arguments.named_parties.items():
        problem = unknown_party(name, network)
        if problem is not None:
            yield replace(problem, location=("args", *place))


def _step_problems(
    step: SetupStep, roles: Roles, network: Network, flows_of: Callable[[str], Sequence[Flow]]
) -> Iterator[Problem]:
    yield from _template_problems(step.args, roles.counterparty, network)
    if step.node == "item":
        return  # the items are known only when the set-up runs
    node = roles.node_of(step)
    problem = unknown_party(node, network)
    if problem is not None:
        yield replace(problem, location=("node",))
    elif step.flow is not None:
        name = str(canonical(node, network.parties))
        yield from flow_problems(name, step.flow, step.args, flows_of(name))
