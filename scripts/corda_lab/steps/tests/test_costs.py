"""What a flow costs, from counters."""

import polars as pl
import pytest

from corda_lab.clients.prometheus import METRICS_SCHEMA, SERIES
from corda_lab.runs import readings
from corda_lab.steps import costs

NETWORK = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  301846     400    0    0    0     0          0         0   301846     400    0    0    0     0       0          0
  eth0:   81243     237    0    0    0     0          0         0   183590     201    0    0    0     0       0          0
"""


def samples(name: str, node: str | None, values: dict[float, float], labels: str = "{}") -> list[dict[str, object]]:
    return [{"name": name, "node": node, "labels": labels, "time": at, "value": value} for at, value in values.items()]


def test_reads_what_a_node_has_sent_and_stored() -> None:
    assert readings.parse_node(NETWORK + "5455872\n") == (183590, 5455872)
    assert readings.parse_node(NETWORK) == (183590, None)
    assert readings.parse_node("sh: cat: not found\n") == (None, None)


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


PROCESSES = """\
1 (postgres) S 0 1 1 0 -1 4194560 9000 800000 10 20 30 20 700 250 20 0 1 0 100 225000000 7000
57 (postgres: lab c) S 1 57 57 0 -1 4194624 500 0 0 0 60 40 0 0 20 0 1 0 200 226000000 9000
"""


def test_postgresql_s_processor_time_is_of_all_its_processes_those_that_ended_too() -> None:
    assert readings.parse_processes(PROCESSES) == pytest.approx((30 + 20 + 700 + 250 + 60 + 40) / 100)
    assert readings.parse_processes("service postgres is not running\n") is None


def step_of(parts: list[dict[str, object]]) -> dict[str, object]:
    return {
        "window": {"started_at": 100.0, "ended_at": 120.0},
        "throughput_per_second": 10.0,
        "requests": {"ok": 400, "expected": 0},
        "parts": parts,
    }


def test_postgresql_is_counted_by_itself_and_its_exporter_is_not() -> None:
    parts: list[dict[str, object]] = [{"states_per_flow": None, "requests": {"ok": 400}}]
    before, after = costs.Reading({}, {}, 100.0), costs.Reading({}, {}, 104.0)
    found = costs.figures(step_of(parts), pl.DataFrame(schema=METRICS_SCHEMA), before, after)
    assert found["cpu_seconds_per_flow"] == {"PostgreSQL": pytest.approx(0.01)}
    assert "postgres" not in SERIES["lab_cpu_seconds_total"]


def test_bytes_per_state_need_every_part_s_states() -> None:
    before, after = costs.Reading({}, {"PartyA": 0}), costs.Reading({}, {"PartyA": 800})
    known: dict[str, object] = {"states_per_flow": 2, "requests": {"ok": 200}}
    unknown: dict[str, object] = {"states_per_flow": None, "requests": {"ok": 200}}
    silent: dict[str, object] = {"states_per_flow": None, "requests": {"ok": 0}}
    for parts, expected in (([known, unknown], {}), ([known, silent], {"PartyA": 2.0})):
        found = costs.figures(step_of(parts), pl.DataFrame(schema=METRICS_SCHEMA), before, after)
        assert found["database_bytes_per_state"] == expected


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
