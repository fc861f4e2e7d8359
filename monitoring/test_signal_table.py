"""The check of the signal table, on a real Prometheus with known samples."""

import re
from dataclasses import replace

import pytest

from known_samples import STRETCH_SECONDS, Loaded, run_samples
from signal_table import Moment, Presence, Signal, load_signals, signal_faults


def signal(job: str, metric: str) -> Signal:
    return next(signal for signal in load_signals() if (signal.job, signal.metric) == (job, metric))


def faults_of(loaded: Loaded, signal: Signal, moment: Moment = "load") -> list[str]:
    return signal_faults(loaded.prometheus, [signal], moment, STRETCH_SECONDS)


def test_the_samples_are_the_signals_of_the_table() -> None:
    sampled = {(known.labels["job"], known.name) for known in run_samples(failed=2)}
    parts = {"histogram": ("_bucket", "_count", "_sum"), "counter": ("",), "gauge": ("",)}
    listed = {(signal.job, signal.metric + part) for signal in load_signals() for part in parts[signal.kind]}
    assert sampled == listed


def test_a_lab_under_load_has_every_signal(loaded: Loaded) -> None:
    assert (
        signal_faults(loaded.prometheus, load_signals(), "load", STRETCH_SECONDS, shape={"DATABASE": "postgres"}) == []
    )


def test_a_metric_that_does_not_arrive_is_a_fault(loaded: Loaded) -> None:
    absent = replace(signal("bridge", "bridge_node_ready"), metric="bridge_node_reddy")
    assert faults_of(loaded, absent) == ["bridge_node_reddy of job bridge: does not arrive"]


def test_a_metric_of_another_job_does_not_count(loaded: Loaded) -> None:
    elsewhere = replace(signal("bridge", "bridge_node_ready"), job="locust")
    assert faults_of(loaded, elsewhere) == ["bridge_node_ready of job locust: does not arrive"]


@pytest.mark.parametrize(("present", "moment"), [("load", "rest"), ("fault", "rest"), ("fault", "load")])
def test_a_metric_may_be_missing_before_its_time(loaded: Loaded, present: Presence, moment: Moment) -> None:
    absent = replace(signal("bridge", "bridge_node_ready"), metric="bridge_node_reddy", present=present)
    assert faults_of(loaded, absent, moment) == []


def test_a_metric_that_older_nodes_lack_is_expected_from_newer_ones_only(loaded: Loaded) -> None:
    absent = replace(signal("corda", "corda_node_status"), metric="corda_node_statusses")
    assert signal_faults(loaded.prometheus, [absent], "load", STRETCH_SECONDS, platform=11) == []
    assert faults_of(loaded, absent) == ["corda_node_statusses of job corda: does not arrive"]


def test_a_metric_that_a_node_does_not_have_is_a_fault_when_all_must_have_it(loaded: Loaded) -> None:
    partial = replace(signal("corda", "corda_flow_duration_seconds_count"), everywhere=True)
    assert faults_of(loaded, partial) == [
        "corda_flow_duration_seconds_count of job corda: does not arrive from partyc:9404"
    ]


def test_a_counter_that_stands_still_under_load_is_a_fault(loaded: Loaded) -> None:
    still = replace(signal("corda", "hikari_connection_timeouts_total"), present="load")
    assert faults_of(loaded, still) == ["hikari_connection_timeouts_total of job corda: does not rise under load"]
    assert faults_of(loaded, still, "rest") == []


def test_a_label_that_the_table_does_not_know_is_a_fault(loaded: Loaded) -> None:
    known = signal("locust", "locust_requests_started_total")
    narrower = replace(known, labels={"workload": known.labels["workload"]})
    assert faults_of(loaded, narrower) == [
        "locust_requests_started_total of job locust: unexpected label node='PartyA'"
    ]


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("node", "PartyA"),
        ("node", "PartyA, PartyB, PartyC"),
        ("load", "closed, 20 users"),
        ("load", "poisson, 2.5/s"),
        ("load", "burst, 100 in 0.5 s"),
    ],
)
def test_every_kind_of_run_has_labels_that_the_table_knows(label: str, value: str) -> None:
    assert re.fullmatch(signal("locust", "locust_run_info").labels[label], value)


def test_a_label_value_outside_of_its_pattern_is_a_fault(loaded: Loaded) -> None:
    known = signal("locust", "locust_requests_started_total")
    narrower = replace(known, labels={**known.labels, "node": "Party[BC]"})
    assert faults_of(loaded, narrower) == [
        "locust_requests_started_total of job locust: label node='PartyA' does not match Party[BC]"
    ]
