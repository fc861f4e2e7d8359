"""Everything a run needs, decided and checked before its clock starts."""

import math
from dataclasses import dataclass

from lab_load.bridge import Bridge, BridgeError, Party
from lab_load.errors import LoadError
from lab_load.names import canonical
from lab_load.settings import RUN_ID, Settings, url_problems
from lab_load.templates import TemplateError, Values
from lab_load.workload import Workload, WorkloadError, load_workload

PACING_SECONDS_MAX = 3600.0
ANSWER_MARGIN_SECONDS = 30.0
"""How much longer than the bridge's own limit the generator waits for an answer."""


@dataclass(frozen=True)
class Choice:
    """What a person or the command line asked for; an empty node or counterparty is the workload's own."""

    workload: str
    node: str
    counterparty: str
    pacing_seconds: float
    """Time from one start of a user to its next; 0 starts the next as soon as the last has ended."""
    run_id: str
    seed: int
    bridge_url: str


@dataclass(frozen=True)
class Plan:
    """A run that can start: the workload with its parties resolved."""

    choice: Choice
    workload: Workload
    node: Party
    counterparty: Party | None
    answer_timeout_seconds: float

    def values(self) -> Values:
        """A fresh source of template values: two of the same plan give the same sequence."""
        counterparty = self.counterparty.x500_name if self.counterparty else None
        return Values(seed=self.choice.seed, node=self.node.x500_name, counterparty=counterparty)


def make_plan(choice: Choice, settings: Settings) -> Plan:
    """Check ``choice``, the workload's file and the bridge. Raises ``LoadError`` with everything that is wrong."""
    problems = _choice_problems(choice, settings)
    try:
        workload = load_workload(settings.workloads, choice.workload, settings.party_names)
    except WorkloadError as error:
        raise LoadError([*problems, *error.problems]) from error
    if problems:
        raise LoadError(problems)

    node_name = canonical(choice.node or workload.node, settings.party_names) or workload.node
    counterparty_name = choice.counterparty or workload.counterparty
    _check_parties(workload, node_name, counterparty_name)

    bridge = Bridge(choice.bridge_url)
    known = {party.name: party for party in bridge.parties(node_name)}
    plan = Plan(
        choice=choice,
        workload=workload,
        node=_party(node_name, known, node_name),
        counterparty=_party(counterparty_name, known, node_name) if counterparty_name else None,
        answer_timeout_seconds=settings.flow_timeout_seconds + ANSWER_MARGIN_SECONDS,
    )
    bridge.check_flow(node_name, workload.flow, workload.args)
    try:
        workload.arguments.check(plan.values())
    except TemplateError as error:
        raise LoadError(workload.source.problem(("args",), f"template: {error}")) from error
    return plan


def _choice_problems(choice: Choice, settings: Settings) -> list[str]:
    problems = url_problems("host", choice.bridge_url)
    for label, name in (("node", choice.node), ("counterparty", choice.counterparty)):
        if name and canonical(name, settings.party_names) is None:
            problems.append(f"{label}: unknown node {name!r}; there are {', '.join(settings.party_names)}")
    if not math.isfinite(choice.pacing_seconds) or not 0 <= choice.pacing_seconds <= PACING_SECONDS_MAX:
        problems.append(f"pacing: must be 0 to {PACING_SECONDS_MAX:.0f} seconds, is {choice.pacing_seconds:g}")
    if not RUN_ID.fullmatch(choice.run_id):
        problems.append(f"run id: {choice.run_id!r} is not 1 to 100 letters, digits, '.', '_' or '-'")
    return problems


def _check_parties(workload: Workload, node_name: str, counterparty_name: str | None) -> None:
    if counterparty_name is None:
        where = workload.arguments.used_names.get("counterparty")
        if where is not None:
            raise LoadError(workload.source.problem(("args", *where), "uses counterparty, but none is given"))
    elif counterparty_name.casefold() == node_name.casefold():
        raise LoadError(f"counterparty: is {node_name} like the node; choose another party")


def _party(name: str, known: dict[str, Party], node_name: str) -> Party:
    found = canonical(name, known)
    if found is None:
        raise BridgeError(f"{node_name} has no party {name!r} in its network map; it knows {', '.join(known)}")
    return known[found]
