"""The repeats of ``lab bench repeats`` as values, rows of tables, and on the terminal."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from corda_lab.bench.repeats.measurement import Repeat, RepeatsBench
from corda_lab.stats.intervals import Interval, repeats_interval
from corda_lab.stats.power import REPEATS_MAX, repeats_needed
from corda_lab.stats.scatter import Scatter, Trend, scatter_of, trend_of
from corda_lab.text import tables, ui

Row = tuple[str, ...]

CHANGES = (0.01, 0.02, 0.05, 0.10)
"""Differences, as shares, for which the needed repeats are given."""

UNKNOWN = "–"
SCATTER_TITLES = ("value", "mean", "coefficient of variation", "change per repeat", "trend")
NEEDED_TITLES = ("value", *(f"{100 * change:g} %" for change in CHANGES))
REPEAT_TITLES = ("repeat", "flows/s", "p50 ms", "p99 ms", "host busy", "CPU steal", "calibration ms", "warnings")


@dataclass(frozen=True)
class Value:
    """A value of a repeat, with its name and how it is written."""

    title: str
    form: str
    of: Callable[[Repeat], float | None]


VALUES = (
    Value("throughput (flows/s)", "{:.2f}", lambda repeat: repeat.flows_per_second),
    Value("p50 (ms)", "{:.1f}", lambda repeat: repeat.p50_ms),
    Value("p99 (ms)", "{:.1f}", lambda repeat: repeat.p99_ms),
)


@dataclass(frozen=True)
class Summary:
    """One value over all repeats that count and have it. A field is None if they are too few."""

    value: Value
    n: int
    mean: Interval | None
    scatter: Scatter | None
    trend: Trend | None


def summaries(bench: RepeatsBench) -> list[Summary]:
    """The values of a bench, each over its repeats."""
    found = []
    for value in VALUES:
        known = [(each.number, number) for each in bench.counted if (number := value.of(each))]
        numbers = [number for _, number in known]
        found.append(Summary(value, len(known), repeats_interval(numbers), scatter_of(numbers), trend_of(known)))
    return found


def progress(repeat: Repeat) -> None:
    """Print one repeat when it is done."""
    if repeat.problem is not None or repeat.flows_per_second is None:
        ui.warn(f"repeat {repeat.number} does not count: {repeat.problem}")
        return
    times = (f"p50 {_number(repeat.p50_ms, '{:.1f}')} ms", f"p99 {_number(repeat.p99_ms, '{:.1f}')} ms")
    steal = f", CPU steal {repeat.stolen_percent:.1f} %" if repeat.stolen_percent else ""
    ui.note(f"repeat {repeat.number}: {repeat.flows_per_second:.2f} flows/s, {', '.join(times)}{steal}")


def scatter_rows(bench: RepeatsBench) -> list[Row]:
    """Mean, coefficient of variation and trend of every value, with their intervals."""
    return [
        (
            f"{one.value.title}, {one.n} repeats",
            _mean(one),
            UNKNOWN if one.scatter is None else _percents(one.scatter.cv, one.scatter.low, one.scatter.high),
            UNKNOWN if one.trend is None else _percents(one.trend.per_repeat, one.trend.low, one.trend.high, sign="+"),
            trend_words(one.trend),
        )
        for one in summaries(bench)
    ]


def trend_words(trend: Trend | None) -> str:
    """``rises``, ``falls``, or that none is seen."""
    if trend is None:
        return "too few repeats to tell"
    if not trend.is_seen:
        return "none seen"
    return "rises" if trend.per_repeat > 0 else "falls"


def needed_rows(bench: RepeatsBench) -> list[Row]:
    """How many repeats of each of two points show a difference, and how many if the scatter is at its upper limit."""
    rows: list[Row] = []
    for one in summaries(bench):
        if one.scatter is None:
            rows.append((one.value.title, *[UNKNOWN] * len(CHANGES)))
            continue
        low, high = one.scatter.deviation, one.scatter.deviation_high
        cells = (f"{_needed(low, change)} (at most {_needed(high, change)})" for change in CHANGES)
        rows.append((one.value.title, *cells))
    return rows


def _needed(deviation: float, change: float) -> str:
    count = repeats_needed(deviation, change, "independent")
    return f"over {REPEATS_MAX:,}" if count is None else str(count)


def repeat_rows(bench: RepeatsBench) -> list[Row]:
    """One row for every repeat."""
    return [
        (
            str(each.number),
            _number(each.flows_per_second, "{:.2f}"),
            _number(each.p50_ms, "{:.1f}"),
            _number(each.p99_ms, "{:.1f}"),
            _number(each.host_busy_percent, "{:.0f} %"),
            _number(each.stolen_percent, "{:.1f} %"),
            _number(each.calibration_ms, "{:.2f}"),
            f"does not count: {each.problem}" if each.problem else str(len(each.warnings)),
        )
        for each in bench.measurements
    ]


def conclusions(bench: RepeatsBench) -> Iterator[str]:
    """What the tables mean, and which warnings the runs had, one sentence each."""
    throughput = summaries(bench)[0]
    if throughput.trend is not None and throughput.trend.is_seen:
        direction = "rose" if throughput.trend.per_repeat > 0 else "fell"
        cause = "the nodes were still warming up" if throughput.trend.per_repeat > 0 else "the lab became slower"
        yield f"Throughput {direction} over the repeats: {cause}. This is part of the scatter."
    if bench.conditioning and not bench.conditioning.steady:
        yield "The load before the first repeat did not become steady within its limit."
    texts = [warning for each in bench.measurements for warning in each.warnings]
    for text in dict.fromkeys(texts):
        yield f"{texts.count(text)} of {len(bench.measurements)} repeats had the warning: {text}"


def results(bench: RepeatsBench) -> None:
    """Print scatter, trend and needed repeats."""
    _show("Scatter over the repeats, with 95 % intervals", SCATTER_TITLES, scatter_rows(bench))
    _show("Repeats of each of two points that show a difference of", NEEDED_TITLES, needed_rows(bench))
    for sentence in conclusions(bench):
        ui.warn(sentence)


def _show(title: str, titles: Sequence[str], lines: list[Row]) -> None:
    ui.console.print(f"\n{title}", style="bold", markup=False)
    made = tables.table(*titles)
    for line in lines:
        made.add_row(*line)
    tables.show(made)


def _mean(one: Summary) -> str:
    if one.mean is None:
        return UNKNOWN
    mean, low, high = (one.value.form.format(number) for number in (one.mean.estimate, one.mean.low, one.mean.high))
    return f"{mean} ({low} to {high})"


def _percents(value: float, low: float, high: float, *, sign: str = "") -> str:
    """``2.1 % (1.5 to 3.9)``. ``sign`` is that of the format."""
    first, *others = (f"{100 * one:{sign}.1f}" for one in (value, low, high))
    return f"{first} % ({' to '.join(others)})"


def _number(value: float | None, form: str) -> str:
    return UNKNOWN if value is None else form.format(value)
