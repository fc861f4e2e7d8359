"""The worked examples in ``docs/methodology.md``: the real functions must give every number that it calculates by hand.

A test is named after its section. If you change a definition, change its example as well.
"""

import math
from collections.abc import Sequence
from types import MappingProxyType

import polars as pl
import pytest

from corda_lab.analysis.detection import repeats_needed
from corda_lab.report import waterfall
from corda_lab.results.sweep import SearchAnswer
from corda_lab.results.sweep_parts import FindMaxFields
from corda_lab.stats import steady
from corda_lab.stats.difference import Difference, holm, paired, unpaired
from corda_lab.stats.intervals import CONFIDENCE, repeats_interval, t_quantile
from corda_lab.stats.slope import slope_of
from corda_lab.steps import bursts, costs, counts, open_load, resolutions, rows, stages, usage
from corda_lab.steps.rows import Window
from corda_lab.steps.spans import SPAN_SCHEMA
from corda_lab.sweeps import search
from lab_workload.subject import LoadPart, Subject
from support.entries import step_with

WINDOW = Window(0.0, 10.0)

EXAMPLE = (
    ("A", -1.0, 1.0, "ok"),
    ("B", 1.0, 2.5, "ok"),
    ("C", 2.0, 6.0, "ok"),
    ("D", 5.0, 8.0, "ok"),
    ("E", 7.0, 8.0, "ok"),
    ("F", 3.0, 3.5, "failed"),
    ("G", 9.0, 11.0, "ok"),
)
"""The seven requests of the example step: name, start and end in seconds, outcome."""

BASELINE = MappingProxyType({1: 12.0, 2: 11.0, 3: 10.0})
CONTENDER = MappingProxyType({1: 10.8, 2: 9.9, 3: 9.1})
"""Throughput of two points by repeat, on a machine that gets slower from repeat to repeat."""


def example(names: str = "ABCDEFG") -> pl.DataFrame:
    """Rows of the example step."""
    chosen = [one for one in EXAMPLE if one[0] in names]
    return pl.DataFrame(
        {
            "started_at": [start for _, start, _, _ in chosen],
            "ended_at": [end for _, _, end, _ in chosen],
            "latency_ms": [(end - start) * 1000 for _, start, end, _ in chosen],
            "outcome": [outcome for _, _, _, outcome in chosen],
        }
    )


def with_p_value(p_value: float) -> Difference:
    """A comparison with this p-value: with one degree of freedom p = 1 − 2/π·atan(t)."""
    ratio_log = math.tan(math.pi / 2 * (1 - p_value))
    return Difference(math.exp(-ratio_log), 0, 1, p_value, "slower", 0.95, 2, 2, "", "faster", 1.0, 1.0)


def arrivals(intended: Sequence[float], latency_ms: Sequence[float], outcomes: Sequence[str]) -> pl.DataFrame:
    """Rows of open load without lag."""
    return pl.DataFrame(
        {
            "part": "Iou",
            "intended_at": intended,
            "started_at": intended,
            "ended_at": [at + each / 1000 for at, each in zip(intended, latency_ms, strict=True)],
            "latency_ms": latency_ms,
            "latency_intended_ms": latency_ms,
            "bridge_flow_ms": latency_ms,
            "bridge_rpc_ms": latency_ms,
            "outcome": outcomes,
            "status": 200,
            "error": pl.Series([None] * len(outcomes), dtype=pl.String),
        }
    )


def test_outcome() -> None:
    asked = pl.DataFrame({"client_id": [f"c{number}" for number in range(8)], "outcome": ["unknown"] * 8})
    said = ["ok"] * 6 + ["failed", "not_started"]
    found = {f"c{number}": resolutions.Resolution(one, 0.0) for number, one in enumerate(said)}  # type: ignore[arg-type]
    resolved = resolutions.with_resolutions(asked, found)
    assert resolved.filter(resolutions.has_succeeded()).height == 6


def test_window() -> None:
    intended = [number / 100 for number in range(6500)]
    latency_ms = [(63.0 - at if 57.95 <= at < 63 else 0.0) * 1000 + 50 for at in intended]
    whole = arrivals(intended, latency_ms, ["ok"] * len(intended))
    window = Window(0.0, 60.0)
    found = rows.outcome_values(whole, window).latency_intended_ms
    slow = sorted(at for at in rows.timed_within(whole, window)["latency_ms"] if at > 50.01)
    assert (found.count, len(slow)) == (6000, 205)
    assert (slow[0], slow[-1]) == (pytest.approx(3060), pytest.approx(5100))
    assert found.p99 == pytest.approx(4500)
    assert rows.ended_within(whole, window)["latency_ms"].max() == pytest.approx(50)


