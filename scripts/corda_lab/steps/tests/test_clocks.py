"""Times of several hosts: corrected where the clocks are known, and left out where they are not known well enough."""

import polars as pl
import pytest

from corda_lab.steps import clocks
from corda_lab.steps.entry import ClockEntry, ClockReading, StagesEntry
from corda_lab.steps.rows import distribution
from corda_lab.steps.stages import known_well, warnings


def reading(offset_ms: float, error_ms: float = 0.5) -> ClockReading:
    return ClockReading(offset_ms=offset_ms, error_ms=error_ms)


def clock(before: float, after: float | None, error_ms: float = 0.5) -> ClockEntry:
    return ClockEntry(before=reading(before, error_ms), after=None if after is None else reading(after, error_ms))


AT_REST = clock(0.0, 0.0, 0.0)
"""The clock of the load generator's host against itself."""


def test_a_clock_is_taken_halfway_and_may_be_wrong_by_half_of_its_drift() -> None:
    found = clocks.correction(clock(10.0, 14.0, error_ms=1.0))
    assert found is not None
    assert found.offset_seconds == pytest.approx(0.012)
    assert found.error_seconds == pytest.approx(0.003)
    assert clocks.correction(clock(10.0, None)) is None


def test_clocks_are_those_against_the_host_of_the_load_generator() -> None:
    before = {"load": reading(5.0, 0.2), "node": reading(8.0, 0.3)}
    after = {"load": reading(5.0, 0.2)}
    found = clocks.entries(before, after, "load", ["load", "node"])
    assert found["load"] == AT_REST
    assert found["node"].before == reading(3.0, 0.5)
    assert found["node"].after is None


def test_without_a_reading_of_the_generator_no_other_clock_is_known() -> None:
    found = clocks.entries({"node": reading(8.0)}, {}, "load", ["load", "node"])
    assert found["node"].before is None


def test_requests_get_the_times_of_the_host_of_the_load_generator() -> None:
    rows = pl.DataFrame(
        {
            "worker": [1, 2, 3],
            "intended_at": [None, 100.0, 100.0],
            "started_at": [100.0, 100.0, 100.0],
            "ended_at": [101.0, 101.0, 101.0],
            "bridge_started_at": [100.5, 100.5, None],
        }
    )
    known = {"load": AT_REST, "far": clock(250.0, 250.0), "lost": clock(9.0, None), "bridge": clock(500.0, 500.0)}
    found = clocks.corrected_requests(rows, {1: "load", 2: "far", 3: "lost"}, "bridge", known)
    assert found["started_at"].to_list() == [100.0, 99.75, 100.0]
    assert found["ended_at"].to_list() == [101.0, 100.75, 101.0]
    assert found["intended_at"].to_list() == [None, 99.75, 100.0]
    assert found["bridge_started_at"].to_list() == [100.0, 100.0, None]


def test_stage_rows_get_them_too() -> None:
    rows = pl.DataFrame({"node": ["PartyA", "PartyB"], "recorded_at": [10.0, 10.0], "stage_sign_ms": [3.0, 3.0]})
    found = clocks.corrected_stage_rows(
        rows, {"PartyA": "load", "PartyB": "b"}, {"load": AT_REST, "b": clock(-40.0, -40.0)}, ("recorded_at",)
    )
    assert found["recorded_at"].to_list() == [10.0, 10.04]
    assert found["stage_sign_ms"].to_list() == [3.0, 3.0]


def test_a_time_between_two_hosts_may_be_wrong_by_both_errors() -> None:
    known = {"load": AT_REST, "a": clock(1.0, 1.0, 0.4), "b": clock(2.0, 2.0, 0.7), "c": clock(3.0, 3.0, 0.1)}
    assert clocks.error_ms(known) == pytest.approx(1.1)
    assert clocks.error_ms({**known, "d": clock(1.0, None)}) is None


def test_an_audit_looks_as_far_back_as_a_clock_may_be_behind() -> None:
    assert clocks.slack_seconds({}) == 0.0
    assert clocks.slack_seconds({"a": clock(-30.0, -30.0, 1.0), "b": clock(2.0, 2.0)}) == pytest.approx(0.031)
    assert clocks.slack_seconds({"a": clock(-30.0, -30.0, 1.0), "b": clock(2.0, None)}) == 1.0, "not known"


def stages_of(consensus_ms: float) -> StagesEntry:
    return StagesEntry(
        reason=None,
        rows_dropped={},
        flows=[],
        responders=[],
        consensus_latency_ms=distribution(pl.Series([consensus_ms])),
        consensus_left_out=0,
    )


@pytest.mark.parametrize(
    ("consensus_ms", "known", "words"),
    [
        (50.0, {"a": clock(900.0, 900.0, 1.0)}, None),
        (5.0, {"a": clock(900.0, 900.0, 1.0)}, "the clocks of the hosts may be wrong by 1.0 ms"),
        (50.0, {"a": clock(900.0, None)}, "the clocks of the hosts are not all known"),
    ],
)
def test_a_figure_between_hosts_is_left_out_if_the_clocks_are_not_known_well_enough(
    consensus_ms: float, known: dict[str, ClockEntry], words: str | None
) -> None:
    found = known_well(stages_of(consensus_ms), known)
    assert (found.consensus_latency_ms.count == 1) == (words is None)
    assert [str(one) for one in warnings(found)] == (
        [] if words is None else [f"left out: consensus latency, because {words}"]
    )
