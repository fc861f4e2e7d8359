"""The state of nodes from what the bridge and Prometheus answer, or do not answer."""

import math

from corda_lab.clients.bridge import Node
from corda_lab.clients.watch import NODE_SERIES, node_states, one_query, values_by_node

NODES = {
    "Notary": Node("Notary", "O=Notary", 12, is_ready=True, is_notary=True, outstanding_flows=0),
    "PartyA": Node("PartyA", "O=PartyA", 12, is_ready=False, is_notary=False, outstanding_flows=7),
}
SERIES = {
    "node_up": {"Notary": 1.0, "PartyA": 0.0},
    "node_flows_in_flight": {"Notary": 2.0},
    "node_heap_used_bytes": {"Notary": 400.0},
    "node_heap_max_bytes": {"Notary": 1000.0},
    "artemis_queue_messages": {"Notary": 8.0},
    "node_rpc_queue_messages": {"Notary": 3.0},
}


def test_one_query_asks_for_every_series_and_names_it() -> None:
    query = one_query({"a": "sum(x)", "b": 'y{c="d"}'})

    assert query == 'label_replace(sum(x), "series", "a", "", "") or label_replace(y{c="d"}, "series", "b", "", "")'
    assert all(f'"{name}"' in one_query(NODE_SERIES) for name in NODE_SERIES)


def test_values_that_differ_only_in_other_labels_are_added_up() -> None:
    samples = [
        ({"series": "queue", "node": "PartyA", "queue": "inbound"}, 5.0),
        ({"series": "queue", "node": "PartyA", "queue": "peer"}, 3.0),
        ({"series": "queue", "node": "PartyB", "queue": "peer"}, 1.0),
        ({"series": "cpu", "node": "PartyA"}, 0.5),
        ({"series": "cpu", "node": "PartyB"}, math.nan),
        ({"series": "users"}, 4.0),
    ]

    assert values_by_node(samples) == {
        "queue": {"PartyA": 8.0, "PartyB": 1.0},
        "cpu": {"PartyA": 0.5},
        "users": {"": 4.0},
    }


def test_a_node_has_what_the_bridge_and_prometheus_say() -> None:
    notary, party = node_states(NODES, SERIES)

    assert (notary.health, notary.is_healthy, notary.flows_in_flight, notary.queue_messages) == ("ready", True, 2, 11)
    assert notary.heap_percent == 40
    assert (party.health, party.is_healthy, party.outstanding_flows) == ("not ready, not scraped", False, 7)
    assert (party.flows_in_flight, party.heap_percent, party.queue_messages) == (None, None, None)


def test_without_the_bridge_the_nodes_are_those_that_prometheus_scrapes() -> None:
    notary, party = node_states(None, SERIES)

    assert [notary.name, party.name] == ["Notary", "PartyA"]
    assert [notary.health, party.health] == ["not known", "not known, not scraped"]
    assert (notary.flows_in_flight, notary.outstanding_flows) == (2, None)
    assert not notary.is_healthy


def test_without_prometheus_a_node_has_what_the_bridge_says() -> None:
    notary, party = node_states(NODES, {})

    assert [notary.health, party.health] == ["ready", "not ready"]
    assert (party.outstanding_flows, party.cpu_cores) == (7, None)


def test_without_both_there_are_no_nodes() -> None:
    assert node_states(None, {}) == []


def test_the_queues_of_a_node_without_an_rpc_queue_are_those_of_its_peers() -> None:
    [state] = node_states({"Notary": NODES["Notary"]}, {"artemis_queue_messages": {"Notary": 8.0}})
    assert state.queue_messages == 8
