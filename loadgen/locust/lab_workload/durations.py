"""Durations as users write them: ``60s``, ``2m``, ``1m30s``, ``500ms``, or a plain number of seconds."""

import re

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

SECONDS_MAX = 24 * 3600.0
"""The longest duration that can be written."""


def seconds_in(text: str) -> float | None:
    compact = text.strip().lower().replace(" ", "")
    if _NUMBER.fullmatch(compact):
        return float(compact)
    if _WHOLE.fullmatch(compact):
        return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(compact))
    return None


def format_duration(seconds: float) -> str:
    """``seconds`` in the shortest exact form, rounded to the millisecond: ``1m30s``, ``0.5s``."""
    milliseconds = round(seconds * 1000)
    hours, milliseconds = divmod(milliseconds, 3_600_000)
    minutes, milliseconds = divmod(milliseconds, 60_000)
    text = (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "")
    if milliseconds or not text:
        text += f"{milliseconds / 1000:g}s"
    return text
