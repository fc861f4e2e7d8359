"""The results of ``lab bench peers`` as rows of tables, and on the terminal."""

from collections.abc import Iterator

from rich.table import Table

from corda_lab.bench.peers import compare
from corda_lab.bench.peers.compare import Check, Estimate, Value
from corda_lab.bench.peers.measurement import PEER_NAMES, PEERS, Measurement, Peer, PeersBench
from corda_lab.text import tables, ui

Row = tuple[str, ...]

VALUE_TITLES = (
    "in flight",
    "peer",
    "flows/s",
    "p50 ms",
    "p99 ms",
    "CPU ms per flow",
    "memory MB",
    "MB per 1,000 flows",
)
RATIO_TITLES = ("in flight", "lab ÷", "flows/s", "CPU per flow", "memory", "memory per flow", "rounds")
CHECK_TITLES = ("promise", "wanted", "found", "verdict")
UNKNOWN = "–"


def progress(measured: Measurement) -> None:
    """Print one measurement when it is done."""
    name = f"{PEER_NAMES[measured.peer]}, {measured.users} in flight"
    if measured.problem:
        ui.warn(f"{name}: {measured.problem}")
        return
    times = f", p50 {measured.latency.p50_ms:.1f} ms" if measured.latency else ""
    cpu = "" if measured.cpu_seconds is None else f", {measured.cpu_seconds / measured.window_seconds:.2f} cores"
    memory = "" if measured.memory_bytes_max is None else f", {measured.memory_bytes_max / 1e6:.0f} MB"
    ui.note(f"{name}: {measured.flows_per_second:.2f} flows/s{times}{cpu}{memory}")


def results(bench: PeersBench) -> None:
    """Print the means, the ratios, what failed, and the verdicts."""
    _show("Means over the rounds", VALUE_TITLES, value_rows(bench))
    _show(
        "The lab (Locust + bridge) ÷ each peer, paired by round, with 95 % intervals", RATIO_TITLES, ratio_rows(bench)
    )
    failures = list(problem_lines(bench))
    if failures:
        ui.console.print("\nFailed measurements, which the values leave out", style="bold", markup=False)
        for line in failures:
            ui.note(line)
    for users in compare.short_windows(bench):
        ui.warn(f"{users} in flight: the window has time for few flows of each user; use a longer --duration")
    checks = compare.checks(bench)
    if checks:
        _show("What the lab promises", CHECK_TITLES, [check_row(check) for check in checks])
    ui.console.print()


def _show(title: str, titles: Row, lines: list[Row]) -> None:
    ui.console.print(f"\n{title}", style="bold", markup=False)
    made: Table = tables.table(*titles, numbers=titles[2:] if len(titles) > len(CHECK_TITLES) else ())
    for line in lines:
        made.add_row(*line)
    tables.show(made)


def value_rows(bench: PeersBench) -> list[Row]:
    """The mean of every value over the rounds, for every load and peer."""
    rows: list[Row] = []
    for users in bench.users:
        for peer in PEERS:
            values = [
                _mean(bench, peer, users, compare.flows_per_second, "{:.2f}"),
                _mean(bench, peer, users, compare.p50_ms, "{:.1f}"),
                _mean(bench, peer, users, compare.p99_ms, "{:.1f}"),
                _mean(bench, peer, users, compare.cpu_ms_per_flow, "{:.2f}"),
                _mean(bench, peer, users, compare.memory_bytes, "{:.0f}", scale=1e-6),
                _mean(bench, peer, users, compare.memory_per_flow, "{:.0f}"),
            ]
            rows.append((str(users), PEER_NAMES[peer], *values))
        cpu = _mean(bench, "lab", users, compare.bridge_cpu_ms_per_flow, "{:.2f}")
        memory = _mean(bench, "lab", users, compare.bridge_memory_bytes, "{:.0f}", scale=1e-6)
        rows.append((str(users), "of this, the bridge", "", "", "", cpu, memory, ""))
    return rows


def ratio_rows(bench: PeersBench) -> list[Row]:
    """The ratios of the lab to every peer, for every load."""
    values: tuple[Value, ...] = (
        compare.flows_per_second,
        compare.cpu_ms_per_flow,
        compare.memory_bytes,
        compare.memory_per_flow,
    )
    rows: list[Row] = []
    for users in bench.users:
        for peer in PEERS[:-1]:
            found = [compare.ratio(bench, peer, users, value) for value in values]
            pairs = max((each.pairs for each in found if each), default=0)
            rows.append((str(users), PEER_NAMES[peer], *map(in_words, found), str(pairs)))
    return rows


def problem_lines(bench: PeersBench) -> Iterator[str]:
    """One line for each measurement that failed, with its reason."""
    for each in bench.measurements:
        if each.problem:
            yield f"round {each.round}, {PEER_NAMES[each.peer]}, {each.users} in flight: {each.problem}"


def check_row(check: Check) -> Row:
    """One promise with what was found and the verdict."""
    return (check.what, check.wanted, in_words(check.estimate), check.verdict)


def in_words(estimate: Estimate | None) -> str:
    """``0.985 (0.961 to 1.010)``."""
    if estimate is None:
        return UNKNOWN
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def _mean(bench: PeersBench, peer: Peer, users: int, value: Value, form: str, *, scale: float = 1.0) -> str:
    found = compare.mean(list(compare.values_of(bench, peer, users, value).values()))
    return UNKNOWN if found is None else form.format(found * scale)
