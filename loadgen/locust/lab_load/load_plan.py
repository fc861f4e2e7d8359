"""Everything a run needs, decided and checked before its clock starts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab_load.bridge_client import BridgeClient, BridgeError
from lab_load.generator_settings import RUN_ID, GeneratorSettings, url_problems
from lab_workload.flows import Flow, Party
from lab_workload.load import (
    LATE_MAX_SECONDS_DEFAULT,
    LATE_MAX_SECONDS_LIMIT,
    PACING_SECONDS_MAX,
    RATE_MAX,
    Arrivals,
)
from lab_workload.names import canonical
from lab_workload.network import flow_problems, network_problems
from lab_workload.prepared import ALONE, Prepared, Results, Share
from lab_workload.problems import LoadError, Location, Problem, SetupError, TemplateError, WorkloadError
from lab_workload.values import Values
from lab_workload.workload import SetupStep, Workload, WorkloadPart, load_workload

OPEN_MARGIN = 1.1
"""How many more arrivals than the rate gives on average an open load is prepared for."""
ANSWER_MARGIN_SECONDS = 30.0
"""How much longer than the bridge's own limit the generator waits for an answer."""


@dataclass(frozen=True)
class Choice:
    """What a person or the command line asked for; an empty node or counterparty is the workload's own."""

    workload: str
    node: str
    counterparty: str
    pacing_seconds: float
    """Closed load: time from one start of a user to its next; 0 starts the next as soon as the last has ended."""
    run_id: str
    seed: int
    bridge_url: str
    arrivals: Arrivals = "closed"
    rate: float = 0.0
    """Open load: arrivals per second."""
    late_max_seconds: float = LATE_MAX_SECONDS_DEFAULT
    """Open load: an arrival that is later than this is dropped."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Values that take the place of the workload file's."""

    @property
    def is_open(self) -> bool:
        """Whether requests start at intended times."""
        return self.arrivals != "closed"


@dataclass(frozen=True)
class Extent:
    """How much load there will be."""

    users: int
    """Users of closed load, places in the pool of open load."""
    seconds: float | None
    """How long it goes on; None when nobody has said."""
    workers: int = 1

    @property
    def places(self) -> int:
        """Users with those that make every worker have as many."""
        return math.ceil(self.users / self.workers) * self.workers


@dataclass(frozen=True)
class LoadPlan:
    """A run that can start: the workload with its parties resolved, and what was prepared for it."""

    choice: Choice
    extent: Extent
    workload: Workload
    node: Party
    counterparty: Party | None
    parties: Mapping[str, str]
    """X.500 name of every party by its name."""
    needed: int | None
    """Requests that the run can make at most; None when that cannot be known."""
    answer_timeout_seconds: float
    results: Mapping[str, Results] = field(default_factory=dict)
    """What the set-up has prepared, by step."""

    @property
    def load(self) -> str:
        """The load in a few words, for people and dashboards: ``closed, 8 users`` or ``poisson, 20/s``."""
        choice = self.choice
        return f"{choice.arrivals}, {choice.rate:g}/s" if choice.is_open else f"closed, {self.extent.users} users"

    def values(self, share: Share = ALONE) -> Values:
        """A fresh source of template values: two of the same plan and share give the same sequence."""
        return Values(
            seed=self.choice.seed,
            node=self.node.x500_name,
            counterparty=self.counterparty.x500_name if self.counterparty else None,
            parties=self.parties,
            users=self.extent.places,
            needed=self.needed,
            run_id=self.choice.run_id,
            prepared=Prepared(self.results, share, self.workload.rate_max),
        )

    def counterparty_of(self, part: WorkloadPart) -> str | None:
        """X.500 name of the other party of ``part``, where it has one of its own."""
        name = canonical(part.own_counterparty, self.parties) if part.own_counterparty else None
        return self.parties[name] if name else None

    def node_of(self, step: SetupStep, item: object = None) -> str:
        """Name of the node on which ``step`` runs. Raises ``LoadError`` for one that is not there."""
        names = {
            "node": self.node.name,
            "counterparty": self.counterparty.name if self.counterparty else "",
            "item": item,
        }
        name = str(names.get(step.node, step.node))
        found = canonical(name, self.parties)
        if found is None:
            text = f"there is no node {name!r}; there are {', '.join(self.parties)}"
            raise LoadError(self.workload.source.problem((*step.location, "node"), text))
        return found


