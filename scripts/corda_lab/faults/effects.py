"""What faults cost, from rows: the time until throughput was back, and the flows lost meanwhile."""

from collections.abc import Sequence

import polars as pl

from corda_lab.faults.model import FaultEntry
from corda_lab.steps.rows import is_done

BEFORE_SECONDS = 15.0
"""The time before a fault over which throughput is taken, or less if the load had just begun."""
BEFORE_SECONDS_MIN = 3.0
"""With less time before a fault, its throughput before is not known."""
BACK_SECONDS = 5.0
"""Throughput is back if it is so for this long."""
BACK_SHARE = 0.8
"""Throughput is back when it reaches this share of what it was before."""
LOOK_SECONDS = 0.5
"""Steps in which the end of a fault is looked for."""


def with_effects(
    faults: Sequence[FaultEntry], rows: pl.DataFrame, load_started_at: float, load_ended_at: float
) -> tuple[FaultEntry, ...]:
    """Return the faults with their effects, in the order of their begin. Those that were not made have none.

    The throughput before a fault is the highest of those before it and before earlier faults, because a load may not
    have recovered from these. Times are in unix seconds; ``rows`` has the columns of ``requests.parquet``.
    """
    ends = rows.filter(is_done())["ended_at"].sort()
    highest = 0.0
    entries = []
    for fault in sorted(faults, key=lambda one: (one.began_at is None, one.began_at or one.at_seconds)):
        if (began_at := fault.began_at) is None:
            entries.append(fault)
            continue
        since = max(load_started_at, began_at - BEFORE_SECONDS)
        if began_at - since >= BEFORE_SECONDS_MIN:
            highest = max(highest, _count(ends, since, began_at) / (began_at - since))
        effect: dict[str, float | None] = {}
        if highest:
            back_at = _back_at(ends, began_at, fault.healed_at or load_ended_at, highest, load_ended_at)
            until = load_ended_at if back_at is None else back_at
            lost = max(0.0, highest * (until - began_at) - _count(ends, began_at, until))
            effect["before_per_second"] = round(highest, 3)
            effect["recovery_seconds"] = None if back_at is None else round(back_at - began_at, 1)
            effect["lost_flows"] = round(lost, 1)
        entries.append(fault.model_copy(update=effect))
    return tuple(entries)


def _back_at(ends: pl.Series, began_at: float, healed_at: float, before: float, load_ended_at: float) -> float | None:
    """When throughput was back: the begin of the first whole window of ``BACK_SECONDS`` in which it is high enough.

    A fault that did not slow the load down is over at once, even if it lasts.
    """
    at = began_at
    is_unharmed = True
    while at + BACK_SECONDS <= load_ended_at:
        enough = _count(ends, at, at + BACK_SECONDS) >= BACK_SHARE * before * BACK_SECONDS
        if at >= healed_at and enough:
            return began_at if is_unharmed else at
        is_unharmed = is_unharmed and enough
        at += LOOK_SECONDS
    return None


def _count(ends: pl.Series, since: float, until: float) -> int:
    return int(((ends >= since) & (ends < until)).sum())
