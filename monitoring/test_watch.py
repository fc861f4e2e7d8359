"""The one query of ``lab status --watch``, answered by a real Prometheus with known samples."""

from collections.abc import Mapping

import pytest

from corda_lab.clients.watch import HISTORY_QUERY, LOAD_SERIES, NODE_SERIES, QUERY, node_states, values_by_node
from known_samples import MIB, SCRAPE_SECONDS, Loaded, Stretch

NODES = ("Notary", "PartyA", "PartyB", "PartyC")
OF_NODES: Mapping[str, tuple[float, float, float, float]] = {
    "node_up": (1, 1, 1, 1),
    "node_flows_in_flight": (3, 20, 18, 0),
    "node_flows_ended_per_second": (8, 10, 8, 0),
    "node_cpu_cores": (0.25, 1.5, 1, 0.02),
    "node_heap_used_bytes": (400 * MIB,) * 4,
    "node_heap_max_bytes": (1000 * MIB,) * 4,
    "artemis_queue_messages": (8, 8, 8, 8),
    "node_rpc_queue_messages": (3, 3, 3, 3),
}
OF_LAB: Mapping[str, Mapping[str, float]] = {
    "bridge_completed_per_second": {"PartyA": 8},
    "bridge_failed_per_second": {"PartyA": 1.5},
    "bridge_rejected_per_second": {"PartyA": 0.5},
    "bridge_limit": {"": 800},
    "locust_users": {"": 20},
    "load_started_per_second": {"": 11},
    "load_achieved_per_second": {"": 8},
    "load_errors_per_second": {"": 2},
    "load_info": {"PartyA": 1},
}
OPEN_LOAD_ONLY = {"load_dropped_per_second", "load_lag_p99_seconds"}


def answer(loaded: Loaded, query: str, stretch: Stretch) -> dict[str, dict[str, float]]:
    """The values of a query at the end of a stretch, by series and node."""
    end = stretch.end
    found = loaded.prometheus.range(query, started_at=end, ended_at=end, step_seconds=SCRAPE_SECONDS)
    return values_by_node((series.labels, series.points[-1][1]) for series in found)


def test_one_query_has_the_values_of_every_node(loaded: Loaded) -> None:
    found = answer(loaded, QUERY, loaded.with_errors)

    assert OF_NODES.keys() == NODE_SERIES.keys()
    for name, values in OF_NODES.items():
        assert found[name] == pytest.approx(dict(zip(NODES, values, strict=True))), name


def test_the_query_has_the_values_of_bridge_and_load(loaded: Loaded) -> None:
    found = answer(loaded, QUERY, loaded.with_errors)

    assert OF_LAB.keys() | OPEN_LOAD_ONLY == LOAD_SERIES.keys()
    for name, values in OF_LAB.items():
        assert found[name] == pytest.approx(values), name


def test_the_history_has_a_value_of_every_node(loaded: Loaded) -> None:
    found = answer(loaded, HISTORY_QUERY, loaded.with_errors)[""]
    assert found == pytest.approx(dict(zip(NODES, OF_NODES["node_flows_ended_per_second"], strict=True)))


def test_the_answer_is_the_state_of_every_node(loaded: Loaded) -> None:
    states = node_states(None, answer(loaded, QUERY, loaded.faultless))

    assert [state.name for state in states] == list(NODES)
    assert {state.health for state in states} == {"not known"}, "only the bridge knows whether they are ready"
    assert [state.heap_percent for state in states] == pytest.approx([40] * 4)
    assert [state.queue_messages for state in states] == pytest.approx([11] * 4)