def make_plan(choice: Choice, extent: Extent, settings: GeneratorSettings) -> LoadPlan:
    """Check ``choice``, the workload's file and the bridge. Raises ``LoadError`` with everything that is wrong."""
    problems = _choice_problems(choice, settings)
    try:
        workload = load_workload(settings.workloads, choice.workload, settings.party_names, choice.overrides)
    except WorkloadError as error:
        raise LoadError([*problems, *error.problems]) from error
    if problems:
        raise LoadError(problems)

    node_name = canonical(choice.node or workload.node, settings.party_names) or workload.node
    counterparty_name = choice.counterparty or workload.counterparty
    _check_counterparties(workload, node_name, counterparty_name)

    bridge = BridgeClient(choice.bridge_url)
    known = {party.name: party for party in bridge.parties(node_name)}
    plan = LoadPlan(
        choice=choice,
        extent=extent,
        workload=workload,
        node=_party(node_name, known, node_name),
        counterparty=_party(counterparty_name, known, node_name) if counterparty_name else None,
        parties={name: party.x500_name for name, party in known.items()},
        needed=_needed(choice, extent, workload),
        answer_timeout_seconds=settings.flow_timeout_seconds + ANSWER_MARGIN_SECONDS,
    )
    _check_network(plan, bridge)
    _check_needed(plan)
    check_templates(plan)
    return plan


def check_templates(plan: LoadPlan, *, after_setup: bool = False) -> None:
    """Render the arguments of every part once: before the set-up those that need nothing of it. Raises ``LoadError``."""
    problems = []
    for part in plan.workload.parts:
        if part.arguments.needs_setup and not after_setup:
            continue
        values = plan.values()
        if part.own_counterparty:
            values.names["counterparty"] = plan.counterparty_of(part)
        try:
            part.arguments.check(values)
        except TemplateError as error:
            problems.append(plan.workload.source.problem((*part.location, "args"), f"template: {error}"))
    if problems:
        raise LoadError(problems)


def check_prepared(plan: LoadPlan) -> None:
    """See that what was prepared lasts. Raises ``SetupError`` when it cannot."""
    source = plan.workload.source
    for step, taken in plan.workload.prepared.items():
        wanted = taken * (plan.needed or 0)
        for name, items in _lists(step, plan.results[step]):
            if len(items) < wanted:
                text = f"{len(items)} items of {name} were prepared, but the load can take {wanted}"
                remedy = "raise the step's count (needed gives the number of requests), or lower rate_max, rate or time"
                raise SetupError(source.problem(_location(plan.workload, step), f"{text}; {remedy}"))
    for step in plan.workload.own_steps:
        for name, items in _lists(step, plan.results[step]):
            if len(items) < plan.extent.places:
                text = f"{len(items)} items of {name} were prepared, but each of {plan.extent.places} users needs one"
                problem = source.problem(_location(plan.workload, step), f"{text}; raise the step's count to users")
                raise SetupError(problem)


def _lists(step: str, results: Results) -> list[tuple[str, Sequence[Any]]]:
    if isinstance(results, Mapping):
        return [(f"{step}[{item}]", items) for item, items in results.items()]
    return [(step, results)]


def _location(workload: Workload, step: str) -> Location:
    return next(found.location for found in workload.setup if found.name == step)


def _needed(choice: Choice, extent: Extent, workload: Workload) -> int | None:
    """Requests that a load can make at most."""
    if extent.seconds is None:
        return None
    if choice.is_open:
        return math.ceil(choice.rate * extent.seconds * OPEN_MARGIN) + extent.users
    return None if workload.rate_max is None else math.ceil(workload.rate_max * extent.seconds) + extent.users


