"""Matching of names that a person typed."""

from collections.abc import Iterable
from difflib import get_close_matches


def canonical(name: str, known: Iterable[str]) -> str | None:
    """The spelling of ``name`` in ``known``, upper and lower case being the same, or None."""
    return next((candidate for candidate in known if candidate.casefold() == name.casefold()), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``", did you mean 'x'?"`` when one of ``known`` is close to ``name``, else the empty string."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = get_close_matches(name.casefold(), by_folded, n=1)
    return f", did you mean {by_folded[close[0]]!r}?" if close else ""
