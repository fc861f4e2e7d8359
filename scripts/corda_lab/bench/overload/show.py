"""The results of ``lab bench overload`` as rows of tables."""

import statistics
from collections.abc import Callable, Iterator, Sequence

from corda_lab.bench.overload import knee
from corda_lab.bench.overload.measurement import LevelMeasurement, OverloadBench, OverloadMeasurement
from corda_lab.bench.peers.show import UNKNOWN
from corda_lab.text import tables, ui

Row = tuple[str, ...]

LEVEL_TITLES = ("outstanding", "flows/s", "share of the peak", "p50 ms", "p99 ms")
TITLES = (
    "offered",
    "limit",
    "goodput/s",
    "share of the peak",
    "p50 ms",
    "p99 ms",
    "rejected/s",
    "late/s",
    "failed/s",
    "nodes' share of the CPU",
    "s until at rest",
)
NO_LIMIT = "none"


def progress_level(measured: LevelMeasurement) -> None:
    """Print one level of the search when it is done."""
    if measured.problem:
        ui.warn(f"{measured.users} outstanding: {measured.problem}")
        return
    times = f", p50 {measured.latency.p50_ms:.0f} ms" if measured.latency else ""
    ui.note(f"{measured.users} outstanding: {measured.flows_per_second:.2f} flows/s{times}")


def progress(measured: OverloadMeasurement) -> None:
    """Print one measurement of overload when it is done."""
    name = f"{measured.multiple} times the peak ({measured.rate:.1f}/s), {limit_in_words(measured.limit)}"
    if measured.problem:
        ui.warn(f"{name}: {measured.problem}")
        return
    ui.note(f"{name}: goodput {measured.goodput:.2f}/s, rejected {measured.rejected:.1f}/s, late {measured.late:.1f}/s")


def limit_in_words(limit: int | None) -> str:
    return "no limit" if limit is None else f"at most {limit} outstanding"


def results(bench: OverloadBench) -> None:
    """Print both tables, what failed, and the verdict on every limit."""
    _show("Closed load", LEVEL_TITLES, level_rows(bench))
    ui.console.print(knee_line(bench), markup=False)
    _show(f"Open load; a caller waits {bench.time_limit_seconds:g} s", TITLES, overload_rows(bench))
    for line in problem_lines(bench):
        ui.warn(line)
    for line in verdict_lines(bench):
        ui.console.print(line, markup=False)
    ui.console.print()


def _show(title: str, titles: Row, lines: Sequence[Row]) -> None:
    ui.console.print(f"\n{title}", style="bold", markup=False)
    made = tables.table(*titles, numbers=titles[1:])
    for line in lines:
        made.add_row(*line)
    tables.show(made)


def level_rows(bench: OverloadBench) -> list[Row]:
    """One row for each level of the search."""
    searched = knee.of_search(bench)
    if not searched:
        return []
    peak = knee.peak_level(searched).flows_per_second
    return [
        (
            str(each.users),
            f"{each.flows_per_second:.2f}",
            f"{each.flows_per_second / peak:.2f}" if peak else UNKNOWN,
            f"{each.latency.p50_ms:.0f}" if each.latency else UNKNOWN,
            f"{each.latency.p99_ms:.0f}" if each.latency else UNKNOWN,
        )
        for each in searched
    ]


def knee_line(bench: OverloadBench) -> str:
    """Say where the knee is: ``knee: 10 outstanding; peak: 9.31 flows/s at 20 outstanding``."""
    searched = knee.of_search(bench)
    if not searched:
        return "No level of the search was measured."
    peak = knee.peak_level(searched)
    return (
        f"knee: {knee.knee(searched).users} outstanding; "
        f"peak: {peak.flows_per_second:.2f} flows/s at {peak.users} outstanding"
    )


def overload_rows(bench: OverloadBench) -> list[Row]:
    """One row for each limit and multiple, with the means over the rounds."""
    return [_row(bench, multiple, limit) for limit in bench.limits for multiple in bench.multiples]


def _row(bench: OverloadBench, multiple: int, limit: int | None) -> Row:
    found = bench.of(multiple, limit)

    def mean(value: Callable[[OverloadMeasurement], float | None], form: str) -> str:
        known = [one for one in map(value, found) if one is not None]
        return form.format(statistics.fmean(known)) if known else UNKNOWN

    share = knee.share(bench, multiple, limit)
    return (
        f"{multiple} × peak",
        NO_LIMIT if limit is None else str(limit),
        mean(lambda each: each.goodput, "{:.2f}"),
        UNKNOWN if share is None else f"{share:.2f}",
        mean(lambda each: each.latency.p50_ms if each.latency else None, "{:.0f}"),
        mean(lambda each: each.latency.p99_ms if each.latency else None, "{:.0f}"),
        mean(lambda each: each.rejected, "{:.1f}"),
        mean(lambda each: each.late + each.dropped, "{:.1f}"),
        mean(lambda each: each.failed, "{:.1f}"),
        mean(lambda each: each.shares.nodes_percent, "{:.0f} %"),
        mean(lambda each: each.drain_seconds, "{:.0f}"),
    )


def problem_lines(bench: OverloadBench) -> Iterator[str]:
    """One line for each measurement that failed, with its reason."""
    for level in bench.searched:
        if level.problem:
            yield f"{level.users} outstanding: {level.problem}"
    for each in bench.measurements:
        if each.problem:
            yield f"round {each.round}, {each.multiple} × peak, {limit_in_words(each.limit)}: {each.problem}"


def verdict_lines(bench: OverloadBench) -> Iterator[str]:
    """One line for each limit: whether it keeps the goodput, and how long a flow waits behind that many others."""
    searched = knee.of_search(bench)
    peak = knee.peak_level(searched).flows_per_second if searched else 0.0
    words = {
        "kept": "keeps",
        "lost": "does not keep",
        "not measured": "was not measured at every multiple, so it is not known whether it keeps",
    }
    for limit in bench.limits:
        wait = f"; {limit} flows take {limit / peak:.1f} s at the peak" if limit and peak else ""
        name = limit_in_words(limit)
        yield f"{name}: {words[knee.verdict(bench, limit)]} {knee.GOODPUT_SHARE_MIN:g} of the peak{wait}"
