"""What the metrics pages of bridge and nodes say, in Prometheus's text format."""

import json
from pathlib import Path

import pytest

from lab_load.counters import completed, node_addresses, node_page, samples, started_at

NODE = """\
# HELP corda_flow_duration_seconds_count Flows of a class that ended, by outcome.
# TYPE corda_flow_duration_seconds_count unknown
corda_flow_duration_seconds_count{flow="org.cordalab.flows.Iou",outcome="failure"} 3.0
corda_flow_duration_seconds_count{flow="org.cordalab.flows.Iou",outcome="success"} 1200.0
corda_flow_duration_seconds{flow="org.cordalab.flows.Iou",quantile="0.50"} 0.25
# TYPE corda_flows_in_flight gauge
corda_flows_in_flight 2.0
# TYPE corda_spans counter
corda_spans_total{outcome="dropped",to="file"} 4.0
corda_spans_total{outcome="written",to="file"} 1199.0
process_start_time_seconds 1.795531e9
jvm_threads_current NaN
"""

BRIDGE = """\
# TYPE bridge_flows_completed_total counter
bridge_flows_completed_total{flow="Iou",node="PartyA"} 5.0
bridge_flows_completed_total{flow="org.cordalab.flows.Iou",node="PartyA"} 1.2E3
bridge_flows_completed_total{flow="org.cordalab.flows.Iou",node="PartyB"} 7.0
process_start_time_seconds 1.795532E9
"""


def test_the_page_of_a_node_is_read() -> None:
    page = node_page(samples(NODE))

    assert page.in_flight == 2
    assert page.counters.succeeded == {"org.cordalab.flows.Iou": 1200}
    assert (page.counters.started_at, page.counters.spans_dropped) == (1_795_531_000.0, 4)


def test_a_page_that_does_not_say_what_is_in_flight_is_none_of_a_node() -> None:
    with pytest.raises(ValueError, match="there is no corda_flows_in_flight"):
        node_page(samples(BRIDGE))


def test_the_page_of_the_bridge_is_read() -> None:
    found = samples(BRIDGE)

    assert completed(found) == {
        "PartyA": {"Iou": 5, "org.cordalab.flows.Iou": 1200},
        "PartyB": {"org.cordalab.flows.Iou": 7},
    }
    assert started_at(found) == 1_795_532_000.0
    assert started_at([]) is None


def test_the_addresses_are_those_that_prometheus_scrapes(tmp_path: Path) -> None:
    assert node_addresses(tmp_path) == {}
    file = tmp_path / "targets.json"
    targets = [
        {"targets": ["partya:9404"], "labels": {"node": "PartyA"}},
        {"targets": ["bridge:8080"], "labels": {"node": "PartyB", "__metrics_path__": "/stub/PartyB"}},
    ]
    file.write_text(json.dumps(targets), encoding="utf-8")
    assert node_addresses(tmp_path) == {
        "PartyA": "http://partya:9404/metrics",
        "PartyB": "http://bridge:8080/stub/PartyB",
    }
    file.write_text("[5]", encoding="utf-8")
    assert node_addresses(tmp_path) == {}
