"""The rows of the load generator, one per request, and the values computed from them.

``docs/methodology.md`` defines every value; the functions here implement these definitions.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import get_type_hints

import polars as pl

from corda_lab.errors import LabError
from corda_lab.steps import resolutions
from corda_lab.steps.entry import (
    Distribution,
    FailureKind,
    OutcomeValues,
    RequestCounts,
    Values,
    of_whole,
)
from lab_workload.error_text import without_values
from lab_workload.load import OUTCOMES, Outcome
from lab_workload.row import Drop, Row

_COLUMN_TYPES = {
    int: pl.Int64,
    float: pl.Float64,
    float | None: pl.Float64,
    str: pl.String,
    str | None: pl.String,
    Outcome: pl.String,
}
ROW_SCHEMA = pl.Schema({name: _COLUMN_TYPES[kind] for name, kind in get_type_hints(Row).items()})
DROP_SCHEMA = pl.Schema({name: _COLUMN_TYPES[kind] for name, kind in get_type_hints(Drop).items()})
NO_DROPS = pl.Series("intended_at", [], dtype=pl.Float64)

DONE: tuple[Outcome, ...] = ("ok", "expected")
"""Outcomes that the workload expects. They count in throughput and latency, and are not errors."""

QUANTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}

P999 = 0.999
P999_COUNT_MIN = 1000
"""p99.9 of fewer values would be the largest of them."""

GENERATOR_CPU_PERCENT_MAX = 90.0
"""CPU of a generator process, in % of its core, above which the generator may have been the limit."""

DRIFT_PERCENT_MAX = 20.0
"""Change of throughput between the halves of the window, in %, above which a load was not steady."""


@dataclass(frozen=True)
class Window:
    """The measuring window, in unix seconds: from the end of the warm-up until the load stops."""

    started_at: float
    ended_at: float

    @property
    def seconds(self) -> float:
        return self.ended_at - self.started_at

    def contains(self, at: pl.Expr) -> pl.Expr:
        """Whether a time is in the window, without its end."""
        return (at >= self.started_at) & (at < self.ended_at)


def is_done() -> pl.Expr:
    """Selects the rows that succeeded or failed as expected."""
    return pl.col("outcome").is_in(DONE)


def read_rows(paths: Iterable[Path]) -> pl.DataFrame:
    """Read the row files of a run (one JSON object per line; one file per worker), sorted by start.

    A last line without a line break was cut off while it was written, and is left out. Raises LabError for any other
    line that is not a row, and for a request that is in two files.
    """
    rows = pl.concat([_read_file(path) for path in paths])
    if rows["request_id"].n_unique() != rows.height:
        raise LabError("two rows of the run carry the same request_id", "This is a defect of the lab.")
    return rows.sort("started_at", "request_id").with_columns(
        pl.lit(None, kind).alias(name) for name, kind in resolutions.COLUMNS.items()
    )


def read_drops(paths: Iterable[Path]) -> pl.Series:
    """Read the drops of a run (files like those of ``read_rows``): the intended starts in unix seconds, sorted."""
    files = (pl.read_ndjson(whole, schema=DROP_SCHEMA) for path in paths if (whole := _whole_lines(path)))
    return pl.concat([NO_DROPS, *(drops["intended_at"] for drops in files)]).sort()


def _whole_lines(path: Path) -> bytes:
    content = path.read_bytes()
    return content[: content.rfind(b"\n") + 1].strip()


def _read_file(path: Path) -> pl.DataFrame:
    whole = _whole_lines(path)
    if not whole:
        return pl.DataFrame(schema=ROW_SCHEMA)
    try:
        rows = pl.read_ndjson(whole, schema=ROW_SCHEMA)
    except pl.exceptions.PolarsError as error:
        raise LabError(
            f"{path.name}: the rows of the load generator cannot be read ({error})", "This is a defect of the lab."
        ) from None
    required = ("request_id", "part", "started_at", "ended_at", "latency_ms", "outcome")
    if rows.select(pl.any_horizontal(pl.col(name).is_null().any() for name in required)).item():
        raise LabError(f"{path.name}: a row lacks one of {', '.join(required)}", "This is a defect of the lab.")
    if not rows["outcome"].is_in(OUTCOMES).all():
        raise LabError(
            f"{path.name}: the outcome of a row is none of {', '.join(OUTCOMES)}", "This is a defect of the lab."
        )
    return rows


def nearest_rank(values: pl.Series, quantile: float, unanswered: int = 0) -> float:
    """The smallest of the ``values`` that at least a share ``quantile`` of them does not exceed; NaN without values.

    ``unanswered`` more values are infinite.
    """
    count = len(values) + unanswered
    if not count:
        return math.nan
    # Rounding guards against 0.95 * 20 = 19.000000000000004.
    rank = max(1, math.ceil(round(quantile * count, 9)))
    return float(values.sort()[rank - 1]) if rank <= len(values) else math.inf


def distribution(values: pl.Series, unanswered: int = 0) -> Distribution:
    """Count, mean, extremes and percentiles. ``unanswered`` requests without a value rank after all others."""
    ordered = values.drop_nulls().sort()
    count = len(ordered) + unanswered
    if not count:
        return Distribution()
    return Distribution(
        count=count,
        unanswered=unanswered,
        mean=None if ordered.is_empty() else float(ordered.cast(pl.Float64).sum() / len(ordered)),
        min=nearest_rank(ordered, 0.0, unanswered),
        max=nearest_rank(ordered, 1.0, unanswered),
        p999=nearest_rank(ordered, P999, unanswered) if count >= P999_COUNT_MIN else None,
        **{name: nearest_rank(ordered, quantile, unanswered) for name, quantile in QUANTILES.items()},
    )


def counted(rows: pl.DataFrame, flows_after: int | None) -> pl.DataFrame:
    """The rows of the flows that are measured: all but the first ``flows_after``, in the order of their starts."""
    return rows.sort("started_at", "request_id").slice(flows_after) if flows_after else rows


def span(rows: pl.DataFrame) -> Window:
    """The window from the first intended or real start to the last end of the rows. Raises LabError without rows."""
    if rows.is_empty():
        raise LabError("The load ended before the first flow that is measured", "Give it more time with --duration.")
    began, ended = rows.select(
        pl.min_horizontal(pl.col("intended_at").min(), pl.col("started_at").min()), pl.col("ended_at").max()
    ).row(0)
    # A window does not contain its end.
    return Window(float(began), math.nextafter(float(ended), math.inf))


def ended_within(rows: pl.DataFrame, window: Window) -> pl.DataFrame:
    """The rows whose answer came in the window, without its end."""
    return rows.filter(window.contains(pl.col("ended_at")))


def timed_within(rows: pl.DataFrame, window: Window) -> pl.DataFrame:
    """The rows whose latency belongs to the window.

    In open load, these are the requests that were meant to start in the window, however late their answers came. In
    closed load, no request is meant for a time, so these are the requests that were done in the window.
    """
    is_open = pl.col("intended_at").is_not_null()
    meant = is_open & window.contains(pl.col("intended_at"))
    return rows.filter(meant | (~is_open & is_done() & window.contains(pl.col("ended_at"))))


def in_flight_mean(rows: pl.DataFrame, window: Window) -> float:
    """The mean number of requests in flight over the window: the sum of the time of all rows in it ÷ its length."""
    if rows.is_empty() or window.seconds <= 0:
        return 0.0
    overlap = pl.min_horizontal(pl.col("ended_at"), pl.lit(window.ended_at)) - pl.max_horizontal(
        pl.col("started_at"), pl.lit(window.started_at)
    )
    return float(rows.select(overlap.clip(lower_bound=0.0).sum()).item()) / window.seconds


def deviation_percent(value: float, reference: float) -> float | None:
    """The difference of ``value`` from ``reference``, in % of the reference. None if the reference is 0."""
    return None if reference == 0 else 100.0 * (value - reference) / reference


def littles_law(rows: pl.DataFrame, window: Window) -> Values:
    """Both sides of Little's law over the window. Failed requests count too, because they were in flight."""
    ended = ended_within(rows, window)
    rate = ended.height / window.seconds if window.seconds > 0 else 0.0
    latency_seconds = float(ended["latency_ms"].sum()) / 1000 / ended.height if ended.height else 0.0
    in_flight = in_flight_mean(rows, window)
    return of_whole(
        requests_per_second=rate,
        request_seconds_mean=latency_seconds,
        in_flight_mean=in_flight,
        littles_law_percent=deviation_percent(rate * latency_seconds, in_flight),
    )


