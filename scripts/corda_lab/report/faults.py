"""Faults in a report: bands in the charts over time, and a table of what each cost."""

from dataclasses import asdict, dataclass

from corda_lab.steps.entry import StepEntry
from corda_lab.steps.faults import FaultEntry

NOT_SEEN = "not back before the load ended"


@dataclass(frozen=True)
class Band:
    """A fault on the time axis of a chart, in seconds from its origin: while it lasted, and until throughput was back.

    ``back`` is None if that was not seen.
    """

    name: str
    text: str
    """The name, and what the fault cost."""
    start: float
    end: float
    back: float | None


def bands(step: StepEntry, origin: float) -> list[dict[str, object]]:
    """The faults of a step as bands, as JSON. ``origin`` is the zero of the time axis in unix seconds."""
    return [asdict(_band(fault, origin, step.window.load_ended_at)) for fault in step.faults if fault.was_made]


def _band(fault: FaultEntry, origin: float, load_ended_at: float) -> Band:
    began_at = fault.began_at or origin
    back = None if fault.recovery_seconds is None else round(began_at + fault.recovery_seconds - origin, 1)
    end = min(fault.healed_at or load_ended_at, load_ended_at)
    return Band(fault.name, _text(fault), round(began_at - origin, 1), round(max(end, began_at) - origin, 1), back)


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
