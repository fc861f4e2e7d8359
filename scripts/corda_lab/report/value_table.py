"""The tables of all values by name: of every point of a sweep, and of every node in a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from corda_lab.analysis import values
from corda_lab.analysis.metrics import COMPARED, METRICS
from corda_lab.analysis.points import Point, measured_metrics
from corda_lab.steps.entry import StepEntry


@dataclass(frozen=True)
class ValueRow:
    """One value: its name, its title, and its text in every column."""

    name: str
    title: str
    cells: list[str]


@dataclass(frozen=True)
class ValueTable:
    """A table of values. ``columns`` are points, or parts of the lab."""

    columns: list[str]
    rows: list[ValueRow]


def by_point(all_points: Sequence[Point]) -> ValueTable:
    """The values that the table of points does not have, of each point. A dash stands for a value that it lacks."""
    rows = [
        ValueRow(name, METRICS[name].title, [_cell(point.estimate(name).value, name) for point in all_points])
        for name in measured_metrics(all_points)
        if name not in COMPARED
    ]
    return ValueTable([point.label for point in all_points], rows)


def by_node(step: StepEntry) -> ValueTable:
    """All values of a step: of the whole step (or all its nodes), and of each part of the lab that has values."""
    found = {name: one.by_node(step) if one.by_node else {} for name, one in METRICS.items()}
    parts = list(dict.fromkeys(part for by_part in found.values() for part in by_part))
    rows = []
    for name, by_part in found.items():
        whole = METRICS[name].of(step)
        if whole is not None or by_part:
            of_parts = [by_part.get(part) for part in parts]
            rows.append(ValueRow(name, METRICS[name].title, [_cell(value, name) for value in (whole, *of_parts)]))
    return ValueTable(["whole run", *parts], rows)


def _cell(value: float | None, name: str) -> str:
    return "–" if value is None else values.shown(value, name)
