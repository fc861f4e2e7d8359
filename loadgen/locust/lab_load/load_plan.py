"""The plan of a run: everything that is decided and checked before its clock starts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lab_load.bridge_client import BridgeClient
from lab_load.choice import Choice, Extent, choice_problems
from lab_load.generator_settings import GeneratorSettings
from lab_workload.load import BURST_REQUESTS_MAX
from lab_workload.names import canonical
from lab_workload.network import Asked, BoundNode, Network, Roles, bind
from lab_workload.prepared import ALONE, Prepared, Results, Share
from lab_workload.problems import LoadError, Location, Problem, SetupError, WorkloadError
from lab_workload.starts import part_starts
from lab_workload.values import Draws, Values
from lab_workload.workload import SetupStep, Workload, load_workload

OPEN_MARGIN = 1.1
"""In open load, items are prepared for this many times the expected number of arrivals."""
ANSWER_MARGIN_SECONDS = 30.0
"""The generator waits this much longer for an answer than the bridge waits for a flow."""


@dataclass(frozen=True)
class LoadPlan:
    """A run that can start: the workload, its parties and the prepared items."""

    choice: Choice
    extent: Extent
    workload: Workload
    starters: tuple[Roles, ...]
    """The nodes that start the flows, in turn, each with its parties."""
    needed: int | None
    """Maximum number of requests that one node starts in the run; None if it is unknown."""
    answer_timeout_seconds: float
    results: Mapping[str, Mapping[str, Results]] = field(default_factory=dict)
    """The items that the set-up has prepared: name of the node whose flows use them → step → items."""
    bound: tuple[BoundNode, ...] = ()
    """The nodes that start the flows, with their flows; none in a worker, which needs only ``starters``."""

    @property
    def load(self) -> str:
        """A short description of the load, for dashboards: ``closed, 8 users``, ``poisson, 20/s``."""
        choice = self.choice
        if choice.is_burst:
            return f"burst, {requests_of(choice, self.extent)} in {choice.within_seconds:g} s"
        return f"{choice.arrivals}, {choice.rate:g}/s" if choice.is_open else f"closed, {self.extent.users} users"

    @property
    def requests_max(self) -> int | None:
        """The number of requests after which the load ends; None if it ends after a time."""
        return counted(self.choice, self.extent)

    @property
    def node_names(self) -> str:
        """The names of the nodes that start the flows, in words: ``PartyA, PartyB``."""
        return ", ".join(roles.node.name for roles in self.starters)

    def values(self, roles: Roles, share: Share = ALONE, draws: Draws | None = None) -> Values:
        """Return new template values for the flows of one node.

        With the same plan and share, their sequence is always the same. Nodes that share ``draws`` share the sequence.
        """
        results = self.results.get(roles.node.name, {})
        return Values(
            seed=self.choice.seed,
            node=roles.node.x500_name,
            counterparty=roles.counterparty.x500_name if roles.counterparty else None,
            notary=roles.notary,
            parties=roles.parties,
            users=self.extent.places,
            needed=self.needed,
            run_id=self.choice.run_id,
            prepared=Prepared(results, share, self.workload.rate_max if self._is_sized_by_rate else None),
            draws=draws,
        )

    @property
    def _is_sized_by_rate(self) -> bool:
        """Whether the set-up is sized by ``rate_max``."""
        return not self.choice.is_open and not self.choice.is_counted

    def node_of(self, roles: Roles, step: SetupStep, item: object = None) -> str:
        """Return the name of the node on which ``step`` runs. Raises ``LoadError`` if there is no such node."""
        name = roles.node_of(step, item)
        found = canonical(name, roles.parties)
        if found is None:
            remedy = f"The parties are {', '.join(roles.parties)}."
            raise LoadError(self.workload.source.problem((*step.location, "node"), f"unknown party {name!r}", remedy))
        return found

    def check_templates(self) -> None:
        """Render the arguments of every part once, if the items that they use are prepared. Raises ``LoadError``."""
        for roles in self.starters:
            part_starts(self.workload, roles, partial(self.values, roles))


def make_plan(choice: Choice, extent: Extent, settings: GeneratorSettings) -> LoadPlan:
    """Check the options, the workload file and the network. Raises ``LoadError`` with all problems."""
    problems = [*choice_problems(choice, settings), *_extent_problems(choice, extent)]
    try:
        workload = load_workload(settings.workloads, choice.workload, settings.party_names, choice.overrides)
    except WorkloadError as error:
        raise LoadError([*problems, *error.problems]) from error
    if problems:
        raise LoadError(problems)
    bridge = BridgeClient(choice.bridge_url)
    asked = Asked(choice.node or None, choice.counterparty or None, choice.nodes)
    node = canonical((asked.starters or workload.nodes)[0], settings.party_names) or workload.node
    parties = {party.name: party for party in bridge.parties(node)}
    network = Network(parties, bridge.flows, bridge.platform_version, notary=bridge.notary(node))
    bound = bind(workload, asked, network).nodes
    plan = LoadPlan(
        choice=choice,
        extent=extent,
        workload=workload,
        starters=tuple(node.roles for node in bound),
        needed=_needed(choice, extent, workload, len(bound)),
        answer_timeout_seconds=settings.flow_timeout_seconds + ANSWER_MARGIN_SECONDS,
        bound=bound,
    )
    _check_needed(plan)
    plan.check_templates()
    return plan


def requests_of(choice: Choice, extent: Extent) -> int:
    """Return the number of requests in each burst."""
    return choice.requests or extent.users


def counted(choice: Choice, extent: Extent) -> int | None:
    """Return the number of requests after which a load ends; None if it ends after a time."""
    if choice.is_burst:
        return choice.bursts * requests_of(choice, extent)
    return choice.flows + choice.flows_after if choice.is_counted else None


def _extent_problems(choice: Choice, extent: Extent) -> list[Problem]:
    if choice.is_burst and requests_of(choice, extent) > BURST_REQUESTS_MAX:
        text = f"must be at most {BURST_REQUESTS_MAX} in a burst, but is {requests_of(choice, extent)}"
        return [Problem.of("requests" if choice.requests else "users", text)]
    return []


def check_prepared(plan: LoadPlan) -> None:
    """Check that enough items are prepared. Raises ``SetupError`` if they cannot last."""
    for roles in plan.starters:
        _check_prepared_for(plan, plan.results[roles.node.name])


def _check_prepared_for(plan: LoadPlan, results: Mapping[str, Results]) -> None:
    """Check the items for the flows of one node. Raises ``SetupError`` if they cannot last."""
    source = plan.workload.source
    for step, taken in plan.workload.prepared.items():
        wanted = taken * (plan.needed or 0)
        for name, items in _lists(step, results[step]):
            if len(items) < wanted:
                text = f"{len(items)} items of {name} are prepared, but the load may take {wanted}"
                remedy = (
                    "Increase the step's count, for example to {{ needed }}, or reduce rate_max, the rate or the run"
                    " time."
                )
                raise SetupError(source.problem(_location(plan.workload, step), text, remedy))
    for step in plan.workload.own_steps:
        for name, items in _lists(step, results[step]):
            if len(items) < plan.extent.places:
                text = f"{len(items)} items of {name} are prepared, but each of {plan.extent.places} users needs one"
                remedy = "Set the step's count to users."
                raise SetupError(source.problem(_location(plan.workload, step), text, remedy))


def _lists(step: str, results: Results) -> list[tuple[str, Sequence[Any]]]:
    if isinstance(results, Mapping):
        return [(f"{step}[{item}]", items) for item, items in results.items()]
    return [(step, results)]


def _location(workload: Workload, step: str) -> Location:
    return next(found.location for found in workload.setup if found.name == step)


def _needed(choice: Choice, extent: Extent, workload: Workload, nodes: int) -> int | None:
    """Return the maximum number of requests that one of the ``nodes`` of a load starts; None if it is unknown.

    In closed load, ``rate_max`` is that of a node, and one node may start all of the flows after which the load ends.
    The arrivals of open load and the requests of bursts are assigned to the nodes in turn.
    """
    if (requests := counted(choice, extent)) is not None:
        return math.ceil(requests / nodes) if choice.is_burst else requests
    if extent.seconds is None:
        return None
    if choice.is_open:
        return math.ceil(choice.rate / nodes * extent.seconds * OPEN_MARGIN) + extent.users
    return None if workload.rate_max is None else math.ceil(workload.rate_max * extent.seconds) + extent.users


def _check_needed(plan: LoadPlan) -> None:
    """Check that the number of requests is known if they consume prepared items. Raises ``LoadError``."""
    workload = plan.workload
    users = [
        *(part.arguments for part in workload.parts),
        *(used for step in workload.setup for used in step.all_arguments),
    ]
    if plan.needed is not None or not (workload.takes or any("needed" in arguments.used_names for arguments in users)):
        return
    if plan.extent.seconds is None:
        text = f"is missing; it is needed because requests of {workload.name} consume prepared items"
        raise LoadError(Problem.of("run time", text))
    text = "is missing; it determines how many items are prepared for closed load"
    raise LoadError(workload.source.problem(("rate_max",), text))