def halves(rows: pl.DataFrame, window: Window) -> Values:
    """The throughput in the first and the second half of the window. They are equal if the load is steady."""
    middle = window.started_at + window.seconds / 2
    done = rows.filter(is_done())
    return of_whole(
        first_half_per_second=ended_within(done, Window(window.started_at, middle)).height / (window.seconds / 2),
        second_half_per_second=ended_within(done, Window(middle, window.ended_at)).height / (window.seconds / 2),
    )


def failures_by_kind(rows: pl.DataFrame, outcome: Outcome) -> list[FailureKind]:
    """The failures among the rows of one outcome, by kind, most frequent first."""
    messages = (
        rows.filter(pl.col("outcome") == outcome)
        .group_by("status", "error")
        .agg(pl.len().alias("count"), pl.col("started_at").min().alias("first_at"))
    )
    return grouped_errors(FailureKind(**message) for message in messages.to_dicts())


def counts_by_outcome(rows: pl.DataFrame) -> dict[str, int]:
    found = dict(rows["outcome"].value_counts().iter_rows())
    return {name: found.get(name, 0) for name in OUTCOMES}


def outcome_values(
    rows: pl.DataFrame, window: Window, *, whole: pl.DataFrame | None = None, dropped: int = 0, seconds: float = 0.0
) -> OutcomeValues:
    """Throughput, counts by outcome, and times of the rows that are measured.

    ``whole`` has the rows of the whole load, if these are others. ``dropped`` arrivals of the window were never sent.
    The throughput is over ``seconds``, if it is not over the window.
    """
    ended = ended_within(rows, window)
    timed = timed_within(rows, window)
    answered = timed.filter(is_done())
    unanswered = timed.height - answered.height
    in_window = counts_by_outcome(ended)
    is_open = dropped > 0 or not rows["intended_at"].is_null().all()
    all_rows = rows if whole is None else whole
    return OutcomeValues(
        throughput_per_second=ended.filter(is_done()).height / (seconds or window.seconds),
        requests=RequestCounts(
            total=all_rows.height,
            **counts_by_outcome(all_rows),
            **{f"window_{name}": count for name, count in in_window.items()},
        ),
        latency_ms=distribution(answered["latency_ms"], unanswered),
        latency_intended_ms=distribution(answered["latency_intended_ms"], unanswered + dropped if is_open else 0),
        bridge_flow_ms=distribution(answered["bridge_flow_ms"]),
        bridge_rpc_ms=distribution(answered["bridge_rpc_ms"]),
    )


