"""What takes too long for one night: the cases take turns, by the date.

``EVERY_CASE=yes`` takes all of them; ``NIGHT=2026-12-01`` those of that date again.
"""

import os
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import TypeVar

import pytest

Case = TypeVar("Case")
_ASKED = os.environ.get("NIGHT") or datetime.now(UTC).date().isoformat()
try:
    NIGHT = date.fromisoformat(_ASKED)
except ValueError:
    pytest.exit(f"NIGHT: {_ASKED!r} is no date; give one such as 2026-12-01", returncode=2)


def taking_turns(cases: Iterable[Case], nights: int) -> list[Case]:
    """The cases of tonight. Each comes up once in so many nights."""
    takes_all = os.environ.get("EVERY_CASE") == "yes"
    return [case for place, case in enumerate(cases) if takes_all or (place + NIGHT.toordinal()) % nights == 0]
