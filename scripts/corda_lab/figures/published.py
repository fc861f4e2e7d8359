"""The published values, ``configs/figures/published.csv``, with what is known of their errors.

A value is never more exact than it was printed or read off a picture. Its error is the largest of: half a unit of its
last printed digit; the error of reading it off (``digitised +-45``); its published standard deviation, which is given
as two rows of their own (``throughput -1SD``, ``throughput +1SD``) or by the runs in ``quality``.
"""

import csv
import math
import re
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.figures.schema import SELECTING
from corda_lab.paths import CONFIGS
from lab_workload.problems import Problem

FIGURES = CONFIGS / "figures"
PUBLISHED = FIGURES / "published.csv"
ROWS_MAX = 10_000

COLUMNS = (
    "id", "source", "edition", "workload", "x_name", "x", "metric", "value", "unit", "quality", "hardware",
)  # fmt: skip

_READ_OFF = re.compile(r"\+-\s*(\d+(?:\.\d+)?)\s*(%?)")
_RUNS = re.compile(r"mean of \d+ \(([\d. ]+)\)")
_DEVIATIONS = (" -1SD", " +1SD")


_SIZES = {"k": 1024, "m": 1024**2, "g": 1024**3}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmg])b?", re.IGNORECASE)


def number_of(value: object) -> float | None:
    """Return a value as a number: ``8``, ``"0.5"``, or a size such as ``512m`` in bytes; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str) and (size := _SIZE.fullmatch(value.strip())):
        return float(size[1]) * _SIZES[size[2].lower()]
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True)
class PublishedRow:
    """One published value. ``x`` is a number where it is one; ``value`` is None where nothing finished."""

    id: str
    source: str
    edition: str
    workload: str
    x_name: str
    x: float | str
    metric: str
    value: float | None
    unit: str
    quality: str
    """How it is known: a printed label, text, derived, or digitised with its error."""
    hardware: str
    error: float
    """How far the true value may be from ``value``, in its unit."""

    @property
    def columns(self) -> dict[str, float | str]:
        """The values by which rows are chosen, by column."""
        return {name: getattr(self, name) for name in SELECTING}


def read_published(path: Path = PUBLISHED) -> tuple[PublishedRow, ...]:
    """Read the published values. Raises LabError with every row that cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(f"{path}: cannot be read: {error.strerror}", "Restore it with git.") from error
    return _read(path, text)


@cache
def _read(path: Path, text: str) -> tuple[PublishedRow, ...]:
    reader = csv.DictReader(text.splitlines(), strict=True)
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise LabError(f"{path}:1: the columns must be {', '.join(COLUMNS)}")
    problems: list[Problem] = []
    given: list[dict[str, str]] = []
    for row in reader:
        fault = _fault(row)
        if fault:
            problems.append(Problem(fault, path=path, line=reader.line_num))
        given.append(row)
        if len(given) > ROWS_MAX:
            raise LabError(f"{path}: has more than {ROWS_MAX} rows")
    if problems:
        raise LabError(problems=problems)
    deviations = _deviations(given)
    return tuple(_row(row, deviations.get(_key(row, row["metric"]))) for row in given)


def _fault(row: dict[str, str]) -> str:
    """Return what is wrong with a row; empty if nothing is."""
    if None in row or None in row.values():
        return f"must have {len(COLUMNS)} columns"
    empty = [name for name in ("id", "source", "edition", "metric", "unit", "quality") if not row[name]]
    if empty:
        return f"{empty[0]}: is empty"
    if row["value"] and number_of(row["value"]) is None:
        return f"value: must be a number, but is {row['value']!r}"
    return ""


def _key(row: dict[str, str], metric: str) -> tuple[str, ...]:
    # "mean latency" has its deviations in "latency -1SD".
    return row["id"], row["edition"], row["workload"], row["x_name"], row["x"], metric.split()[-1]


def _deviations(rows: Iterable[dict[str, str]]) -> dict[tuple[str, ...], float]:
    """Return half the distance between the two rows of a standard deviation, by the key of the value."""
    ends: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        for suffix in _DEVIATIONS:
            if row["metric"].endswith(suffix):
                ends.setdefault(_key(row, row["metric"].removesuffix(suffix)), []).append(float(row["value"]))
    return {key: (max(pair) - min(pair)) / 2 for key, pair in ends.items() if len(pair) == len(_DEVIATIONS)}


def _row(row: dict[str, str], deviation: float | None) -> PublishedRow:
    value = float(row["value"]) if row["value"] else None
    decimals = len(row["value"].partition(".")[2])
    number = number_of(row["x"])
    texts = {name: text for name, text in row.items() if name not in ("x", "value")}
    return PublishedRow(
        **texts,
        x=row["x"] if number is None else number,
        value=value,
        error=max(0.5 * 10**-decimals, _read_off(row["quality"], value), deviation or 0.0, _spread(row["quality"])),
    )


def _read_off(quality: str, value: float | None) -> float:
    found = _READ_OFF.search(quality)
    if found is None:
        return 0.0
    return float(found[1]) / 100 * abs(value or 0.0) if found[2] else float(found[1])


def _spread(quality: str) -> float:
    """Return the standard deviation of the runs that the quality lists; 0 if it lists none."""
    found = _RUNS.search(quality)
    runs = [float(run) for run in found[1].split()] if found else []
    return statistics.stdev(runs) if len(runs) > 1 else 0.0
