"""Matches names that a user typed."""

import re
from collections.abc import Iterable
from difflib import get_close_matches


def canonical(name: str, known: Iterable[str]) -> str | None:
    """Return the spelling of ``name`` in ``known``, ignoring case; None if it is not there."""
    return next((candidate for candidate in known if candidate.casefold() == name.casefold()), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``", did you mean 'x'?"`` if one of ``known`` is similar to ``name``, else an empty string."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = get_close_matches(name.casefold(), by_folded, n=1)
    return f", did you mean {by_folded[close[0]]!r}?" if close else ""


def names_in(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names in one or more texts, which separate them by commas or spaces: ``PartyA,PartyB``."""
    texts = [given] if isinstance(given, str) else given
    return tuple(name for text in texts for name in re.split(r"[,\s]+", text) if name)
