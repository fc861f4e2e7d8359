"""Makes Grafana's JSON of the boards in ``boards.yaml``: ``PYTHONPATH=monitoring python -m grafana.boards`` writes it.

The positions of panels, their ids, and the variables, links and annotations that all boards share are made here.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict

HERE = Path(__file__).parent
FOLDER = HERE / "dashboards"
"""The files of the boards, which Compose mounts into Grafana's container."""
GRID_WIDTH = 24
"""Columns of Grafana's grid."""
TAG = "corda-lab"
"""The tag of all boards, by which they find one another."""
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
SCHEMA_VERSION = 41
"""That of Grafana 12.0."""
DASHED = {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 6]}}


class Part(BaseModel):
    """Base of the models: immutable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Panel(Part):
    """One panel, which may be on several boards. ``boards.yaml`` says what its fields mean."""

    unit: str
    description: str
    queries: Mapping[str, str]
    """By legend."""
    kind: Literal["timeseries", "stat", "state-timeline"] = "timeseries"
    decimals: int | None = None
    max: int | None = None
    stacked: bool = False
    dashed: tuple[str, ...] = ()
    colours: Mapping[int | float | None, str] = {None: "blue"}
    words: Mapping[int, str] = {}


class Section(Part):
    """Panels below a title, with their widths and all with the same height, in columns and rows of the grid.

    Whoever opens a board does not see what is ``collapsed``, and Prometheus is not asked for it.
    """

    title: str
    panels: Mapping[str, int]
    height: int = 7
    collapsed: bool = False


class Board(Part):
    """One dashboard. ``uid`` is in its address, and the name of its file."""

    uid: str
    title: str
    description: str
    sections: tuple[Section, ...]


class Boards(Part):
    """The content of ``boards.yaml``."""

    boards: tuple[Board, ...]
    panels: Mapping[str, Panel]


def load_boards() -> Boards:
    return Boards.model_validate(yaml.safe_load((HERE / "boards.yaml").read_text(encoding="utf-8")))


def text_of(board: Board, panels: Mapping[str, Panel]) -> str:
    """Return the content of the file of a board."""
    return json.dumps(render(board, panels), indent=2, ensure_ascii=False) + "\n"


def render(board: Board, panels: Mapping[str, Panel]) -> dict[str, Any]:
    """Return a board as Grafana reads it from a file."""
    return {
        "uid": board.uid,
        "title": board.title,
        "description": board.description,
        "tags": [TAG],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        # The source is boards.yaml. A copy of a board can be edited.
        "editable": False,
        "graphTooltip": 1,
        "liveNow": False,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "timepicker": {"refresh_intervals": ["5s", "15s", "1m", "5m"]},
        "timezone": "browser",
        "fiscalYearStartMonth": 0,
        "weekStart": "",
        "links": [LINKS],
        "annotations": {"list": list(_annotations())},
        "templating": {"list": [DATA_SOURCE_VARIABLE, NODE_VARIABLE]},
        "panels": list(_boxes(board, panels)),
    }


LINKS = {
    "title": "Boards",
    "type": "dashboards",
    "tags": [TAG],
    "asDropdown": False,
    "includeVars": True,
    "keepTime": True,
    "targetBlank": False,
    "icon": "external link",
    "tooltip": "",
    "url": "",
}
"""The links to all boards, which keep the time range and the variables."""

DATA_SOURCE_VARIABLE = {
    "name": "datasource",
    "label": "Data source",
    "description": "The Prometheus that scrapes the lab.",
    "type": "datasource",
    "query": "prometheus",
    "regex": "",
    "hide": 0,
    "includeAll": False,
    "multi": False,
    "options": [],
    "refresh": 1,
    "current": {"selected": True, "text": "Prometheus", "value": "prometheus"},
}

_NODES = 'label_values(up{job="corda"}, node)'
NODE_VARIABLE = {
    "name": "node",
    "label": "Node",
    "description": "The Corda nodes to show.",
    "type": "query",
    "datasource": DATA_SOURCE,
    "definition": _NODES,
    "query": {"qryType": 1, "query": _NODES, "refId": "node"},
    "regex": "",
    "hide": 0,
    "includeAll": True,
    "allValue": ".*",
    "multi": True,
    "options": [],
    "refresh": 2,
    "sort": 1,
    "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
}

OPTIONS: Mapping[str, dict[str, Any]] = {
    "stat": {
        "colorMode": "value",
        "graphMode": "area",
        "justifyMode": "auto",
        "orientation": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "textMode": "value",
    },
    "timeseries": {
        "legend": {"calcs": ["mean", "max"], "displayMode": "table", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "state-timeline": {
        "alignValue": "left",
        "mergeValues": True,
        "rowHeight": 0.9,
        "showValue": "never",
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
        "tooltip": {"mode": "single", "sort": "none"},
    },
}
"""The options of a panel, by its kind."""


def _annotations() -> Iterator[dict[str, Any]]:
    runs = "max by (run, workload, node, load) (locust_run_info)"
    yield _annotation("Runs and steps", runs, "blue", "{{run}}", "{{workload}} on {{node}}, {{load}}")
    yield _annotation("Faults", "max by (kind, target) (lab_fault_info)", "purple", "{{kind}} {{target}}", "fault")
    alerts = 'max by (alertname, node, severity) (ALERTS{alertstate="firing"})'
    yield _annotation("Alerts", alerts, "red", "{{alertname}} {{node}}", "{{severity}}")


def _annotation(name: str, expr: str, colour: str, title: str, text: str) -> dict[str, Any]:
    return {
        "name": name,
        "enable": True,
        "iconColor": colour,
        "datasource": DATA_SOURCE,
        "expr": expr,
        "step": "5s",
        "titleFormat": title,
        "textFormat": text,
        "useValueForTime": False,
    }


def _boxes(board: Board, panels: Mapping[str, Panel]) -> Iterator[dict[str, Any]]:
    """Yield the rows and panels from top to bottom. The panels of a collapsed section are inside its row."""
    number, y = 0, 0
    for section in board.sections:
        number += 1
        row = {
            "id": number,
            "type": "row",
            "title": section.title,
            "collapsed": section.collapsed,
            "gridPos": {"h": 1, "w": GRID_WIDTH, "x": 0, "y": y},
            "panels": [],
        }
        placed = list(_placed(section, panels, number + 1, y + 1))
        number += len(placed)
        y = placed[-1]["gridPos"]["y"] + section.height
        if section.collapsed:
            yield row | {"panels": placed}
        else:
            yield row
            yield from placed


def _placed(section: Section, panels: Mapping[str, Panel], number: int, y: int) -> Iterator[dict[str, Any]]:
    """Yield the panels of a section from left to right, in as many lines as they need."""
    x = 0
    for title, width in section.panels.items():
        panel = panels[title]
        if x + width > GRID_WIDTH:
            x, y = 0, y + section.height
        dashed = [{"matcher": {"id": "byName", "options": legend}, "properties": [DASHED]} for legend in panel.dashed]
        yield {
            "id": number,
            "type": panel.kind,
            "title": title,
            "description": panel.description,
            "datasource": DATA_SOURCE,
            "gridPos": {"h": section.height, "w": width, "x": x, "y": y},
            "fieldConfig": {"defaults": _defaults(panel), "overrides": dashed},
            "options": OPTIONS[panel.kind],
            "targets": list(_targets(panel)),
        }
        number, x = number + 1, x + width


def _targets(panel: Panel) -> Iterator[dict[str, Any]]:
    for letter, (legend, expr) in zip(ascii_uppercase, panel.queries.items(), strict=False):
        yield {
            "refId": letter,
            "datasource": DATA_SOURCE,
            "editorMode": "code",
            "expr": expr,
            "legendFormat": legend,
            "range": True,
            "instant": False,
        }


def _defaults(panel: Panel) -> dict[str, Any]:
    """Return what holds for all series of a panel."""
    steps = [{"color": colour, "value": value} for value, colour in panel.colours.items()]
    defaults: dict[str, Any] = {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": steps}}
    if panel.kind == "timeseries":
        defaults |= {"min": 0, "color": {"mode": "palette-classic"}, "custom": _line(panel)}
    else:
        defaults["color"] = {"mode": "thresholds"}
    if panel.kind == "state-timeline":
        words = {str(value): {"text": text, "index": place} for place, (value, text) in enumerate(panel.words.items())}
        defaults["custom"] = {"fillOpacity": 70, "lineWidth": 0, "spanNulls": False}
        defaults["mappings"] = [{"type": "value", "options": words}]
    if panel.decimals is not None:
        defaults["decimals"] = panel.decimals
    if panel.max is not None:
        defaults["max"] = panel.max
    return defaults


def _line(panel: Panel) -> dict[str, Any]:
    """Return how lines are drawn. Gaps stay gaps."""
    line: dict[str, Any] = {
        "drawStyle": "line",
        "lineInterpolation": "linear",
        "lineWidth": 1,
        "fillOpacity": 40 if panel.stacked else 0,
        "showPoints": "never",
        "spanNulls": False,
        "axisSoftMin": 0,
    }
    return line | {"stacking": {"mode": "normal", "group": "A"}} if panel.stacked else line


def main() -> None:
    """Write every board, and delete the files of boards that there are no more."""
    known = load_boards()
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for board in known.boards:
        (FOLDER / f"{board.uid}.json").write_text(text_of(board, known.panels), encoding="utf-8")


if __name__ == "__main__":
    main()
