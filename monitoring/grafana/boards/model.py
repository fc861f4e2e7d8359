"""What a board consists of. ``render`` makes Grafana's JSON of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Kind = Literal["timeseries", "stat", "state-timeline"]
"""Types of Grafana's panels."""

GRID_WIDTH = 24
"""Columns of Grafana's grid."""
SCREEN_ROWS = 24
"""Rows of Grafana's grid on a screen of 1080 lines. A row has 30 lines, and 8 more before the next one."""


@dataclass(frozen=True)
class Query:
    """A query of Prometheus. ``legend`` names its series, with labels in double braces: ``{{node}} in``."""

    expr: str
    legend: str


@dataclass(frozen=True)
class Panel:
    """One panel. Its description says what good looks like."""

    title: str
    description: str
    unit: str
    """An id of Grafana's units (``monitoring/grafana/units.txt``)."""
    queries: tuple[Query, ...]
    kind: Kind = "timeseries"
    width: int = 6
    decimals: int | None = None
    max: float | None = None
    stacked: bool = False
    dashed: tuple[str, ...] = ()
    """Legends of limits and wishes, which are drawn dashed."""
    colours: tuple[tuple[float | None, str], ...] = ((None, "blue"),)
    """Of a stat and a state-timeline: the colour from each value on. The first has no value."""
    words: Mapping[int, str] = field(default_factory=dict)
    """Of a state-timeline: what its values mean."""

    def columns(self, width: int) -> "Panel":
        """Return the same panel with another width."""
        return replace(self, width=width)


@dataclass(frozen=True)
class Section:
    """Panels below a title, all with the same height in rows of the grid.

    Whoever opens a board does not see what is ``collapsed``, and Prometheus is not asked for it.
    """

    title: str
    panels: tuple[Panel, ...]
    height: int = 7
    collapsed: bool = False


@dataclass(frozen=True)
class Board:
    """One dashboard, from general to specific. ``uid`` is in its address, and the name of its file."""

    uid: str
    title: str
    description: str
    sections: tuple[Section, ...]
