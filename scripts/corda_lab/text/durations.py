"""Durations as users write them: ``60s``, ``2m``, ``1m30s``, ``500ms``, or a plain number of seconds."""

import re

from corda_lab.errors import LabError

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

SECONDS_MAX = 24 * 3600.0


def parse_duration(text: str, *, option: str, seconds_min: float = 0.0) -> float:
    """Convert ``text`` to seconds.

    Raises LabError, which names ``option``, if ``text`` is not a duration, or if it is shorter than ``seconds_min`` or
    longer than ``SECONDS_MAX``.
    """
    compact = text.strip().lower().replace(" ", "")
    if _NUMBER.fullmatch(compact):
        seconds = float(compact)
    elif _WHOLE.fullmatch(compact):
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(compact))
    else:
        raise LabError(f"{option}: {text!r} is not a duration", "Write it like 60s, 2m or 1m30s.")
    if seconds < seconds_min:
        raise LabError(f"{option}: {text!r} is too short", f"It must be at least {format_duration(seconds_min)}.")
    if seconds > SECONDS_MAX:
        raise LabError(f"{option}: {text!r} is too long", f"It may be at most {format_duration(SECONDS_MAX)}.")
    return seconds


def format_duration(seconds: float) -> str:
    """``seconds`` in the shortest exact form, rounded to the millisecond: ``1m30s``, ``0.5s``."""
    milliseconds = round(seconds * 1000)
    hours, milliseconds = divmod(milliseconds, 3_600_000)
    minutes, milliseconds = divmod(milliseconds, 60_000)
    text = (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "")
    if milliseconds or not text:
        text += f"{milliseconds / 1000:g}s"
    return text