def _choice_problems(choice: Choice, settings: GeneratorSettings) -> list[Problem]:
    problems = url_problems("host", choice.bridge_url)
    for label, name in (("node", choice.node), ("counterparty", choice.counterparty)):
        if name and canonical(name, settings.party_names) is None:
            text = f"unknown node {name!r}; there are {', '.join(settings.party_names)}"
            problems.append(Problem.of(label, text))
    if not math.isfinite(choice.pacing_seconds) or not 0 <= choice.pacing_seconds <= PACING_SECONDS_MAX:
        problems.append(
            Problem.of("pacing", f"must be 0 to {PACING_SECONDS_MAX:.0f} seconds, is {choice.pacing_seconds:g}")
        )
    if not RUN_ID.fullmatch(choice.run_id):
        problems.append(Problem.of("run id", f"{choice.run_id!r} is not 1 to 100 letters, digits, '.', '_' or '-'"))
    if not choice.is_open:
        if choice.rate:
            problems.append(
                Problem.of("rate", "belongs to open load; leave it 0, or choose constant or poisson arrivals")
            )
        return problems
    if not 0 < choice.rate <= RATE_MAX:
        problems.append(
            Problem.of(
                "rate", f"{choice.arrivals} arrivals need above 0 to {RATE_MAX:.0f} per second, is {choice.rate:g}"
            )
        )
    if not 0 <= choice.late_max_seconds <= LATE_MAX_SECONDS_LIMIT:
        problems.append(
            Problem.of("late-max", f"must be 0 to {LATE_MAX_SECONDS_LIMIT:.0f} seconds, is {choice.late_max_seconds:g}")
        )
    if choice.pacing_seconds:
        problems.append(
            Problem.of("pacing", "belongs to closed load; leave it 0, the rate says how often requests start")
        )
    return problems


def _check_counterparties(workload: Workload, node_name: str, counterparty_name: str | None) -> None:
    for part in workload.parts:
        name = part.own_counterparty or counterparty_name
        if name is not None and name.casefold() == node_name.casefold():
            raise LoadError(Problem.of("counterparty", f"is {node_name} like the node; choose another party"))


def _check_network(plan: LoadPlan, bridge: BridgeClient) -> None:
    """See that nodes, parties and flows are there. Raises ``LoadError``."""
    workload = plan.workload
    node, counterparty = plan.node.name, plan.counterparty.name if plan.counterparty else None
    platform = bridge.platform_version(node) if workload.requires and workload.requires.platform else None
    flows: dict[str, list[Flow]] = {node: bridge.flows(node)}
    problems = network_problems(workload, node, counterparty, plan.parties, platform, flows)
    if problems:
        raise LoadError(problems)
    for step in workload.setup:
        if step.flow is None or step.node == "item":
            continue
        at = plan.node_of(step)
        if at not in flows:
            flows[at] = bridge.flows(at)
        problems += [
            workload.source.locate(problem, step.location)
            for problem in flow_problems(at, step.flow, step.args, flows[at])
        ]
    if problems:
        raise LoadError(problems)


def _check_needed(plan: LoadPlan) -> None:
    """See that it is known how much is needed where something is used up. Raises ``LoadError``."""
    workload = plan.workload
    users = [
        *(part.arguments for part in workload.parts),
        *(used for step in workload.setup for used in step.all_arguments),
    ]
    if plan.needed is not None or not (workload.takes or any("needed" in arguments.used_names for arguments in users)):
        return
    if plan.extent.seconds is None:
        text = f"{workload.name} uses up what its set-up prepares, so say how long the run takes"
        raise LoadError(Problem.of("run time", text))
    text = "is missing; without it nobody knows how much to prepare for a closed load"
    raise LoadError(workload.source.problem(("rate_max",), text))


def _party(name: str, known: dict[str, Party], node_name: str) -> Party:
    found = canonical(name, known)
    if found is None:
        raise BridgeError(f"{node_name} has no party {name!r} in its network map; it knows {', '.join(known)}")
    return known[found]
