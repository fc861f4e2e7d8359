"""Durations on the command line: ``60s``, ``2m``, ``1m30s``, ``500ms``, or a plain number of seconds."""

from corda_lab.errors import LabError
from lab_workload.durations import SECONDS_MAX as SECONDS_MAX
from lab_workload.durations import format_duration as format_duration
from lab_workload.durations import seconds_in


def parse_duration(text: str, *, option: str, seconds_min: float = 0.0) -> float:
    """Convert ``text`` to seconds.

    Raises LabError, which names ``option``, if ``text`` is not a duration, or if it is shorter than ``seconds_min`` or
    longer than ``SECONDS_MAX``.
    """
    seconds = seconds_in(text)
    if seconds is None:
        raise LabError(f"{option}: {text!r} is not a duration", "Write it like 60s, 2m or 1m30s.")
    if seconds < seconds_min:
        raise LabError(f"{option}: {text!r} is too short", f"It must be at least {format_duration(seconds_min)}.")
    if seconds > SECONDS_MAX:
        raise LabError(f"{option}: {text!r} is too long", f"It may be at most {format_duration(SECONDS_MAX)}.")
    return seconds
