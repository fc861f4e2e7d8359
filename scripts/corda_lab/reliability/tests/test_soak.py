"""A soak is judged from a stored sweep: what its windows are, and what in them is judged."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from corda_lab.clients.prometheus import METRICS_SCHEMA, SERIES
from corda_lab.errors import LabError
from corda_lab.reliability import soak
from corda_lab.reliability.growth import Growth, windows
from corda_lab.reliability.soak import WATCHED, HeapProblem, HeapReading, Heaps
from corda_lab.results import stored
from corda_lab.results.audits import Audit
from corda_lab.sweeps.command import SWEEPS
from corda_lab.sweeps.file import read_sweep
from support import sweeps
from support.sweep_files import short_soak
from support.sweeps import SimulatedSweep

BEGAN, SECONDS = 1_000_000.0, 7200.0
SPAN = (BEGAN, BEGAN + SECONDS)
MIB = 1024**2


def metrics(name: str, node: str | None, values: Iterator[float]) -> pl.DataFrame:
    """One sample of a series each five seconds of two hours."""
    rows = [
        {"name": name, "node": node, "labels": "{}", "time": BEGAN + 5.0 * number, "value": value}
        for number, value in zip(range(int(SECONDS / 5)), values, strict=False)
    ]
    return pl.DataFrame(rows, schema=METRICS_SCHEMA)


def repeated(*values: float) -> Iterator[float]:
    while True:
        yield from values


def growths(name: str, node: str | None, values: Iterator[float], nodes: tuple[str, ...] = ("PartyA",)) -> list[Growth]:
    watched = next(one for one in WATCHED if one.series == name)
    return list(soak.series_growths(metrics(name, node, values), watched, nodes, BEGAN, BEGAN + SECONDS))


def test_a_queue_that_empties_now_and_then_keeps_nothing_however_long_it_gets() -> None:
    (found,) = growths("artemis_queue_messages", "PartyA", repeated(9, 4, 0, 31))
    assert set(found.values) == {0.0}
    assert found.verdict == "within"


def test_a_queue_that_keeps_a_message_now_and_then_is_seen() -> None:
    kept = (float(number // 200 + number % 7) for number in range(1440))
    (found,) = growths("artemis_queue_messages", "PartyA", kept)
    assert (found.verdict, found.fails) == ("beyond", True), "seven more in two hours"


def test_of_few_things_one_more_an_hour_is_the_bound() -> None:
    """2 % of two connections is a part of one."""
    (found,) = growths("node_rpc_connections", "PartyA", (2.0 + number // 1000 for number in range(1440)))
    assert set(found.values) == {2.0, 3.0}
    assert found.bound_percent == pytest.approx(100 / found.mean if found.mean else 0)
    assert found.verdict == "within"
    (many,) = growths("bridge_client_ids", "PartyA", repeated(4000.0))
    assert many.bound_percent == 2.0


def test_a_place_without_samples_is_listed_and_fails() -> None:
    first, second = growths("node_rpc_connections", "PartyA", repeated(2.0), nodes=("PartyA", "PartyB"))
    assert (first.fails, first.reason) == (False, None)
    assert (second.place, second.verdict, second.fails) == ("PartyB", "cannot tell", True)
    assert second.reason == "the run has no samples of node_rpc_connections"


def test_the_series_of_a_node_are_added_up() -> None:
    watched = next(one for one in WATCHED if one.series == "artemis_queue_messages")
    two = [metrics(watched.series, "PartyA", repeated(value)) for value in (2.0, 3.0)]
    (found,) = soak.series_growths(pl.concat(two), watched, ("PartyA",), BEGAN, BEGAN + SECONDS)
    assert (found.place, set(found.values), len(found.values)) == ("PartyA", {5.0}, 24)


def test_what_belongs_to_no_node_is_of_the_whole_lab() -> None:
    (found,) = growths("bridge_connections", None, repeated(24.0))
    assert found.title == "connections of clients"


def test_the_slope_of_the_connections_of_clients_need_not_be_told() -> None:
    """Their number follows the flows in flight."""
    (found,) = growths("bridge_connections", None, repeated(*[24.0] * 70, *[12.0] * 65))
    assert (found.verdict, found.fails) == ("cannot tell", False)


@pytest.mark.parametrize(
    ("left", "problems"),
    [(1, []), (3, ["clients had 3 connections after the load, at the lowest, and the lab itself has one"])],
)
def test_connections_that_are_left_after_the_load_fail_the_soak(folder: Path, left: int, problems: list[str]) -> None:
    run = stored.read(folder)
    ended = run.steps[1].window.load_ended_at
    after = metrics("bridge_connections", None, repeated(left, left + 20)).with_columns(
        pl.lit(1, pl.Int32).alias("step"), time=pl.col("time") - BEGAN + ended + 1
    )
    whole = run.table("metrics")
    pl.concat([whole, after.select(whole.columns)]).write_parquet(folder / "metrics.parquet")
    judged = soak.judged(stored.read(folder), Heaps(), Audit(verdict="passed"))
    assert judged.connections_left == left
    assert [one for one in judged.problems if "connection" in one] == problems


def test_windows_begin_with_the_soak_and_an_unfinished_one_is_left_out() -> None:
    times = [BEGAN + at for at in (-1, 0, 59, 60, 119, 120, 150)]
    found = list(windows(times, [float(n) for n in range(7)], began=BEGAN, ended=BEGAN + 151, minutes=1))
    assert found == [(0.5, [1.0, 2.0]), (1.5, [3.0, 4.0])]


def test_only_counts_of_live_objects_within_the_soak_are_judged() -> None:
    counts = [HeapReading("PartyA", BEGAN + 120.0 * number, 300 * MIB) for number in range(-5, 70)]
    counts += [HeapReading("bridge", BEGAN + 120.0 * number, (60 + number) * MIB) for number in range(58)]
    problems = [HeapProblem("PartyB", BEGAN + at, f"jcmd failed at {at}") for at in (-900, 60, 120)]
    heaps = Heaps(counts, problems).within(BEGAN, BEGAN + SECONDS)
    first, second, third, fourth = soak.heap_growths(heaps, ("PartyA", "PartyB", "PartyC", "bridge"), *SPAN)
    assert (first.place, len(first.values), first.verdict) == ("PartyA", 60, "within")
    assert (second.fails, second.reason) == (True, "it was never counted: jcmd failed at 120")
    assert (third.fails, third.reason) == (True, "it was never counted")
    assert (fourth.place, fourth.verdict) == ("bridge", "beyond")
    (warning,) = heaps.warnings()
    assert warning == "the heap of PartyB was not counted 2 times, the last time because: jcmd failed at 120"


def test_a_heap_that_was_counted_for_a_part_of_the_soak_only_cannot_be_told() -> None:
    counts = [HeapReading("PartyA", BEGAN + 120.0 * number, 300 * MIB) for number in range(53)]
    (half,) = soak.heap_growths(Heaps(counts), ("PartyA",), *SPAN)
    assert (half.verdict, half.fails, half.reason) == ("cannot tell", True, "53 of 60 points were measured")


def test_every_watched_series_is_stored_with_runs() -> None:
    assert {one.series for one in WATCHED} <= SERIES.keys()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A stored sweep with a peak and a soak of half an hour."""
    sweep = SimulatedSweep(identity="20260102T030405Z-soak")
    return sweeps.store_file(tmp_path / "results", sweep, short_soak(tmp_path))