def test_percentile() -> None:
    found = rows.distribution(pl.Series([100.0] * 97), unanswered=3)
    assert (found.count, found.p95, found.p99) == (100, 100.0, math.inf)


def test_exclusion() -> None:
    found = repeats_interval([10.0, 10.0, 4.0])
    assert found is not None
    assert found.estimate == pytest.approx(7.37, abs=0.005)
    without = repeats_interval([10.0, 10.0])
    assert without is not None
    assert without.estimate == pytest.approx(10)


def test_coordinated_omission() -> None:
    fast = [0.1] * 500
    closed, opened = pl.Series([*fast, 10.0]), pl.Series([*fast, *(10.0 - 0.1 * number for number in range(100))])
    assert rows.nearest_rank(closed, 0.99) == 0.1
    assert rows.nearest_rank(opened, 0.99) == pytest.approx(9.4)


def test_values_of_a_step() -> None:
    done = rows.ended_within(example(), WINDOW).filter(rows.is_done())
    assert done.height / WINDOW.seconds == 0.5
    assert done["latency_ms"].mean() == 2300
    percentiles = [rows.nearest_rank(done["latency_ms"], share) for share in (0.5, 0.9, 0.95)]
    assert percentiles == [2000, 4000, 4000]
    assert rows.in_flight_mean(example(), WINDOW) == pytest.approx(1.2)


def test_littles_law() -> None:
    law = step_with(values=rows.littles_law(example(), WINDOW))
    assert (law.value("requests_per_second"), law.value("request_seconds_mean")) == (0.6, 2.0)
    assert (law.value("in_flight_mean"), law.littles_law_holds) == (pytest.approx(1.2), True)
    cut_off = step_with(values=rows.littles_law(example("ABCDEF"), WINDOW))
    assert cut_off.value("in_flight_mean") == pytest.approx(1.1)
    assert cut_off.value("littles_law_percent") == pytest.approx(100 / 11)
    assert not cut_off.littles_law_holds


def test_arrivals_of_an_open_load() -> None:
    arrivals = pl.DataFrame(
        {
            "request_id": [1, 2, 3, 4],
            "worker": [0, 0, 0, 0],
            "intended_at": [0.0, 1.0, 2.0, 3.0],
            "started_at": [0.0, 1.0, 2.4, 3.015],
            "ended_at": [2.5, 2.4, 3.2, 3.9],
        }
    )
    timed = open_load.with_lag(arrivals, 2)
    assert timed["lag_ms"].to_list() == pytest.approx([0, 0, 400, 15])
    assert timed["pool_was_free"].to_list() == [True, True, False, True]
    intended = (timed["ended_at"] - timed["intended_at"]) * 1000
    assert rows.nearest_rank(intended, 0.5) == pytest.approx(1200)
    assert max(open_load.LATE_MS, open_load.GENERATOR_LAG_SHARE_MAX * 1200) == 60


def test_bursts() -> None:
    frame = pl.DataFrame(
        {
            "intended_at": [0.0, 0.25, 0.5, 0.75],
            "started_at": [0.0, 0.25, 0.5, 0.75],
            "ended_at": [1.0, 2.0, 3.0, 4.0],
            "outcome": ["ok"] * 4,
            "flow_id": ["a", "b", "c", "d"],
        }
    ).with_columns(
        ((pl.col("ended_at") - pl.col("intended_at")) * 1000).alias("latency_ms"),
        ((pl.col("ended_at") - pl.col("intended_at")) * 1000).alias("latency_intended_ms"),
        ((pl.col("ended_at") - pl.col("intended_at")) * 1000 - 20).alias("bridge_flow_ms"),
    )
    burst = bursts.burst_values(frame, None)
    assert [burst[name] for name in bursts.CLOCKS["generator"]] == [4, 1, 2125]
    assert frame.height / (burst["burst_last_started_seconds"] or 0) == pytest.approx(5.3, abs=0.05)
    assert burst["burst_rpc_total_seconds"] == pytest.approx(3.98)
    assert burst["burst_node_total_seconds"] is None


