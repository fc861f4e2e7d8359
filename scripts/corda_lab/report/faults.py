"""Faults in a report: bands in the charts over time, and a table of what each cost."""

from dataclasses import dataclass

from corda_lab.steps.entry import StepEntry
from corda_lab.steps.faults import FaultEntry

NOT_SEEN = "not back before the load ended"


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
    found = []
    for fault in step.faults:
        if fault.began_at is None:
            continue
        start, recovery = fault.began_at - origin, fault.recovery_seconds
        end = min(fault.healed_at or step.window.load_ended_at, step.window.load_ended_at) - origin
        back = None if recovery is None else round(start + recovery, 1)
        found.append(Band(fault.name, _text(fault), round(start, 1), round(max(start, end), 1), back))
    return found


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


def _row(fault: FaultEntry, origin: float) -> dict[str, str]:
    given = ", ".join(f"{name} {value:g}" for name, value in fault.parameters.items())
    row = {"name": fault.name + (f" ({given})" if given else ""), "problem": fault.problem or ""}
    if fault.began_at is None:
        return {**row, "at": "–", "lasted": "–", "recovery": "–", "before": "–", "lost": "–"}
    lasted = "–" if fault.healed_at is None else f"{fault.healed_at - fault.began_at:.1f} s"
    before, lost = fault.before_per_second, fault.lost_flows
    recovery = NOT_SEEN if before is not None else "–"
    if fault.recovery_seconds is not None:
        recovery = f"{fault.recovery_seconds:.1f} s" if fault.recovery_seconds else "did not slow the load down"
    return {
        **row,
        "at": f"{fault.began_at - origin:.1f} s",
        "lasted": lasted,
        "recovery": recovery,
        "before": "–" if before is None else f"{before:.2f}",
        "lost": "–" if lost is None else f"{lost:.0f}",
    }
