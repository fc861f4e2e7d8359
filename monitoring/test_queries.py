"""Every query of the dashboards, put to a real Prometheus with known samples, and what each panel must show."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from corda_lab.clients.prometheus import SERIES, Series
from grafana.boards import load_boards
from known_samples import GIB, IOU, MIB, NOTARISE, RESPONDER, RUN, SCRAPE_SECONDS, STRETCH_SECONDS, Loaded, Stretch
from panel_check import Lab, Shown, as_grafana_asks, empty_panels, queries
from rule_files import alternatives, load_rules, metrics_of
from signal_table import load_signals

PANELS = load_boards().panels
each_panel = pytest.mark.parametrize("title", PANELS)
NODES = ("Notary", "PartyA", "PartyB", "PartyC")
POSTGRES = Lab(shape={"DATABASE": "postgres"})


def _per_node(notary: float, partya: float, partyb: float, partyc: float) -> dict[str, float]:
    return {"Notary": notary, "PartyA": partya, "PartyB": partyb, "PartyC": partyc}


FLOWS = _per_node(8, 10, 8, 0)
"""Flows per second of each node, in the run with 2 errors/s."""

# What each panel must show at the end of the run with 2 errors/s: {legend: value}.
SHOWN_WITH_ERRORS: dict[str, dict[str, float]] = {
    # --- one number
    "Targets down": {"Targets down": 0},
    "Nodes ready": {"Nodes ready": 4},
    "Alerts firing": {"Alerts firing": 0},
    "Offered rate": {"Offered rate": 11.5},
    "Achieved rate": {"Achieved rate": 8},
    "Error share": {"Error share": 0.2},
    "Latency p95": {"Latency p95": 2},
    "Outstanding flows": {"Outstanding flows": 19},
    "Users": {"Users": 20},
    "Dropped arrivals": {"Dropped arrivals": 0.5},
    "Schedule lag p99": {"Schedule lag p99": 0.0198},
    "Busiest generator process": {"Busiest generator process": 0.2},
    # --- load
    "Offered and achieved rate": {"offered": 11.5, "achieved": 8, "completed by the bridge": 8},
    "Requests in flight": {"in flight": 19, "users or places": 20},
    "Schedule lag": {"p50": 0.01, "p99": 0.0198},
    "Arrivals dropped": {"dropped": 0.5},
    "CPU of the generator's processes": {"172.18.0.8:9646": 0.2},
    "Latency at the generator": {"p50": 1, "p95": 2, "p99": 3.6},
    "Latency by starting node, p95": {"PartyA": 2},
    "Latency at the bridge": {"flow p50": 0.5, "flow p95": 1, "flow p99": 1.8, "RPC p95": 0.015},
    "Errors": {
        "answers with an error": 2,
        "flows failed flow_exception": 1.5,
        "starts refused too-many-outstanding-flows": 0.5,
        "waits for a database connection timed out": 0,
    },
    "Flows at the bridge": {"started": 10, "completed": 8, "failed": 1.5, "refused": 0.5},
    "Outstanding flows at the bridge": _per_node(0, 19, 0, 0) | {"limit": 800},
    "Connections to the bridge": {"connections": 24, "limit": 1536},
    "Memory of requests": {"reserved": 40_000, "limit": 48 * MIB},
    "RPC connections of the bridge": _per_node(1, 1, 1, 1),
    # --- flows
    "Flows in flight per node": _per_node(3, 20, 18, 0),
    "Flows ended per node": FLOWS,
    "Flow duration at the node, p95": {
        f"Notary {NOTARISE}": 0.2,
        f"PartyA {IOU}": 1,
        f"PartyB {RESPONDER}": 0.6,
    },
    "Wait for the flow thread, p95": {"Notary": 0.02, "PartyA": 0.1, "PartyB": 0.06},
    "Flows failed since the node started": _per_node(0, 2 * STRETCH_SECONDS, 0, 100),
    "Flows inside each span": {"Iou": 0.8, "FinalityFlow": 3.2, "IouResponder": 2.4},
    "Mean time of a span": {"Iou": 0.5, "FinalityFlow": 0.4, "IouResponder": 0.3},
    "Spans": {"written file": 24, "dropped file": 0},
    "Checkpoints per second": {node: 4 * flows for node, flows in FLOWS.items()},
    # --- RPC and messages
    "RPC requests per second": {node: 2 * flows for node, flows in FLOWS.items()},
    "RPC requests waiting": _per_node(3, 3, 3, 3),
    "RPC connections": _per_node(2, 2, 2, 2),
    "Artemis queue depth": {
        f"{node} {queue}": depth for node in NODES for queue, depth in (("inbound", 5), ("peer", 3))
    },
    "Artemis messages per second": {
        f"{node} {queue}": messages * flows
        for node, flows in FLOWS.items()
        for queue, messages in (("inbound", 6), ("peer", 4))
    },
    "Messages waiting by peer": {
        f"{node} to {peer}": depth for node in NODES for peer, depth in (("PartyA", 1), ("PartyB", 2))
    },
    "Messages sent by peer": {
        f"{node} to {peer}": messages * flows
        for node, flows in FLOWS.items()
        for peer, messages in (("PartyA", 3), ("PartyB", 1))
    },
    # --- database
    "Database transactions per second": {node: 5 * flows for node, flows in FLOWS.items()},
    "Time a database connection is held, p95": _per_node(0.02, 0.02, 0.02, 0.02),
    "Database connections": {
        f"{node} {state}": count for node in NODES for state, count in (("active", 2), ("waiting", 1))
    }
    | {"pool size": 10},
    "Waits for a connection timed out": _per_node(0, 0, 0, 0),
    "Database size per node": _per_node(20 * MIB, 20 * MIB, 20 * MIB, 20 * MIB)
    | {"schema partya": 3 * MIB, "large objects of all": 9 * MIB},
    "Free disk": _per_node(50 * GIB, 50 * GIB, 50 * GIB, 50 * GIB),
    "PostgreSQL connections": {"partya active": 2, "partya idle": 8},
    "PostgreSQL transactions per second": {"committed": 200, "rolled back": 1},
    "PostgreSQL cache hits": {"hits": 0.9},
    "PostgreSQL locks": {"rowexclusivelock": 4},
    "PostgreSQL I/O": {"reading": 0.05, "writing": 0.02},
    "Rows written by schema": {"partya inserted": 30, "partya updated": 10, "partya deleted": 20},
    "Growth of the large objects": {"large objects of all": 0},
    # --- processor and memory
    "CPU per container": _per_node(0.26, 1.51, 1.01, 0.03)
    | {"bridge": 0.31, "locust": 0.21, "PostgreSQL": 0.5, "prometheus": 0.1, "postgres-exporter": 0.01},
    "Memory per container": _per_node(800 * MIB, 800 * MIB, 800 * MIB, 800 * MIB)
    | {
        "bridge": 250 * MIB,
        "locust": 120 * MIB,
        "PostgreSQL": 300 * MIB,
        "prometheus": 50 * MIB,
        "postgres-exporter": 30 * MIB,
    },
    "CPU per node": _per_node(0.25, 1.5, 1, 0.02),
    "Heap per node": _per_node(0.4, 0.4, 0.4, 0.4),
    "Heap kept by collections": _per_node(0.15, 0.15, 0.15, 0.15),
    "GC time share per node": _per_node(0.04, 0.04, 0.04, 0.04),
    "Threads per node": _per_node(120, 120, 120, 120),
    "Memory of the node's container": _per_node(0.4, 0.4, 0.4, 0.4),
    "Bytes in and out": {f"{node} in": 2000 * flows for node, flows in FLOWS.items()}
    | {f"{node} out": 1000 * flows for node, flows in FLOWS.items()},
    "CPU time withheld": _per_node(0, 0, 0, 0),
    "CPU time withheld from containers": {f"corda {node}": 0.0 for node in NODES} | {"bridge": 0, "locust": 0},
    "Memory as a share of the limit": {f"corda {node}": 0.4 for node in NODES} | {"bridge": 0.25, "locust": 0.25},
    "CPU steal": {"stolen": 0.02},
    "Scrape time": {f"corda {node}": 0.05 for node in NODES}
    | {"bridge": 0.01, "locust": 0.01, "postgres": 0.02, "prometheus": 0.01},
    # --- runs
    "Runs and steps": {f"{RUN}: iou on PartyA, closed, 20 users": 1},
    "Faults": {"fault kill notary": 1},
    "Three counts of the same flows": {"generator": 8, "bridge": 8, "nodes": 8},
    "Restarts": _per_node(0, 0, 0, 0) | {"bridge": 0},
    "Alerts": dict.fromkeys(PANELS["Alerts"].queries, 0),
}


def _answers(loaded: Loaded, title: str, stretch: Stretch) -> dict[str, Series]:
    """Return what Grafana would draw in a panel: legend → series."""
    drawn: dict[str, Series] = {}
    for template, expr in PANELS[title].queries.items():
        found = loaded.prometheus.range(
            as_grafana_asks(expr), started_at=stretch.start, ended_at=stretch.end, step_seconds=SCRAPE_SECONDS
        )
        assert found, expr
        for series in found:
            legend = _legend(template, series.labels)
            assert legend not in drawn, f"two series are called {legend}"
            drawn[legend] = series
    return drawn


def _legend(template: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"{{(\w+)}}", lambda label: labels.get(label[1], ""), template).strip()


def test_every_panel_has_a_known_answer() -> None:
    assert PANELS.keys() == SHOWN_WITH_ERRORS.keys()


@each_panel
def test_panel_shows_what_was_recorded(loaded: Loaded, title: str) -> None:
    stretch = loaded.with_errors
    last = {legend: series.points[-1] for legend, series in _answers(loaded, title, stretch).items()}
    shown = {legend: value for legend, (when, value) in last.items() if when == stretch.end}
    assert shown == pytest.approx(SHOWN_WITH_ERRORS[title])


@each_panel
def test_no_query_is_empty_while_a_faultless_load_runs(loaded: Loaded, title: str) -> None:
    drawn = _answers(loaded, title, loaded.faultless)
    assert not [legend for legend, series in drawn.items() if math.isnan(series.points[-1][1])]
    if title in ("Errors", "Error share", "Targets down", "Alerts", "Alerts firing", "Faults"):
        assert {value for series in drawn.values() for _, value in series.points} == {0}


def _empty(loaded: Loaded, shown: list[Shown], lab: Lab) -> list[str]:
    stretch = loaded.faultless
    return empty_panels(loaded.prometheus, shown, lab, started_at=stretch.start, ended_at=stretch.end)


@pytest.mark.parametrize("database", ["h2", "postgres"])
def test_nothing_is_missed_where_all_metrics_arrive(loaded: Loaded, database: str) -> None:
    assert _empty(loaded, list(queries()), Lab(shape={"DATABASE": database})) == []


def test_a_metric_that_disappears_is_told_with_the_panels_that_need_it(loaded: Loaded) -> None:
    gone = replace(load_signals()[0], metric="gone", kind="gauge", present="always")
    # Others show another metric, or 0, in its place.
    needing = [one for one in queries() if len(metrics_of(one.expr)) == len(list(alternatives(one.expr))) == 1]
    changed = [replace(one, expr=_without(one.expr, *metrics_of(one.expr))) for one in needing]
    stretch = loaded.faultless
    missing = empty_panels(
        loaded.prometheus,
        changed,
        POSTGRES,
        started_at=stretch.start,
        ended_at=stretch.end,
        signals=[*load_signals(), gone],
    )
    assert missing == [f"{one.place}: no result of {one.expr}" for one in changed]
    assert "Corda node: Threads per node: {{node}}" in {one.place for one in changed}


def _without(expr: str, metric: str) -> str:
    return re.sub(rf"(?<![\w:]){metric}(?![\w:])", "gone", expr)


def test_no_alert_condition_holds_while_a_load_runs(loaded: Loaded) -> None:
    for stretch in (loaded.faultless, loaded.with_errors):
        for rule in load_rules():
            if rule.is_alert:
                found = loaded.prometheus.range(
                    rule.expr, started_at=stretch.start, ended_at=stretch.end, step_seconds=SCRAPE_SECONDS
                )
                assert found == [], rule.name


def test_alerts_are_read_from_a_real_prometheus(loaded: Loaded) -> None:
    assert loaded.prometheus.alerts() == []


def test_every_series_that_a_run_stores_is_there(loaded: Loaded) -> None:
    stretch = loaded.with_errors
    stored = loaded.prometheus.run_metrics(started_at=stretch.start, ended_at=stretch.end)
    # Corda's JVM counts what it allocates; no panel shows it, so it is no signal.
    assert SERIES.keys() - set(stored["name"].unique()) == {"node_allocated_bytes_total"}
    cpu = stored.filter((stored["name"] == "node_cpu_cores") & (stored["node"] == "PartyA")).sort("time")
    assert cpu["value"][-1] == pytest.approx(SHOWN_WITH_ERRORS["CPU per node"]["PartyA"])