def test_loads_that_end_after_a_number_of_flows() -> None:
    starts, ends = [0.0, 5.0, 7.0, 9.0], [5.0, 7.0, 9.0, 11.0]
    frame = arrivals(starts, [(end - start) * 1000 for start, end in zip(starts, ends, strict=True)], ["ok"] * 4)
    frame = frame.with_columns(pl.Series("request_id", [1, 2, 3, 4]), pl.lit(None, pl.Float64).alias("intended_at"))
    own = rows.counted(frame, 1)
    window = rows.span(own)
    found = rows.outcome_values(own, window)
    assert [window.started_at, window.ended_at] == pytest.approx([5, 11])
    assert [found.latency_ms.mean, found.throughput_per_second] == pytest.approx([2000, 0.5])


def test_stages_of_a_flow() -> None:
    row = pl.DataFrame(
        {
            "stage_wait_ms": [30.0],
            "stage_sign_ms": [10.0],
            "stage_collect_signatures_ms": [150.0],
            "stage_notarise_ms": [120.0],
            "stage_finalise_ms": [140.0],
            "stage_other_ms": [10.0],
        }
    )
    total = float(stages.total_of(row)[0])
    assert total == 460
    assert stages.share_percent(row["stage_notarise_ms"], pl.Series([500.0])) == 24
    assert rows.deviation_percent(20 + total + 20, 500) == 0


def test_consensus_latency() -> None:
    recorded = pl.DataFrame(
        {
            "trace_id": ["T1", "T1", "T2"],
            "node": ["PartyA", "PartyB", "PartyA"],
            "flow": ["Pay", "PayResponder", "Pay"],
            "role": ["initiator", "responder", "initiator"],
            "notarised_at": [100.300, None, 101.000],
            "recorded_at": [100.340, 100.395, 101.050],
        }
    )
    latencies = stages.consensus_latency(recorded, pl.Series(["T1", "T2"]))
    assert stages.complete_only(latencies)["latency_ms"].to_list() == pytest.approx([95])
    assert latencies.height - stages.complete_only(latencies).height == 1


def test_where_one_flow_s_time_went() -> None:
    request = {
        "started_at": 50.0,
        "latency_ms": 100.0,
        "flow_id": "f",
        "trace_id": "t",
        "node": "PartyA",
        "bridge_received_at": 50.001,
        "bridge_started_at": 50.002,
        "bridge_rpc_ms": 10.0,
        "bridge_flow_ms": 96.0,
    }
    at = {"start_ns": 50_016_000_000, "end_ns": 50_096_000_000}
    span = {"trace_id": "t", "node": "PartyA", "error": None} | at
    flow = span | {"span_id": "1", "parent_id": "r", "name": "Pay", "flow_id": "f", "created_ns": 50_010_000_000}
    finality = span | {"span_id": "2", "parent_id": "1", "name": "finalise", "flow_id": None, "created_ns": None}
    found = waterfall.of_request(request, pl.DataFrame([flow, finality], schema=SPAN_SCHEMA))
    waited = [(piece.actor, round(piece.end_ms - piece.start_ms, 3)) for piece in found.path]
    assert waited == [
        ("bridge", 1),
        ("bridge", 1),
        ("PartyA", 8),
        ("PartyA", 6),
        ("PartyA", 80),
        ("PartyA", 2),
        ("client", 2),
    ]
    assert found.largest[0][0] == "PartyA: finalise"


def test_four_counts() -> None:
    part = LoadPart("iou", "Iou", "Iou", changes={"IouState": {"PartyA": 1, "PartyB": 1}})
    before = counts.Snapshot(
        {"PartyA": {"Iou": 40}}, {"PartyA": {"Iou": 40}}, {("IouState", node): 7 for node in ("PartyA", "PartyB")}
    )
    agreeing = counts.Snapshot(
        {"PartyA": {"Iou": 140}}, {"PartyA": {"Iou": 140}}, {("IouState", node): 107 for node in ("PartyA", "PartyB")}
    )
    subject, succeeded = Subject("PartyA", (part,)), {"PartyA": {"iou": 100}}
    assert not counts.difference(before, agreeing, subject, succeeded=succeeded).disagreements
    one_more = counts.Snapshot({"PartyA": {"Iou": 141}}, agreeing.node_success, agreeing.vault_unconsumed)
    assert len(counts.difference(before, one_more, subject, succeeded=succeeded).disagreements) == 1


def test_not_steady() -> None:
    first, second = (rows.ended_within(example(), Window(start, start + 5)).filter(rows.is_done()) for start in (0, 5))
    assert (first.height, second.height) == (2, 3)
    assert rows.deviation_percent(3 / 5, 2 / 5) == pytest.approx(50)


