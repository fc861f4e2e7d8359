"""What faults cost, from rows: the time until throughput was back, and the flows lost meanwhile. Also as shown."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from corda_lab.faults.model import FaultEntry
from corda_lab.steps.entry import StepEntry
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
NOT_SEEN = "not back before the load ended"


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


@dataclass(frozen=True)
class Band:
    """A fault on a time axis, in seconds. ``back`` is when throughput was back; None if that was not seen."""

    name: str
    text: str
    start: float
    end: float
    back: float | None


def bands(step: StepEntry, origin: float) -> list[Band]:
    """The faults of a step on the time axis of a chart, from its ``origin`` (unix seconds)."""
    made = []
    for fault in step.faults:
        if fault.began_at is not None:
            start, recovery = fault.began_at - origin, fault.recovery_seconds
            end = min(fault.healed_at or step.window.load_ended_at, step.window.load_ended_at) - origin
            back = None if recovery is None else round(start + recovery, 1)
            made.append(Band(fault.name, _text(fault), round(start, 1), round(max(start, end), 1), back))
    return made


def _text(fault: FaultEntry) -> str:
    """``kill bridge: back after 21 s, 95 flows late``, as far as that is known."""
    if fault.before_per_second is None:
        return fault.name
    if fault.recovery_seconds is None:
        return f"{fault.name}: {NOT_SEEN}"
    if not fault.recovery_seconds:
        return f"{fault.name}: no effect"
    return f"{fault.name}: back after {fault.recovery_seconds:.0f} s, {fault.lost_flows or 0:.0f} flows late"


def rows(step: StepEntry) -> list[dict[str, str]]:
    """The table of faults: what, when, for how long, time to recovery, throughput before, and flows lost."""
    return [_row(fault, step.window.load_started_at) for fault in step.faults]


def _row(fault: FaultEntry, load_started_at: float) -> dict[str, str]:
    began_at, recovery = fault.began_at, fault.recovery_seconds
    row = dict.fromkeys(("at", "lasted", "recovery", "before", "lost"), "–")
    row |= {"name": fault.name + (f" ({fault.given})" if fault.given else ""), "problem": fault.problem or ""}
    if began_at is not None:
        row["at"] = f"{began_at - load_started_at:.1f} s"
        if fault.healed_at is not None:
            row["lasted"] = f"{fault.healed_at - began_at:.1f} s"
    if fault.before_per_second is not None:
        row["before"], row["lost"] = f"{fault.before_per_second:.2f}", f"{fault.lost_flows or 0:.0f}"
        row["recovery"] = NOT_SEEN
        if recovery is not None:
            row["recovery"] = f"{recovery:.1f} s" if recovery else "did not slow the load down"
    return row
