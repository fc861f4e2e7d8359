"""One look at a lab whose bridge and Prometheus answer on real sockets, or do not."""

import math
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from corda_lab.clients.bridge import Node
from corda_lab.clients.watch import (
    ANSWER_SECONDS_MAX,
    NODE_SERIES,
    LoadState,
    Watch,
    node_states,
    one_query,
    values_by_node,
)
from corda_lab.lab.doctor import free_ports
from support.served import served
from support.watched import NOTARY, PARTY, Lab


@contextmanager
def watching(lab: Lab, *, bridge: bool = True, prometheus: bool = True) -> Iterator[Watch]:
    """Watch a lab in which one of both may be away."""
    with served(lab.answer) as port:
        nobody = f"http://127.0.0.1:{free_ports(1)[0]}"
        url = f"http://127.0.0.1:{port}"
        with closing(Watch.at(url if bridge else nobody, "", url if prometheus else nobody)) as watch:
            yield watch


def test_a_look_has_every_part_of_the_lab() -> None:
    lab = Lab()
    with watching(lab) as watch:
        view = watch.look()

    assert (view.bridge_problem, view.prometheus_problem, view.is_down) == ("", "", False)
    notary, party = view.nodes
    assert (notary.name, notary.health, notary.flows_in_flight, notary.queue_messages) == (NOTARY, "ready", 2, 5)
    assert (party.name, party.health, party.heap_percent, party.queue_messages) == (PARTY, "not ready", 90, 11)
    assert party.last_failure is not None
    assert party.last_failure.text == "Iou: FlowException: below 100"
    bridge = view.bridge
    assert (bridge.outstanding_flows, bridge.outstanding_flows_max_per_node) == (12, 800)
    assert (bridge.completed_per_second, bridge.failed_per_second, bridge.rejected_per_second) == (3.5, 0.5, 0.25)
    assert view.load == LoadState(("iou on PartyA (poisson, 5/s)",), 20, 5, 3.5, 0.5, 0.002)
    assert view.alerts == ()


def test_a_look_is_a_few_requests() -> None:
    lab = Lab()
    with watching(lab) as watch:
        watch.look()
        watch.look()
    assert sorted(lab.asked) == sorted(2 * ["/v1/nodes", "/api/v1/query", "/api/v1/query_range", "/api/v1/rules"])


def test_the_history_has_a_place_for_every_scrape() -> None:
    with watching(Lab()) as watch:
        history = watch.look().history

    assert list(history) == [PARTY]
    assert list(history[PARTY]) == [1.0, *([None] * 22), 2.0, 4.0]


def test_alerts_that_fire_are_told() -> None:
    entry: dict[str, object] = {
        "labels": {"alertname": "HeapFull", "node": PARTY},
        "annotations": {"summary": "PartyA fills its heap."},
        "state": "firing",
        "activeAt": "2026-11-20T12:00:00Z",
    }
    with watching(Lab(alerts=[entry])) as watch:
        [alert] = watch.look().alerts
    assert (alert.name, alert.node, alert.summary) == ("HeapFull", PARTY, "PartyA fills its heap.")


def test_without_prometheus_there_is_what_the_bridge_knows() -> None:
    with watching(Lab(), prometheus=False) as watch:
        view = watch.look()

    assert [node.health for node in view.nodes] == ["ready", "not ready"]
    assert (view.bridge.outstanding_flows, view.nodes[1].flows_in_flight, view.load) == (12, None, None)
    assert "does not answer" in view.prometheus_problem
    assert not view.is_down


def test_without_the_bridge_there_is_what_prometheus_knows() -> None:
    with watching(Lab(), bridge=False) as watch:
        view = watch.look()

    assert [(node.name, node.health, node.flows_in_flight) for node in view.nodes] == [
        (NOTARY, "not known", 2),
        (PARTY, "not known", 12),
    ]
    assert (view.bridge.outstanding_flows, view.bridge.completed_per_second) == (None, 3.5)
    assert "does not answer" in view.bridge_problem


def test_without_both_the_lab_is_down() -> None:
    with watching(Lab(), bridge=False, prometheus=False) as watch:
        view = watch.look()
    assert view.is_down
    assert view.nodes == ()


def test_a_part_that_takes_too_long_is_not_waited_for() -> None:
    lab = Lab()

    def slow(path: str) -> object:
        if path.startswith("/v1/nodes"):
            time.sleep(ANSWER_SECONDS_MAX + 1)
        return lab.answer(path)

    with served(slow) as port:
        url = f"http://127.0.0.1:{port}"
        with closing(Watch.at(url, "", url)) as watch:
            view = watch.look()
    assert "does not answer" in view.bridge_problem
    assert view.prometheus_problem == ""


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


def test_the_queues_of_a_node_without_an_rpc_queue_are_those_of_its_peers() -> None:
    node = Node("Notary", "O=Notary", 12, is_ready=True, is_notary=True, outstanding_flows=0)
    [state] = node_states({"Notary": node}, {"artemis_queue_messages": {"Notary": 8.0}})
    assert state.queue_messages == 8
