"""Makes Grafana's JSON of a board: positions, ids, the variables, links and annotations that all boards share."""

import json
from collections.abc import Iterator
from string import ascii_uppercase
from typing import Any

from grafana.boards.model import GRID_WIDTH, Board, Panel, Query, Section

TAG = "corda-lab"
"""The tag of all boards, by which they find one another."""
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
SCHEMA_VERSION = 41
"""That of Grafana 12.0."""
DASHED = {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 6]}}


def text_of(board: Board) -> str:
    """Return the content of the file of a board."""
    return json.dumps(render(board), indent=2, ensure_ascii=False) + "\n"


def render(board: Board) -> dict[str, Any]:
    """Return a board as Grafana reads it from a file."""
    return {
        "uid": board.uid,
        "title": board.title,
        "description": board.description,
        "tags": [TAG],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        # The source is Python. A copy of a board can be edited.
        "editable": False,
        "graphTooltip": 1,
        "liveNow": False,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "timepicker": {"refresh_intervals": ["5s", "15s", "1m", "5m"]},
        "timezone": "browser",
        "fiscalYearStartMonth": 0,
        "weekStart": "",
        "links": [_links()],
        "annotations": {"list": list(_annotations())},
        "templating": {"list": [_data_source_variable(), _node_variable()]},
        "panels": list(_panels(board)),
    }


def _links() -> dict[str, Any]:
    """The links to all boards, which keep the time range and the variables."""
    return {
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


def _data_source_variable() -> dict[str, Any]:
    return {
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


def _node_variable() -> dict[str, Any]:
    query = 'label_values(up{job="corda"}, node)'
    return {
        "name": "node",
        "label": "Node",
        "description": "The Corda nodes to show.",
        "type": "query",
        "datasource": DATA_SOURCE,
        "definition": query,
        "query": {"qryType": 1, "query": query, "refId": "node"},
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


def _panels(board: Board) -> Iterator[dict[str, Any]]:
    """Yield the rows and panels from top to bottom. The panels of a collapsed section are inside its row."""
    number, y = 0, 0
    for section in board.sections:
        number += 1
        row = _row(section, number, y)
        placed = list(_placed(section, number + 1, y + 1))
        number += len(placed)
        y = max(panel["gridPos"]["y"] for panel in placed) + section.height
        if section.collapsed:
            yield row | {"panels": placed}
        else:
            yield row
            yield from placed


def _row(section: Section, number: int, y: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": "row",
        "title": section.title,
        "collapsed": section.collapsed,
        "gridPos": {"h": 1, "w": GRID_WIDTH, "x": 0, "y": y},
        "panels": [],
    }


def _placed(section: Section, number: int, y: int) -> Iterator[dict[str, Any]]:
    """Yield the panels of a section from left to right, in as many lines as they need."""
    x = 0
    for panel in section.panels:
        if x + panel.width > GRID_WIDTH:
            x, y = 0, y + section.height
        yield {
            "id": number,
            "type": panel.kind,
            "title": panel.title,
            "description": panel.description,
            "datasource": DATA_SOURCE,
            "gridPos": {"h": section.height, "w": panel.width, "x": x, "y": y},
            "fieldConfig": {"defaults": _defaults(panel), "overrides": [_dashed(name) for name in panel.dashed]},
            "options": _OPTIONS[panel.kind](),
            "targets": [_target(query, letter) for query, letter in zip(panel.queries, ascii_uppercase, strict=False)],
        }
        number, x = number + 1, x + panel.width


def _target(query: Query, letter: str) -> dict[str, Any]:
    return {
        "refId": letter,
        "datasource": DATA_SOURCE,
        "editorMode": "code",
        "expr": query.expr,
        "legendFormat": query.legend,
        "range": True,
        "instant": False,
    }


def _dashed(legend: str) -> dict[str, Any]:
    return {"matcher": {"id": "byName", "options": legend}, "properties": [DASHED]}


def _defaults(panel: Panel) -> dict[str, Any]:
    """Return what holds for all series of a panel."""
    steps = [{"color": colour, "value": value} for value, colour in panel.colours]
    found: dict[str, Any] = {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": steps}}
    if panel.kind == "timeseries":
        found |= {"min": 0, "color": {"mode": "palette-classic"}, "custom": _line(panel)}
    else:
        found["color"] = {"mode": "thresholds"}
    if panel.kind == "state-timeline":
        found |= {"custom": {"fillOpacity": 70, "lineWidth": 0, "spanNulls": False}, "mappings": [_mapping(panel)]}
    if panel.decimals is not None:
        found["decimals"] = panel.decimals
    if panel.max is not None:
        found["max"] = panel.max
    return found


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


def _mapping(panel: Panel) -> dict[str, Any]:
    words = {str(value): {"text": text, "index": place} for place, (value, text) in enumerate(panel.words.items())}
    return {"type": "value", "options": words}


def _stat_options() -> dict[str, Any]:
    return {
        "colorMode": "value",
        "graphMode": "area",
        "justifyMode": "auto",
        "orientation": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "textMode": "value",
    }


def _timeseries_options() -> dict[str, Any]:
    return {
        "legend": {"calcs": ["mean", "max"], "displayMode": "table", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def _state_timeline_options() -> dict[str, Any]:
    return {
        "alignValue": "left",
        "mergeValues": True,
        "rowHeight": 0.9,
        "showValue": "never",
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
        "tooltip": {"mode": "single", "sort": "none"},
    }


_OPTIONS = {
    "stat": _stat_options,
    "timeseries": _timeseries_options,
    "state-timeline": _state_timeline_options,
}
