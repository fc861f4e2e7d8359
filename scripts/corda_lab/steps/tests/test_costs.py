"""What a flow costs, from counters."""

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from corda_lab.clients.prometheus import METRICS_SCHEMA, SERIES
from corda_lab.runs import readings
from corda_lab.steps import costs
from corda_lab.steps.entry import RequestCounts, TransactionCheck
from corda_lab.steps.rows import Window

NETWORK = """\
Inter-|   Receive                                               |  Transmit
 face |bytes   packets errs drop fifo frame compressed multicast|bytes   packets errs drop fifo colls carrier compressed
    lo:  301846    400    0    0    0     0         0         0   301846    400    0    0    0     0       0          0
  eth0:   81243    237    0    0    0     0         0         0   183590    201    0    0    0     0       0          0
"""


WINDOW = Window(100.0, 120.0)
NO_METRICS = pl.DataFrame(schema=METRICS_SCHEMA)


def samples(name: str, node: str | None, values: dict[float, float], labels: str = "{}") -> list[dict[str, object]]:
    return [{"name": name, "node": node, "labels": labels, "time": at, "value": value} for at, value in values.items()]


WRITTEN = """\
rchar: 304980022
wchar: 2062227928
syscr: 255007
syscw: 331537
read_bytes: 42377216
write_bytes: 2024759296
cancelled_write_bytes: 20480
rchar: 900
write_bytes: 4096
cancelled_write_bytes: 0
"""


def test_reads_what_a_node_has_sent_received_written_and_stored() -> None:
    read = readings.parse_node(NETWORK + WRITTEN + "5455872\n")
    assert read == readings.NodeReading(sent=183590, received=81243, written=2024742912, file=5455872)
    assert readings.parse_node(NETWORK) == readings.NodeReading(sent=183590, received=81243)
    assert readings.parse_node("sh: cat: not found\n") == readings.NodeReading()


def test_costs_are_of_one_flow() -> None:
    metrics = pl.DataFrame(
        [
            *samples("node_cpu_seconds_total", "PartyA", {95: 1.0, 101: 2.0, 106: 3.0, 111: 7.0, 125: 9.0}),
            *samples("lab_cpu_seconds_total", None, {101: 1.0, 111: 2.0}, '{"job": "bridge"}'),
            *samples("node_allocated_bytes_total", "PartyA", {101: 0.0, 111: 4000.0}),
            *samples("node_gc_seconds_total", "PartyA", {101: 0.0, 111: 2.0}),
            *samples("node_checkpoints_total", "PartyA", {80: 7.0, 85: 10.0, 90: 20.0, 125: 1610.0}),
        ],
        schema=METRICS_SCHEMA,
    )
    before, after = (
        costs.Reading(
            {"PartyA": 1000}, {"PartyA": 500}, None, {"PartyA": 100}, {"PartyA": 0, "PostgreSQL": 50}, "server"
        ),
        costs.Reading(
            {"PartyA": 9000}, {"PartyA": 2900}, None, {"PartyA": 4100}, {"PartyA": 800, "PostgreSQL": 90}, "server"
        ),
    )
    found = costs.cost_values(
        WINDOW,
        metrics,
        before,
        after,
        rate=10.0,
        flows=400,
        states=600,
        transactions=costs.recorded([transactions(told=290, others=310), transactions(told=300, missing=1)]),
        load_started_at=88.0,
    )
    assert found == {
        "cpu_seconds_per_flow": {"PartyA": pytest.approx(0.05), "bridge": pytest.approx(0.01)},
        "allocated_bytes_per_flow": {"PartyA": pytest.approx(40.0)},
        "gc_seconds_per_flow": {"PartyA": pytest.approx(0.02)},
        "sent_bytes_per_flow": {"PartyA": 20.0},
        "received_bytes_per_flow": {"PartyA": 10.0},
        "disk_written_bytes_per_flow": {"PartyA": 2.0, "PostgreSQL": 0.1},
        "checkpoints_per_flow": {"PartyA": 4.0},
        "database_bytes_per_flow": {"PartyA": 6.0},
        "database_bytes_per_state": {"PartyA": 4.0},
        "database_bytes_per_transaction": {"PartyA": 4.0},
    }


def transactions(*, told: int, missing: int = 0, others: int = 0) -> TransactionCheck:
    """A search of one vault for the transactions of a load."""
    return TransactionCheck(state="Iou", node="PartyA", told=told, missing=missing, missing_ids=[], others=others)


def test_a_counter_that_was_not_scraped_before_the_load_says_nothing() -> None:
    metrics = pl.DataFrame(
        samples("node_checkpoints_total", "PartyA", {101: 5.0, 106: 9.0})
        + samples("node_checkpoints_total", "PartyB", {99: 5.0, 101: 9.0, 106: 2.0, 111: 3.0}),
        schema=METRICS_SCHEMA,
    )
    assert costs.rise_since(metrics, "node_checkpoints_total", 100.0) == {"PartyB": 7.0}


def test_sizes_that_were_read_in_different_ways_are_not_compared() -> None:
    before = costs.Reading({}, {"PartyA": 100}, database_read="file")
    after = costs.Reading({}, {"PartyA": 900}, database_read="compacted")
    found = costs.cost_values(WINDOW, NO_METRICS, before, after, rate=10.0, flows=400)
    assert (found["database_bytes_per_flow"], costs.database_read(before, after)) == ({}, None)


PROCESSES = """\
1 (postgres) S 0 1 1 0 -1 4194560 9000 800000 10 20 30 20 700 250 20 0 1 0 100 225000000 7000
57 (postgres: lab c) S 1 57 57 0 -1 4194624 500 0 0 0 60 40 0 0 20 0 1 0 200 226000000 9000
"""


def test_postgresql_s_processor_time_is_of_all_its_processes_those_that_ended_too() -> None:
    assert readings.parse_processes(PROCESSES) == pytest.approx((30 + 20 + 700 + 250 + 60 + 40) / 100)
    assert readings.parse_processes("service postgres is not running\n") is None


def test_postgresql_is_counted_by_itself_and_its_exporter_is_not() -> None:
    before, after = costs.Reading({}, {}, 100.0), costs.Reading({}, {}, 104.0)
    found = costs.cost_values(WINDOW, NO_METRICS, before, after, rate=10.0, flows=400)
    assert found["cpu_seconds_per_flow"] == {"PostgreSQL": pytest.approx(0.01)}
    assert "postgres" not in SERIES["lab_cpu_seconds_total"]


@pytest.mark.parametrize(
    ("parts", "states"),
    [({2: 200, None: 200}, 0), ({2: 200, None: 0}, 400), ({2: 200, 0: 100}, 400), ({None: 0}, 0)],
)
def test_states_are_known_if_every_part_with_a_success_defines_them(parts: dict[int | None, int], states: int) -> None:
    nothing = dict.fromkeys(RequestCounts.model_fields, 0)
    done: list[Any] = [
        SimpleNamespace(states_per_flow=each, requests=RequestCounts(**{**nothing, "ok": count}))
        for each, count in parts.items()
    ]
    assert costs.states_made(done) == states


def test_what_could_not_be_read_is_left_out() -> None:
    empty = costs.Reading({}, {})
    found = costs.cost_values(WINDOW, NO_METRICS, empty, empty, rate=0.0, flows=0)
    assert set(map(bool, found.values())) == {False}