def dropped_within(drops: pl.Series, window: Window) -> int:
    """The number of dropped arrivals that were meant for the window."""
    return int(drops.to_frame("at").select(window.contains(pl.col("at")).sum()).item())


ERRORS_SHOWN_MAX = 3
"""The number of kinds that are shown at the end of a run and at the top of a report."""


def grouped_errors(kinds: Iterable[FailureKind]) -> list[FailureKind]:
    """Group failures by status and by message without its values, most frequent first.

    If a message had values, the example of its kind is the first such message. Kinds that are already grouped do not
    change.
    """
    members: dict[tuple[int | None, str | None], list[FailureKind]] = {}
    for one in kinds:
        message = None if one.error is None else without_values(one.error)
        members.setdefault((one.status, message), []).append(one)
    found = [_together(status, message, alike) for (status, message), alike in members.items()]
    return sorted(found, key=lambda kind: (-kind.count, kind.first_at))


def _together(status: int | None, message: str | None, alike: list[FailureKind]) -> FailureKind:
    first = min(alike, key=lambda one: one.first_at)
    example = first.example or first.error
    return FailureKind(
        status=status,
        error=message,
        count=sum(one.count for one in alike),
        first_at=first.first_at,
        example=None if example == message else example,
    )


def unwanted_words(failed: int, unknown: int) -> str:
    """``3 failed``, ``3 failed, 2 unknown``: the requests that ended as no workload asks for."""
    return f"{failed:,} failed" + (f", {unknown:,} unknown" if unknown else "")


def error_words(kind: FailureKind) -> str:
    """``140 × 400 invalid-argument: args.iouValue must be a whole number, but is "…"``."""
    return f"{kind.count:,} × {kind.status or 'no answer'} {kind.error or ''}".rstrip()


def further(kinds: list[FailureKind]) -> str:
    """``and 2 more kinds of error``, beyond the ``ERRORS_SHOWN_MAX`` that are shown; empty if there are no more."""
    count = len(kinds) - ERRORS_SHOWN_MAX
    return "" if count <= 0 else f"and {count:,} more kind{'' if count == 1 else 's'} of error"
