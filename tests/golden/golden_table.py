"""Tables of values: a line for each value, with its place (a step, a point, a claim), its metric and its part.

Numbers are compared with a small tolerance, so that another order of a sum changes nothing.
"""

import csv
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

VALUES = Path(__file__).parent / "values"
RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-12
"""Of values that are 0 but for rounding."""

Scalar = bool | int | float | str | None
Key = tuple[str, str, str]


class Value(NamedTuple):
    """One value. ``part`` is a node, a flow, a code or the like; empty for the whole."""

    place: str
    metric: str
    part: str
    value: Scalar

    @property
    def key(self) -> Key:
        """What names the value."""
        return self.place, self.metric, self.part

    @property
    def text(self) -> str:
        """The value as it is stored: a number with all its digits, ``true``, or a code; empty if there is none."""
        if self.value is None:
            return ""
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


def path_of(name: str) -> Path:
    """The file of a table."""
    return VALUES / f"{name}.csv"


def write(name: str, values: Iterable[Value]) -> None:
    """Write a table. Raises ValueError if two values have the same name."""
    texts = as_texts(values)
    with path_of(name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("place", "metric", "part", "value"))
        writer.writerows((*key, text) for key, text in texts.items())


def read(name: str) -> dict[Key, str]:
    """Read a table."""
    with path_of(name).open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        return {(place, metric, part): value for place, metric, part, value in rows}


def as_texts(values: Iterable[Value]) -> dict[Key, str]:
    """The values as they are stored. Raises ValueError if two of them have the same name."""
    texts: dict[Key, str] = {}
    for value in values:
        if value.key in texts:
            raise ValueError(f"two values have the name {value.key}")
        texts[value.key] = value.text
    return texts


def differences(before: Mapping[Key, str], now: Mapping[Key, str]) -> list[str]:
    """What differs between two tables, a line each."""
    found = [f"{', '.join(key)}: gone, was {before[key]}" for key in before if key not in now]
    found += [f"{', '.join(key)}: new, is {now[key]}" for key in now if key not in before]
    both = (key for key in before if key in now)
    return found + [f"{', '.join(key)}: {before[key]} → {now[key]}" for key in both if not same(before[key], now[key])]


def same(before: str, now: str) -> bool:
    """Whether two stored values are the same, as texts or as numbers."""
    if before == now:
        return True
    try:
        a, b = float(before), float(now)
    except ValueError:
        return False
    return math.isclose(a, b, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