def test_costs() -> None:
    scrapes = pl.DataFrame(
        {
            "name": ["node_cpu_seconds_total"] * 3,
            "node": ["PartyA"] * 3,
            "labels": ["{}"] * 3,
            "time": [5.0, 35.0, 65.0],
            "value": [100.0, 126.0, 148.0],
        }
    )
    cores = costs.counter_rise(scrapes, "node_cpu_seconds_total", Window(3.0, 66.0))
    assert cores == {"PartyA": 0.8}
    assert cores["PartyA"] / 8 == 0.1


def test_interval_of_a_point() -> None:
    interval = repeats_interval(list(BASELINE.values()))
    assert interval is not None
    assert (interval.low, interval.estimate, interval.high) == pytest.approx((8.75, 10.97, 13.76), abs=0.005)


def test_ratio_of_two_points() -> None:
    pairs = paired(BASELINE, CONTENDER, higher_is="faster")
    assert (pairs.ratio, pairs.low, pairs.high) == pytest.approx((0.903, 0.889, 0.918), abs=0.0005)
    assert pairs.verdict == "slower"
    welch = unpaired(list(BASELINE.values()), list(CONTENDER.values()), higher_is="faster")
    assert (welch.ratio, welch.low, welch.high) == pytest.approx((0.903, 0.739, 1.104), abs=0.0005)
    assert welch.verdict == "no difference seen"


def test_several_comparisons() -> None:
    judged = holm([with_p_value(p) for p in (0.011, 0.02, 0.04, 0.2)])
    assert [one.p_value for one in judged] == pytest.approx([0.044, 0.06, 0.08, 0.2])
    assert [one.verdict for one in judged] == ["slower", *["no difference seen"] * 3]


def test_warm_up() -> None:
    means = [2, 6, 10, 9, 11, 10, 10, 9, 11, 10]
    times = [
        second + (number + 0.5) / count
        for batch, count in enumerate(means)
        for second in range(5 * batch, 5 * batch + 5)
        for number in range(count)
    ]
    found = steady.warm_up_end(times, started_at=0, stopped_at=50, seconds_min=5, seconds_max=30)
    assert found == steady.WarmUp(10, True)


def test_highest_sustained_rate() -> None:
    asked = FindMaxFields(rate_min=1, rate_max=200, p95_max=2, confirm=60)
    answers: list[SearchAnswer] = []
    while not isinstance(question := search.question(asked, answers), str):
        rate, phase = question
        answers.append(SearchAnswer(rate=rate, sustained=rate <= 10.2, phase=phase))
    offered = [1, 2, 4, 8, 16, 11.31, 9.512, 10.37, 9.932, 10.37, 9.932, 9.932]
    assert [answer.rate for answer in answers] == offered
    assert search.outcome(asked, answers).rate == 9.932


def test_samples_of_each_second() -> None:
    percent = [5, 5, 150, 150, 150, 150, 60, 60, 60, 150, 150, 150, 5, 5, 5, 5, 150, 150, 150, 5]
    assert usage.peaks(percent) == 2


def test_how_many_repeats() -> None:
    assert repeats_needed(0.1, math.expm1(0.05), samples=2) == 64


def test_the_soak() -> None:
    times, values = [number / 6 for number in range(12)], [301.0, 299.0] * 6
    found, in_percent = slope_of(times, values), slope_of(times, [value / 3 for value in values])
    assert found is not None
    assert in_percent is not None
    assert (found.n, found.n_effective) == (12, 12)
    assert found.estimate == pytest.approx(-0.252, abs=0.0005)
    assert (in_percent.low, in_percent.high) == pytest.approx((-0.49, 0.32), abs=0.005)
    assert (in_percent.high - in_percent.low) / 2 == pytest.approx(0.40, abs=0.005)


@pytest.mark.parametrize(("points", "alone", "alike"), [(24, 2.6, 1.2), (60, 4.4, 2.3), (120, 6.3, 3.5)])
def test_what_two_hours_can_tell(points: int, alone: float, alike: float) -> None:
    spread = (2 / points) ** 2 * points * (points**2 - 1) / 12
    for correlation, scatter in ((0.0, alone), (0.5, alike)):
        effective = points * (1 - correlation) / (1 + correlation)
        half = t_quantile(CONFIDENCE, effective - 2) * math.sqrt(points * scatter**2 / (effective - 2) / spread)
        assert half == pytest.approx(2.0, abs=0.1)
