"""The table of what a flow costs."""

from collections.abc import Sequence
from typing import Any

from corda_lab.analysis import values
from corda_lab.analysis.points import Point
from corda_lab.results.stored import StoredRun
from corda_lab.steps import costs
from corda_lab.steps.entry import StepEntry
from corda_lab.text.words import (
    amount,
    size,
)

COSTS = (
    ("cpu_seconds_per_flow", "CPU per flow", lambda value: f"{amount(1000 * value)} ms"),
    ("allocated_bytes_per_flow", "allocated per flow", size),
    ("sent_bytes_per_flow", "sent per flow", size),
    ("received_bytes_per_flow", "received per flow", size),
    ("disk_written_bytes_per_flow", "to disk per flow", size),
    ("checkpoints_per_flow", "checkpoints per flow", amount),
    ("database_bytes_per_flow", "database per flow", size),
    ("database_bytes_per_state", "database per state", size),
)


def cost_rows(all_points: Sequence[Point]) -> list[dict[str, Any]]:
    """The costs of a flow at each point: the total of the nodes and their database, and the costs by node and lab part.

    Points without any measured cost are left out. A dash stands for a cost that was not measured.
    """
    found = []
    for point in all_points:
        by_name = {name: values.costs_of(point, name) for name, _, _ in COSTS}
        if not any(by_name.values()):
            continue
        # A cost that was measured on no node is unknown, not zero.
        tested = {name: values.under_test(nodes) for name, nodes in by_name.items()}
        totals = [write(sum(tested[name].values())) if tested[name] else "–" for name, _, write in COSTS]
        nodes = list(dict.fromkeys(node for found in by_name.values() for node in found))
        found.append(
            {
                "label": point.label,
                "totals": totals,
                "nodes": [
                    (node, [write(by_name[name][node]) if node in by_name[name] else "–" for name, _, write in COSTS])
                    for node in nodes
                ],
            }
        )
    return found


def database_hint(run: StoredRun, all_points: Sequence[Point]) -> str:
    """Sentences on what the values say about the databases. Empty if there is nothing to be said."""
    steps = [step for point in all_points for step in point.valid]
    in_server = [step for step in steps if run.environment(step).shape["DATABASE"] == "postgres"]
    hints = [_server_hint(in_server)] if in_server else []
    if any(step.costs.database_read == "file" for step in steps):
        hints.append(
            "H2 lets its file grow in leaps, so its growth in a short run says little; "
            "`database_size` of a load can measure compacted copies."
        )
    return " ".join(hints)


def _server_hint(steps: Sequence[StepEntry]) -> str:
    """A sentence on the CPU time of PostgreSQL in steps that used it: how it was measured, or that it was not."""
    if all(costs.DATABASE in step.costs.cpu_seconds_per_flow for step in steps):
        return "The CPU time of PostgreSQL is measured over the whole load too."
    return (
        "The CPU time of PostgreSQL was not measured and is missing from these values. H2 runs inside the nodes, so in "
        "comparison PostgreSQL looks cheaper than it is."
    )
