"""Renders one start of each flow of a workload, so that the arguments can be checked before a run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab_workload.network import Network, Roles
from lab_workload.problems import Location, Problem, TemplateError, WorkloadError, in_file_order
from lab_workload.schema import Workload
from lab_workload.values import Values

SAMPLE_RUN_ID = "check"


@dataclass(frozen=True)
class FlowStart:
    """A request to the bridge to start a flow."""

    node: str
    """Name of the node that starts it."""
    flow: str
    """Class of the flow, full or short name."""
    args: Mapping[str, Any]
    location: Location
    """Its place in the workload file: a part, or a step of the set-up."""


def check_starts(workload: Workload, starters: Sequence[Roles], network: Network) -> None:
    """Let the bridge check the arguments of one start of each flow. It starts none.

    Raises ``WorkloadError`` with every start that it would refuse, and every template whose value cannot be sent.
    """
    starts = flow_starts(workload, starters)
    refused = ((start, network.start_problem(start.node, start.flow, start.args)) for start in starts)
    problems = [workload.source.locate(problem, start.location) for start, problem in refused if problem]
    if problems:
        raise WorkloadError(in_file_order(problems))


def flow_starts(
    workload: Workload, starters: Sequence[Roles], values: Callable[[Roles], Values] | None = None
) -> list[FlowStart]:
    """Return one start of every step of the set-up and of every part, for each node that starts the flows.

    ``values`` returns those of its first request; without, they are those of a run with one user and one request. What
    uses results of the set-up is left out as long as there are none. Raises ``WorkloadError`` with every template whose
    value cannot be sent.
    """
    used = values or sample_values
    made = [
        one
        for roles in starters
        for one in (*_setup_starts(workload, roles, used), *_part_starts(workload, roles, used))
    ]
    if problems := dict.fromkeys(one for one in made if isinstance(one, Problem)):
        raise WorkloadError(list(problems))
    return [one for one in made if isinstance(one, FlowStart)]


def sample_values(roles: Roles) -> Values:
    """Return the values for the first request of a run with one user and no prepared items."""
    return Values(
        seed=1,
        node=roles.node.x500_name,
        counterparty=roles.counterparty.x500_name if roles.counterparty else None,
        notary=roles.notary,
        parties=roles.parties,
        users=1,
        needed=1,
        run_id=SAMPLE_RUN_ID,
    )


def _part_starts(workload: Workload, roles: Roles, values: Callable[[Roles], Values]) -> Iterator[FlowStart | Problem]:
    for part in workload.flows:
        drawn_from = values(roles)
        if part.args.needs_setup and not drawn_from.are_prepared:
            continue
        counterparty = roles.counterparty_of(part)
        if counterparty is not None:
            drawn_from.names["counterparty"] = counterparty.x500_name
        try:
            args = part.args.render_json(drawn_from)
        except TemplateError as error:
            yield workload.source.problem((*part.location, "args"), f"template: {error}")
        else:
            yield FlowStart(roles.node.name, part.flow, args, part.location)


def _setup_starts(workload: Workload, roles: Roles, values: Callable[[Roles], Values]) -> Iterator[FlowStart | Problem]:
    """Yield one start of every step. For a step with ``each``, only the first item is used."""
    for step in workload.setup:
        if step.flow is None or any(arguments.needs_setup for arguments in step.all_arguments):
            continue
        drawn_from = values(roles)
        field = "each"
        try:
            items = step.items.render(drawn_from)["each"] if step.each is not None else [None]
            if not isinstance(items, (list, tuple)) or not items:
                raise TemplateError(f"evaluates to {items!r}, not to a list of items")
            drawn_from.names["item"] = items[0]
            field = "args"
            args = step.args.render_json(drawn_from)
        except TemplateError as error:
            yield workload.source.problem((*step.location, field), f"template: {error}")
        else:
            yield FlowStart(roles.node_of(step, items[0]), step.flow, args, step.location)
