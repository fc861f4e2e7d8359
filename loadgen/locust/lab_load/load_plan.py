"""Everything a run needs, decided and checked before its clock starts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab_load.bridge_client import BridgeClient
from lab_load.choice import Choice, Extent, choice_problems
from lab_load.generator_settings import GeneratorSettings
from lab_workload.names import canonical
from lab_workload.network import Asked, Network, Roles, bind
from lab_workload.prepared import ALONE, Prepared, Results, Share
from lab_workload.problems import LoadError, Location, Problem, SetupError, WorkloadError
from lab_workload.starts import part_starts
from lab_workload.values import Values
from lab_workload.workload import SetupStep, Workload, load_workload

OPEN_MARGIN = 1.1
"""How many more arrivals than the rate gives on average an open load is prepared for."""
ANSWER_MARGIN_SECONDS = 30.0
"""How much longer than the bridge's own limit the generator waits for an answer."""


@dataclass(frozen=True)
class LoadPlan:
    """A run that can start: the workload with its parties resolved, and what was prepared for it."""

    choice: Choice
    extent: Extent
    workload: Workload
    roles: Roles
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
            node=self.roles.node.x500_name,
            counterparty=self.roles.counterparty.x500_name if self.roles.counterparty else None,
            parties=self.roles.parties,
            users=self.extent.places,
            needed=self.needed,
            run_id=self.choice.run_id,
            prepared=Prepared(self.results, share, self.workload.rate_max),
        )

    def node_of(self, step: SetupStep, item: object = None) -> str:
        """Name of the node on which ``step`` runs. Raises ``LoadError`` for one that is not there."""
        name = self.roles.node_of(step, item)
        found = canonical(name, self.roles.parties)
        if found is None:
            remedy = f"The parties are {', '.join(self.roles.parties)}."
            raise LoadError(self.workload.source.problem((*step.location, "node"), f"unknown party {name!r}", remedy))
        return found

    def check_templates(self) -> None:
        """Render the arguments of every part once, as far as what they use is prepared. Raises ``LoadError``."""
        part_starts(self.workload, self.roles, self.values)


def make_plan(choice: Choice, extent: Extent, settings: GeneratorSettings) -> LoadPlan:
    """Check ``choice``, the workload's file and the network. Raises ``LoadError`` with everything that is wrong."""
    problems = choice_problems(choice, settings)
    try:
        workload = load_workload(settings.workloads, choice.workload, settings.party_names, choice.overrides)
    except WorkloadError as error:
        raise LoadError([*problems, *error.problems]) from error
    if problems:
        raise LoadError(problems)
    bridge = BridgeClient(choice.bridge_url)
    node = canonical(choice.node or workload.node, settings.party_names) or workload.node
    network = Network({party.name: party for party in bridge.parties(node)}, bridge.flows, bridge.platform_version)
    plan = LoadPlan(
        choice=choice,
        extent=extent,
        workload=workload,
        roles=bind(workload, Asked(choice.node or None, choice.counterparty or None), network).roles,
        needed=_needed(choice, extent, workload),
        answer_timeout_seconds=settings.flow_timeout_seconds + ANSWER_MARGIN_SECONDS,
    )
    _check_needed(plan)
    plan.check_templates()
    return plan


def check_prepared(plan: LoadPlan) -> None:
    """See that what was prepared lasts. Raises ``SetupError`` when it cannot."""
    source = plan.workload.source
    for step, taken in plan.workload.prepared.items():
        wanted = taken * (plan.needed or 0)
        for name, items in _lists(step, plan.results[step]):
            if len(items) < wanted:
                text = f"{len(items)} items of {name} were prepared, but the load can take {wanted}"
                remedy = (
                    "Raise the step's count (needed gives the number of requests), or lower rate_max, rate or run time."
                )
                raise SetupError(source.problem(_location(plan.workload, step), text, remedy))
    for step in plan.workload.own_steps:
        for name, items in _lists(step, plan.results[step]):
            if len(items) < plan.extent.places:
                text = f"{len(items)} items of {name} were prepared, but each of {plan.extent.places} users needs one"
                remedy = "Raise the step's count to users."
                raise SetupError(source.problem(_location(plan.workload, step), text, remedy))


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
        text = f"is missing: requests of {workload.name} use up what the set-up prepares"
        raise LoadError(Problem.of("run time", text))
    text = "is missing: a closed load needs it to know how much to prepare"
    raise LoadError(workload.source.problem(("rate_max",), text))
