"""What takes too long for one night: the cases take turns, by the date.

``EVERY_CASE=yes`` takes all of them; ``NIGHT=2026-12-01`` those of that date, to see again what failed then.
"""

import os
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import TypeVar

Case = TypeVar("Case")
TODAY = datetime.now(UTC).date().isoformat()
NIGHT = date.fromisoformat(os.environ.get("NIGHT", TODAY)).toordinal()


def taking_turns(cases: Iterable[Case], nights: int) -> list[Case]:
    """The cases of tonight. Each comes up once in so many nights."""
    takes_all = os.environ.get("EVERY_CASE") == "yes"
    return [case for place, case in enumerate(cases) if takes_all or (place + NIGHT) % nights == 0]
