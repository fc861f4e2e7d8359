"""Latencies in the files of the benches."""

import polars as pl

from corda_lab.bench.file import BenchPart
from corda_lab.steps import rows


class Latency(BenchPart):
    """The time from the start of a flow to its result, in milliseconds. Percentiles are by nearest rank.

    JMeter's clock counts whole milliseconds.
    """

    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


def latency_of(values: pl.Series) -> Latency | None:
    """Return mean and percentiles of latencies in milliseconds; None of nothing."""
    if values.is_empty():
        return None
    return Latency(
        mean_ms=float(values.sum()) / len(values),
        p50_ms=rows.nearest_rank(values, 0.50),
        p95_ms=rows.nearest_rank(values, 0.95),
        p99_ms=rows.nearest_rank(values, 0.99),
        max_ms=float(values.sort()[-1]),
    )
