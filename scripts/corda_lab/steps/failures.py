"""Failed requests by kind: the status, and the message without the values in it."""

from collections.abc import Iterable

from corda_lab.steps.entry import FailureKind
from lab_workload.error_text import without_values

SHOWN_MAX = 3
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
    """``and 2 more kinds of error``, beyond the ``SHOWN_MAX`` that are shown; empty if there are no more."""
    count = len(kinds) - SHOWN_MAX
    return "" if count <= 0 else f"and {count:,} more kind{'' if count == 1 else 's'} of error"