def test_a_stored_sweep_is_judged_as_a_whole(folder: Path) -> None:
    run = stored.read(folder)
    found = soak.judged(run, Heaps(), Audit(verdict="cannot tell", reasons=("PartyB did not answer",)))
    assert found.run == run.identity
    assert found.rate_per_second == 8
    assert found.window_seconds == pytest.approx(1800, abs=1)
    assert found.outcomes["ok"] > 10_000
    assert found.ledger_bytes_per_flow["PartyA"] > 0
    by_title = {one.title: one for one in found.growths}
    assert len(by_title["latency, p50"].values) == 30
    assert len(by_title["latency, p95"].values) == 6
    assert by_title["latency, p95"].values[0] > by_title["latency, p50"].values[0] > 0
    assert "the audit of the ledgers: cannot tell: PartyB did not answer" in found.problems
    # Every value is there for every place, also what the simulated lab has not.
    nodes = soak.nodes_of(run.environment(run.steps[1]))
    assert nodes == ("Notary", "PartyA", "PartyB", "PartyC")
    by_node = [one.name for one in WATCHED if one.by_node]
    expected = {f"{name} of {node}" for name in (*by_node, "heap after collection") for node in nodes}
    assert by_title.keys() == expected | {
        "heap after collection of bridge",
        "connections of clients",
        "latency, p50",
        "latency, p95",
    }
    assert "heap after collection of bridge: cannot tell: it was never counted" in found.failures
    assert found.connections_left is None
    assert "the run has no samples of bridge_connections after the load" in found.problems
    assert [one.must_be_told for one in (by_title["latency, p50"], by_title["client ids on nodes of PartyA"])] == [
        False,
        True,
    ]
    passed = Audit(verdict="passed", counts={"transactions": 3, "nodes": 4})
    assert not any("audit" in problem for problem in soak.judged(run, Heaps(), passed).problems)


def test_another_sweep_has_no_soak(tmp_path: Path) -> None:
    other = sweeps.store_sweep(tmp_path, SimulatedSweep(repeats=1))
    with pytest.raises(LabError, match="has no step 'peak'"):
        soak.judged(stored.read(other), Heaps(), Audit(verdict="passed"))


def test_the_sweep_of_the_suite_has_the_steps_that_are_judged() -> None:
    sweep = read_sweep(SWEEPS / f"{soak.SWEEP}.yaml")
    assert [step.name for step in sweep.fields.steps or ()] == [soak.PEAK_STEP, soak.SOAK_STEP]
    assert json.loads(sweep.fields.model_dump_json())["steps"][1]["load"]["rate"] == "0.7 x peak"
