"""The results of ``lab bench bridge`` as rows of a table."""

from collections.abc import Callable, Iterator

from corda_lab.bench.bridge import limits
from corda_lab.bench.bridge.measurement import BridgeBench, GridMeasurement
from corda_lab.bench.peers.show import UNKNOWN, in_words
from corda_lab.text import tables, ui
from corda_lab.text.words import plural

TITLES = (
    "in flight",
    "connections",
    "flows/s",
    "÷ direct client's",
    "p50 ms",
    "p99 ms",
    "bridge CPU ms per flow",
    "generator CPU ms per flow",
    "nodes' share of the CPU",
    "limit",
)


def progress(measured: GridMeasurement) -> None:
    """Print one measurement when it is done."""
    side = "direct RPC client" if measured.side == "direct" else "Locust + bridge"
    name = f"{side}, {measured.users} in flight, {plural(measured.connections, 'connection')}"
    if measured.problem:
        ui.warn(f"{name}: {measured.problem}")
        return
    times = f", p50 {measured.latency.p50_ms:.1f} ms" if measured.latency else ""
    ui.note(f"{name}: {measured.flows_per_second:.2f} flows/s{times}")


def results(bench: BridgeBench) -> None:
    """Print the table, and what failed."""
    made = tables.table(*TITLES, numbers=TITLES[2:-1])
    for line in rows(bench):
        made.add_row(*line)
    ui.console.print()
    tables.show(made)
    for problem in problem_lines(bench):
        ui.warn(problem)
    ui.console.print()


def rows(bench: BridgeBench) -> list[tuple[str, ...]]:
    """One row for each place of the grid."""
    return [_row(bench, users, connections) for users in bench.users for connections in bench.connections]


def _row(bench: BridgeBench, users: int, connections: int) -> tuple[str, ...]:
    def mean(value: Callable[[GridMeasurement], float | None], form: str) -> str:
        found = limits.mean_of(bench, "lab", users, connections, value)
        return UNKNOWN if found is None else form.format(found)

    return (
        str(users),
        str(connections),
        mean(lambda each: each.flows_per_second, "{:.1f}"),
        in_words(limits.ratio(bench, users, connections)),
        mean(lambda each: each.latency.p50_ms if each.latency else None, "{:.1f}"),
        mean(lambda each: each.latency.p99_ms if each.latency else None, "{:.1f}"),
        mean(lambda each: _ms_per_flow(each, each.shares.bridge), "{:.2f}"),
        mean(lambda each: _ms_per_flow(each, each.shares.generator), "{:.2f}"),
        mean(lambda each: each.shares.nodes_percent, "{:.0f} %"),
        limits.limit(bench, users, connections),
    )


def _ms_per_flow(measured: GridMeasurement, cores: float | None) -> float | None:
    return None if cores is None or not measured.flows_per_second else 1000 * cores / measured.flows_per_second


def problem_lines(bench: BridgeBench) -> Iterator[str]:
    """One line for each measurement that failed, with its reason."""
    for each in bench.measurements:
        if each.problem:
            yield f"round {each.round}, {each.side}, {each.users} in flight: {each.problem}"
