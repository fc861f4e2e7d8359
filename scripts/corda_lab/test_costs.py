"""What a flow costs, from counters."""

import polars as pl
import pytest

from corda_lab import costs
from corda_lab.prometheus import METRICS_SCHEMA

NETWORK = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  301846     400    0    0    0     0          0         0   301846     400    0    0    0     0       0          0
  eth0:   81243     237    0    0    0     0          0         0   183590     201    0    0    0     0       0          0
"""


def samples(name: str, node: str | None, values: dict[float, float], labels: str = "{}") -> list[dict[str, object]]:
    return [{"name": name, "node": node, "labels": labels, "time": at, "value": value} for at, value in values.items()]


def test_reads_what_a_node_has_sent_and_stored() -> None:
    assert costs.parse_node(NETWORK + "5455872\n") == (183590, 5455872)
    assert costs.parse_node(NETWORK) == (183590, None)
    assert costs.parse_node("sh: cat: not found\n") == (None, None)


def test_costs_are_of_one_flow() -> None:
    metrics = pl.DataFrame(
        [
            *samples("node_cpu_seconds_total", "PartyA", {95: 1.0, 101: 2.0, 106: 3.0, 111: 7.0, 125: 9.0}),
            *samples("lab_cpu_seconds_total", None, {101: 1.0, 111: 2.0}, '{"job": "bridge"}'),
            *samples("node_allocated_bytes_total", "PartyA", {101: 0.0, 111: 4000.0}),
        ],
        schema=METRICS_SCHEMA,
    )
    step = {
        "window": {"started_at": 100.0, "ended_at": 120.0},
        "throughput_per_second": 10.0,
        "requests": {"ok": 300, "expected": 100},
        "parts": [{"states_per_flow": 2, "requests": {"ok": 300}}],
    }
    found = costs.figures(
        step,
        metrics,
        costs.Reading({"PartyA": 1000}, {"PartyA": 500}),
        costs.Reading({"PartyA": 9000}, {"PartyA": 2900}),
    )
    assert found == {
        "cpu_seconds_per_flow": {"PartyA": pytest.approx(0.05), "bridge": pytest.approx(0.01)},
        "allocated_bytes_per_flow": {"PartyA": pytest.approx(40.0)},
        "sent_bytes_per_flow": {"PartyA": 20.0},
        "database_bytes_per_flow": {"PartyA": 6.0},
        "database_bytes_per_state": {"PartyA": 4.0},
    }


def test_what_could_not_be_read_is_left_out() -> None:
    step = {
        "window": {"started_at": 100.0, "ended_at": 120.0},
        "throughput_per_second": 0.0,
        "requests": {"ok": 0, "expected": 0},
        "parts": [{"states_per_flow": None, "requests": {"ok": 0}}],
    }
    empty = costs.Reading({}, {})
    found = costs.figures(step, pl.DataFrame(schema=METRICS_SCHEMA), empty, empty)
    assert set(map(len, found.values())) == {0}
