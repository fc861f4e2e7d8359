"""Every query of the dashboard, evaluated by a real Prometheus with known samples, and what each panel must show."""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from corda_lab.clients.prometheus import Prometheus, Series
from known_samples import IOU, MIB, NOTARISE, RESPONDER, SCRAPE_SECONDS, STRETCH_SECONDS, Loaded, Stretch

DASHBOARD = json.loads((Path(__file__).parent / "grafana/dashboards/lab-overview.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
# The values of Grafana's variables: four scrape intervals, and the value of "All".
VARIABLES = {"$__rate_interval": f"{4 * SCRAPE_SECONDS}s", "$node": ".*"}


def _per_node(notary: float, partya: float, partyb: float, partyc: float) -> dict[str, float]:
    return {"Notary": notary, "PartyA": partya, "PartyB": partyb, "PartyC": partyc}


# What each panel must show at the end of the run with 2 errors/s: {legend: value}.
SHOWN_WITH_ERRORS: dict[str, dict[str, float]] = {
    "Targets down": {"Targets down": 0},
    "Nodes ready": {"Nodes ready": 4},
    "Users": {"Users": 20},
    "Offered rate": {"Offered rate": 11},
    "Achieved rate": {"Achieved rate": 8},
    "Error share": {"Error share": 0.2},
    "Latency p95": {"Latency p95": 2},
    "Outstanding flows": {"Outstanding flows": 19},
    "Offered and achieved rate": {"offered": 11, "achieved": 8, "completed by the bridge": 8},
    "Errors": {
        "answers with an error": 2,
        "flows failed flow_exception": 1.5,
        "starts refused too-many-outstanding-flows": 0.5,
        "waits for a database connection timed out": 0,
    },
    "Latency at the generator": {"p50": 1, "p95": 2, "p99": 3.6},
    "Latency at the bridge": {"flow p50": 0.5, "flow p95": 1, "flow p99": 1.8, "RPC p95": 0.015},
    "Flows in flight per node": _per_node(3, 20, 18, 0),
    "Outstanding flows at the bridge": _per_node(0, 19, 0, 0) | {"limit": 800},
    "Flows ended per node": _per_node(8, 10, 8, 0),
    "Flow duration at the node, p95": {
        f"Notary {NOTARISE}": 0.2,
        f"PartyA {IOU}": 1,
        f"PartyB {RESPONDER}": 0.6,
    },
    "Wait for the flow thread, p95": {"Notary": 0.02, "PartyA": 0.1, "PartyB": 0.06},
    "Flows failed since the node started": _per_node(0, 2 * STRETCH_SECONDS, 0, 100),
    "Mean time by stage, initiators": {"Iou sign": 0.1, "Iou notarise": 0.4},
    "Mean time by stage, responders": {"IouResponder sign": 0.1, "IouResponder record": 0.4},
    "Time of a stage, p95": {
        "Iou initiator sign": 0.235,
        "Iou initiator notarise": 0.475,
        "IouResponder responder sign": 0.235,
        "IouResponder responder record": 0.475,
    },
    "Flow time at the node": {
        f"{flow} {quantile}": seconds
        for flow in ("Iou initiator", "IouResponder responder")
        for quantile, seconds in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
    },
    "Stage rows": {"written": 16, "dropped": 0},
    "Artemis queue depth": {
        f"{node} {queue}": depth
        for node in ("Notary", "PartyA", "PartyB", "PartyC")
        for queue, depth in (("inbound", 5), ("peer", 3))
    },
    "Artemis messages per second": {
        f"{node} {queue}": messages * flows
        for node, flows in _per_node(8, 10, 8, 0).items()
        for queue, messages in (("P2P inbound", 6), ("P2P peer", 4), ("RPC server", 2))
    },
    "Checkpoints per second": _per_node(32, 40, 32, 0),
    "Database transactions per second": _per_node(40, 50, 40, 0),
    "Time a database connection is held, p95": _per_node(0.02, 0.02, 0.02, 0.02),
    "Database connections": {
        f"{node} {state}": count
        for node in ("Notary", "PartyA", "PartyB", "PartyC")
        for state, count in (("active", 2.0), ("waiting", 1.0))
    }
    | {"pool size": 10.0},
    "CPU per node": _per_node(0.25, 1.5, 1, 0.02),
    "Heap per node": _per_node(0.4, 0.4, 0.4, 0.4),
    "GC time share per node": _per_node(0.04, 0.04, 0.04, 0.04),
    "Resident memory per node": _per_node(900 * MIB, 900 * MIB, 900 * MIB, 900 * MIB),
    "CPU of the lab itself": {"bridge": 0.3, "locust": 0.2, "postgres": 0.01, "prometheus": 0.1},
    "Resident memory of the lab itself": {
        "bridge": 200 * MIB,
        "locust": 100 * MIB,
        "postgres": 30 * MIB,
        "prometheus": 50 * MIB,
    },
    "Scrape time": {f"corda {node}": 0.05 for node in ("Notary", "PartyA", "PartyB", "PartyC")}
    | {"bridge": 0.01, "locust": 0.01, "postgres": 0.02, "prometheus": 0.01},
    "PostgreSQL connections": {"partya active": 2, "partya idle": 8},
    "PostgreSQL transactions per second": {"committed": 200, "rolled back": 1},
    "PostgreSQL cache hits": {"hits": 0.9},
    "PostgreSQL locks": {"rowexclusivelock": 4},
    "PostgreSQL I/O": {"reading": 0.05, "writing": 0.02},
    "PostgreSQL size per node": {"partya": 3 * MIB, "large objects of all": 9 * MIB},
}


def _answer(prometheus: Prometheus, target: dict[str, Any], stretch: Stretch) -> dict[str, Series]:
    """Return what Grafana would draw for a query: legend → series."""
    query = target["expr"]
    for variable, value in VARIABLES.items():
        query = query.replace(variable, value)
    drawn: dict[str, Series] = {}
    for series in prometheus.range(query, started_at=stretch.start, ended_at=stretch.end, step_seconds=SCRAPE_SECONDS):
        legend = _legend(target["legendFormat"], series.labels)
        assert legend not in drawn, f"two series are called {legend}"
        drawn[legend] = series
    return drawn


def _legend(template: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"{{(\w+)}}", lambda label: labels.get(label[1], ""), template).strip()


def test_every_panel_has_a_known_answer() -> None:
    assert {panel["title"] for panel in PANELS} == SHOWN_WITH_ERRORS.keys()


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_panel_shows_what_was_recorded(loaded: Loaded, panel: dict[str, Any]) -> None:
    stretch = loaded.with_errors
    last = {
        legend: series.points[-1]
        for target in panel["targets"]
        for legend, series in _answer(loaded.prometheus, target, stretch).items()
    }
    shown = {legend: value for legend, (when, value) in last.items() if when == stretch.end}
    assert shown == pytest.approx(SHOWN_WITH_ERRORS[panel["title"]])


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_no_query_is_empty_while_a_faultless_load_runs(loaded: Loaded, panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        answer = _answer(loaded.prometheus, target, loaded.faultless)
        assert answer, target["expr"]
        assert not [legend for legend, series in answer.items() if math.isnan(series.points[-1][1])]


def test_a_faultless_load_shows_errors_as_zero(loaded: Loaded) -> None:
    for title in ("Errors", "Error share", "Targets down"):
        panel = next(panel for panel in PANELS if panel["title"] == title)
        for target in panel["targets"]:
            for series in _answer(loaded.prometheus, target, loaded.faultless).values():
                assert {value for _, value in series.points} == {0}
