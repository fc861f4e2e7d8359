"""The report of a sweep: what it concludes, draws and tabulates, from the stored files alone."""

import csv
import json
import os
import re
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.analysis import conclusions, points, saturation, significance, values
from corda_lab.paths import ROOT
from corda_lab.report import costs
from corda_lab.report import page as report
from corda_lab.report import sweep as report_sweep
from corda_lab.results import folders, stored
from corda_lab.results.manifest import MeasuredLink, OwnSpans, Span
from corda_lab.selftest import interval_coverage
from corda_lab.steps.entry import VerdictEntry
from corda_lab.steps.reasons import reason
from corda_lab.sweeps import execute
from corda_lab.testing.commands import PYTHONPATH
from corda_lab.testing.entries import changed
from corda_lab.testing.pages import chart_data, without_scripts
from corda_lab.testing.runs import ENVIRONMENT
from corda_lab.testing.sweeps import LARGEST, SimulatedSweep, store_sweep
from corda_lab.text import words

INVALID = "the generator was the limit: its own lag has a p99 of 34 ms"
FILE_MEGABYTES_MAX = 12
LARGEST_SECONDS_MAX = 20
LARGEST_GIGABYTES_MAX = 1.5


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_sweep(tmp_path_factory.mktemp("sweep"), SimulatedSweep(invalid={4: INVALID}))


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    return store_sweep(folder, SimulatedSweep(vary={"shape.database": ["h2", "postgres"]}), find_max=True)


def html(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def text_of(folder: Path) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", without_scripts(html(folder))).replace("\u00a0", " ").split())


def charts_of(folder: Path) -> dict[str, dict[str, Any]]:
    return {chart["id"]: chart for chart in chart_data(html(folder))["charts"]}


def test_concludes_in_words_where_throughput_was_best(sweep: Path) -> None:
    text = text_of(sweep)
    assert re.search(
        r"Throughput was best with 16 users, H2: [\d.]+ flows per second \(95 % interval [\d.]+ to [\d.]+, 3 repeats\)",
        text,
    )
    assert (
        "Users (1, 4, 16) and database (h2, postgres). 3 repeats of each point, in interleaved order: 18 steps" in text
    )
    assert re.search(
        r"PostgreSQL compared with H2: .*; slower at 2 of 3 points, most at .* × \([\d.]+ to [\d.]+\)", text
    )
    assert "17 of 18 steps are valid. The four counts agree in 18. No request failed." in text


def test_names_invalid_steps_and_leaves_them_out_of_every_average(sweep: Path) -> None:
    assert f"Invalid: step 4: {INVALID}." in text_of(sweep)
    run = stored.read(sweep)
    broken = next(point for point in points.points(run) if any(step.index == 4 for step in point.steps))
    assert (len(broken.steps), broken.estimate("throughput").n) == (3, 2)
    crosses = next(t for t in charts_of(sweep)["curve-throughput"]["traces"] if t["name"].startswith("invalid"))
    assert crosses["symbol"] == "x"
    assert len(crosses["x"]) == 1


def test_curves_have_a_trace_per_group_with_an_interval_around_each_point(sweep: Path) -> None:
    for name in ("curve-throughput", "curve-p50", "curve-p95", "curve-p99"):
        traces = {t["name"]: t for t in charts_of(sweep)[name]["traces"] if t["kind"] == "points"}
        assert set(traces) == {"H2", "PostgreSQL"}
        assert len({(trace["dash"], trace["symbol"], trace["colour"]) for trace in traces.values()}) == 2
        for trace in traces.values():
            assert trace["x"] == [1, 4, 16]
            for low, middle, high in zip(trace["y_low"], trace["y"], trace["y_high"], strict=True):
                assert low < middle < high


def test_an_interval_that_is_wide_does_not_flatten_the_curve(tmp_path: Path) -> None:
    two = SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2, noise=0.2)
    chart = charts_of(store_sweep(tmp_path, two))["curve-throughput"]
    (curve,) = (trace for trace in chart["traces"] if trace["kind"] == "points")
    largest = max(value for trace in chart["traces"] for value in trace["y"])
    assert max(curve["y_high"]) > 2 * largest
    assert chart["y_max"] == pytest.approx(2 * largest)
    assert chart["caption"].endswith("Intervals that extend beyond the chart are in the table.")


def test_an_interval_that_spans_more_than_a_factor_of_ten_is_not_shown_anywhere(tmp_path: Path) -> None:
    two = SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2, noise=1.0)
    folder = store_sweep(tmp_path, two)
    wide = points.points(stored.read(folder))[1]
    found = wide.estimate("throughput")
    assert found.low is not None
    assert found.high is not None
    assert found.high > 10 * found.low
    shown = values.with_interval(wide, "throughput")
    assert shown == f"{found.value:.2f} flows/s (n = 2, too few repeats for an interval)"
    assert shown in (folder / "summary.md").read_text(encoding="utf-8")
    text = text_of(folder)
    assert "flows per second (too few repeats for an interval)" in text
    assert f"{found.value:.2f}<small>too few repeats for an interval</small>" in html(folder)
    assert f"{found.high:.2f}" not in text
    for name in ("curve-throughput", "throughput-latency"):
        chart = charts_of(folder)[name]
        (curve,) = (trace for trace in chart["traces"] if trace["kind"] == "points")
        ends = curve["y_high"] if name == "curve-throughput" else curve["x_high"]
        assert (ends[1], curve["hollow"][1]) == (None, True)
        assert chart["y_max"] is None or chart["y_max"] <= 2 * max(value for t in chart["traces"] for value in t["y"])
    stored_figures = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["points"][1]["figures"]
    assert stored_figures["throughput"]["high"] == found.high, "programs get the interval"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (1.0, 10.0, (1.0, 10.0)),
        (1.0, 10.1, None),
        (0.0, 5.0, None),
        (0.0, 0.0, (0.0, 0.0)),
        (None, None, None),
    ],
)
def test_an_interval_is_shown_up_to_a_factor_of_ten(
    low: float | None, high: float | None, shown: tuple[float, float] | None
) -> None:
    assert values.interval_shown(low, high) == shown


def test_steps_that_are_valid_with_warnings_are_counted_at_the_top(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2, invalid={4: "it broke"}))
    content = folders.read_json(folder / "steps.json")
    for step, flagged in zip(content["steps"], (True, True, False, True), strict=True):
        step["flags"] = [{"code": "others_busy", "values": {"cores": 1.5, "of": 2}}] if flagged else []
    folders.write_json(folder / "steps.json", content)
    run = stored.read(folder)
    assert report_sweep.badge(run) == ("warning", "3 of 4 steps are valid, 2 with warnings")
    steps = [changed(step, {"validity.valid": True, "validity.reasons": []}) for step in run.steps]
    assert report_sweep.badge(replace(run, steps=steps)) == ("warning", "every step is valid, 3 with warnings")
    calm = [step.updated(flags=[]) for step in steps]
    assert report_sweep.badge(replace(run, steps=calm)) == ("good", "every step is valid")


def test_no_difference_is_said_when_none_is_there(tmp_path: Path) -> None:
    same = SimulatedSweep(vary={"shape.database": ["h2", "postgres"]}, x="shape.database", factors={}, noise=0.03)
    text = text_of(store_sweep(tmp_path, same))
    assert "No difference in throughput was seen between 2 points" in text
    assert "no difference was seen between" in text.lower()


def test_one_repeat_has_no_interval_and_says_so(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, repeats=1))
    assert "one valid step, no interval" in text_of(folder)
    assert "Each point has one repeat, too few to tell whether they differ." in text_of(folder)
    trace = next(t for t in charts_of(folder)["curve-throughput"]["traces"] if t["kind"] == "points")
    assert trace["hollow"] == [True, True]
    assert trace["y_low"] == [None, None]


def test_tells_how_the_sweep_was_planned_and_what_a_named_step_has_of_its_own(sweep: Path) -> None:
    run = stored.read(sweep)
    facts = dict(report_sweep.plan_facts(run))
    assert facts["Labs"] == "a new one for every repeat of a shape"
    assert "Warm-up, first minute" not in facts
    own = {"first minute": OwnSpans(warm_up=Span(seconds_min=0.0, seconds_max=0.0))}
    manifest = run.manifest.model_copy(update={"sweep": run.sweep.model_copy(update={"own_spans": own})})
    assert dict(report_sweep.plan_facts(replace(run, manifest=manifest)))["Warm-up, first minute"] == "0 s"


def test_names_the_resource_that_was_used_up_with_its_evidence(tmp_path: Path) -> None:
    text = text_of(store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [8, 64]}, busy_percent=99)))
    assert re.search(r"At 64 users: the machine was 9\d % busy \(PartyA [\d.]+, PartyB [\d.]+ and Notary", text)
    robbed = SimulatedSweep(
        identity="20260102T030405Z-robbed", vary={"load.users": [64]}, busy_percent=99, stolen_percent=12
    )
    assert "with 12 % CPU steal" in text_of(store_sweep(tmp_path, robbed))
    idle = text_of(store_sweep(tmp_path, SimulatedSweep(identity="20260102T030406Z-idle", busy_percent=50)))
    assert "At 16 users, H2: no monitored resource was saturated." in idle
    assert "The best point has the largest value of users, so the limit may not be reached yet." in idle
    assert "Flows may have waited for one another" in idle


def test_a_growing_queue_and_a_full_heap_are_seen(sweep: Path) -> None:
    run = stored.read(sweep)
    point = points.points(run)[0]
    first = changed(point.steps[0], {"resources.node_gc_share": {"PartyA": 0.9, "PartyB": 0.1}})
    point = replace(point, steps=(first, *point.steps[1:]))
    window = first.window
    times = [window.started_at + number for number in range(0, 60, 5)]
    grown = pl.DataFrame(
        {
            "step": pl.Series([first.index] * 12, dtype=pl.Int32),
            "name": "artemis_queue_messages",
            "node": "PartyB",
            "labels": '{"broker": "P2P", "queue": "inbound"}',
            "time": times,
            "value": [float(10 * number) for number in range(12)],
        }
    )
    used = {use.resource: use for use in saturation.uses(run, point, grown)}
    assert used["queue"].is_saturated
    assert "the inbound queue of PartyB grew from" in used["queue"].evidence
    assert used["GC"].is_saturated
    assert not used["generator"].is_saturated


def test_one_time_axis_marks_every_step_and_its_phases(sweep: Path) -> None:
    data = chart_data(html(sweep))
    assert [span["name"] for span in data["spans"]] == [str(number) for number in range(1, 19)]
    assert [span["name"] for span in data["spans"] if not span["is_valid"]] == ["4"]
    for before, after in zip(data["spans"], data["spans"][1:], strict=False):
        assert before["start"] < before["warm_up_end"] < before["stop"] <= before["end"] < after["start"]
    chart = charts_of(sweep)["over-time"]
    assert len(chart["panels"]) == 5
    names = {(trace["panel"], trace["name"]) for trace in chart["traces"]}
    assert {(panel, node) for panel in (1, 2, 3, 4) for node in ("Notary", "PartyA", "PartyB")} <= names
    assert (
        len([None for trace in chart["traces"] if trace["name"] == "flows completed" for y in trace["y"] if y is None])
        == 17
    )


def test_throughput_over_the_whole_run_adds_up_to_the_rows(sweep: Path) -> None:
    trace = charts_of(sweep)["over-time"]["traces"][0]
    width = trace["x"][1] - trace["x"][0]
    drawn = sum(rate * width for rate in trace["y"] if rate is not None)
    assert drawn == pytest.approx(pl.read_parquet(sweep / "requests.parquet").height, rel=0.03)


def test_every_step_can_be_opened_and_made_again(sweep: Path) -> None:
    page, data = html(sweep), chart_data(html(sweep))
    assert set(data["steps"]) == {str(number) for number in range(1, 19)}
    for number, step in data["steps"].items():
        assert [chart["id"] for chart in step["charts"]] == ["step-throughput", "step-latency"]
        assert all(chart["traces"] for chart in step["charts"])
        assert f'data-step="{number}"' in page
    text = text_of(sweep)
    assert "scripts/lab sweep configs/sweeps/users-and-databases.yaml" in text
    assert "scripts/lab up --corda 4.10 --database postgres --notary simple --parties 3 --no-dev-mode" in text
    assert "scripts/lab run iou --users 16 --duration 1m --warm-up 15s --pacing 0s --node PartyA" in text


def test_stages_and_costs_stand_by_point(sweep: Path) -> None:
    charts = charts_of(sweep)
    stages = {trace["name"]: trace for trace in charts["stages"]["traces"]}
    assert {"start", "wait", "collect signatures", "end"} <= set(stages)
    assert charts["stages"]["is_stacked"]
    assert len({(trace["colour"], trace["pattern"]) for trace in stages.values()}) == len(stages), "not colour alone"
    assert {trace["name"] for trace in charts["cost"]["traces"]} >= {"PartyA", "bridge"}
    assert "database per flow" in text_of(sweep)


def test_the_cost_of_a_flow_is_the_nodes_and_their_database_s(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"shape.database": ["postgres"]}, x=None))
    run = stored.read(folder)
    (row,) = costs.cost_rows(points.points(run))
    (point,) = points.points(run)
    nodes = values.costs_of(point, "cpu_seconds_per_flow")
    assert {"bridge", "locust"} <= nodes.keys()
    alone = sum(value for name, value in nodes.items() if name in ("Notary", "PartyA", "PartyB"))
    assert row["totals"][0] == f"{words.amount(1000 * alone)} ms"
    assert "The CPU time of PostgreSQL was not measured" in text_of(folder)
    for step in run.steps:
        step.costs.cpu_seconds_per_flow["PostgreSQL"] = 0.01
    (row,) = costs.cost_rows(points.points(run))
    assert row["totals"][0] == f"{words.amount(1000 * alone + 10)} ms"
    assert costs.database_hint(run, points.points(run)) == (
        "The CPU time of PostgreSQL is measured over the whole load too."
    )


@pytest.mark.parametrize(
    ("shape", "evidence"),
    [
        ({"NODE_CPUSET": "0,2-3"}, "all nodes together used 2.30 of the 3 cores that they are bound to (0,2-3)"),
        ({"NODE_CPUSET": "0-1"}, "all nodes together used 2.30 of the 2 cores that they are bound to (0-1)"),
        (
            {"NODE_CPUSET": "0", "NODE_CORES": "2"},
            "all nodes together used 2.30 of the 1 cores that they are bound to (0)",
        ),
        ({"NODE_CORES": "2"}, "PartyA used 1.80 of the 2 cores that a node may use"),
        ({}, "PartyA used 1.80 of the 8 cores that a node may use"),
    ],
)
def test_a_node_s_limit_is_its_own_and_that_of_the_cores_it_is_bound_to(
    sweep: Path, shape: dict[str, str], evidence: str
) -> None:
    point = points.points(stored.read(sweep))[0]
    steps = [changed(point.steps[0], {"resources.node_cpu_cores": {"PartyA": 1.8, "PartyB": 0.5}})]
    host = ENVIRONMENT.host.model_copy(update={"cpu_count": 8})
    whole_shape = {"NODE_CORES": "0", "NODE_CPUSET": "", **shape}
    environment = ENVIRONMENT.model_copy(update={"shape": whole_shape, "host": host})
    assert saturation.node_cpu(point, steps, environment).evidence == evidence


def test_a_sweep_without_stages_and_costs_says_so(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2]}, with_stages=False))
    steps = folders.read_json(folder / "steps.json")
    for step in steps["steps"]:
        step["costs"] = {}
    folders.write_json(folder / "steps.json", steps)
    report.render(folder)
    assert "No stages: the flows of these workloads do not time their stages" in text_of(folder)
    assert "The cost could not be measured in any valid step." in text_of(folder)
    assert {"stages", "cost"}.isdisjoint(charts_of(folder))


def test_a_sweep_of_which_nothing_is_valid_still_has_a_report(tmp_path: Path) -> None:
    broken = SimulatedSweep(vary={"load.users": [2, 4]}, repeats=1, invalid={1: "no flow was completed", 2: "it broke"})
    text = text_of(store_sweep(tmp_path, broken))
    assert "No step of this sweep is valid" in text
    assert "Invalid: step 1: no flow was completed." in text


def test_a_search_shows_its_path_and_what_it_found(search: Path) -> None:
    text = text_of(search)
    assert re.search(r"Highest confirmed rate: 2\d.\d+ arrivals per second with H2", text)
    assert "were not sustained: p99" in text
    path = charts_of(search)["search"]
    assert [trace["name"] for trace in path["traces"]] == [
        "search",
        "sustained",
        "not sustained",
        "confirmed by a longer step",
    ]
    assert len(path["traces"][0]["x"]) == len(stored.read(search).steps)


def test_a_search_without_a_confirmed_rate_names_no_best_point(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={}, x=None, speed=0.1), find_max=True)
    text = text_of(folder)
    assert "No rate was confirmed." in text
    assert "4 arrivals per second were not sustained: p99" in text
    assert "highest throughput" not in text
    assert "confirmed throughput" not in text
    assert "★ 4/s" not in text


def test_a_search_tells_the_lowest_rate_above_the_confirmed_one(search: Path) -> None:
    run = stored.read(search)
    for found in points.searched(run, points.points(run)):
        assert found.rate is not None
        assert found.failed is not None
        assert found.rate < found.failed.x == found.high
    # A longer run that does not hold is told too, though every probe of its rate held.
    missed = VerdictEntry(passed=False, reasons=[reason("latency_above", name="p99", seen_ms=3000, limit_ms=2000)])
    confirmation = next(step for step in run.steps if step.phase == "confirm")
    steps = [step.updated(thresholds=missed) if step is confirmation else step for step in run.steps]
    assert run.sweep.find_max is not None
    sweep = run.sweep.model_copy(update={"find_max": run.sweep.find_max.model_copy(update={"outcomes": {}})})
    broken_off = stored.StoredRun(run.folder, run.manifest.model_copy(update={"sweep": sweep}), steps)
    found = points.searched(broken_off, points.points(broken_off))[0]
    assert (found.rate, found.low) == (None, confirmation.load.rate_per_second)
    assert found.failed is not None


def test_points_of_a_search_are_told_apart_by_their_rate(search: Path) -> None:
    labels = [point.label for point in points.points(stored.read(search)) if point.phase == "probe"]
    assert len(labels) == len(set(labels))
    assert labels[0] == "4/s, H2"


def test_best_is_only_what_is_shown_to_be_better_than_all_others(tmp_path: Path) -> None:
    near = SimulatedSweep(vary={"shape.corda": ["4.3", "4.5", "4.10"]}, x=None, factors={"4.10": 0.7}, repeats=5)
    text = text_of(store_sweep(tmp_path, near))
    assert re.search(
        r"The highest throughput was measured with Corda 4\.\d: .*\. It is not shown to be better than Corda 4\.\d\.",
        text,
    )
    assert "Throughput was best" not in text
    assert "No difference in throughput" not in text
    assert re.search(
        r"Compared with Corda 4\.3: Corda 4\.5 [\d.]+ × .*; Corda 4\.10 0\.\d+ × \([\d.]+ to [\d.]+\), slower", text
    )


def test_repeats_that_are_not_valid_are_not_taken_for_one_repeat_each(tmp_path: Path) -> None:
    spoilt = SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2, invalid={2: INVALID})
    text = text_of(store_sweep(tmp_path, spoilt))
    assert "There are fewer than two valid repeats to compare, too few to tell which point is best." in text
    assert "There are fewer than two valid repeats to compare, too few to tell whether they differ." in text


def test_one_repeat_names_nothing_as_the_best(tmp_path: Path) -> None:
    text = text_of(store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, repeats=1)))
    assert "Each point has one repeat, too few to tell which point is best." in text


def test_a_sweep_that_completed_nothing_has_no_best_point(tmp_path: Path) -> None:
    broken = SimulatedSweep(vary={"load.users": [2, 8]}, x=None, repeats=1, collapsed=(1, 2))
    assert "No flow was completed in the measuring window." in text_of(store_sweep(tmp_path, broken))


def test_each_workload_is_judged_by_itself(tmp_path: Path) -> None:
    presets = SimulatedSweep(
        vary={"workload": ["iou", "cash-issue"], "shape.preset": ["stock", "tuned"]},
        x=None,
        factors={"tuned": 1.3, "cash-issue": 2.0},
    )
    folder = store_sweep(tmp_path, presets)
    text = text_of(folder)
    assert "Throughput of iou was best with preset tuned" in text
    assert "Throughput of cash-issue was best with preset tuned" in text
    run = stored.read(folder)
    judged = significance.judge(run, points.points(run))
    assert {one.compared.first.workload == one.compared.second.workload for one in judged.planned} == {True}
    assert [one.compared.verdict for one in judged.planned] == ["faster", "faster"]


def test_a_name_that_would_cover_another_is_left_to_its_point(tmp_path: Path) -> None:
    versions = ["4.5", "4.6", "4.7", "4.8", "4.9", "4.10"]
    same = SimulatedSweep(vary={"shape.corda": versions}, x=None, factors={}, noise=0.001, repeats=2)
    chart = charts_of(store_sweep(tmp_path, same))["throughput-latency"]
    (trace,) = chart["traces"]
    assert trace["texts"][0] == "Corda 4.5"
    assert "" in trace["texts"]
    assert "Labels that would overlap others are shown on hover." in chart["caption"]


def test_without_intervals_ratios_stand_alone_and_nothing_is_said_of_judging(tmp_path: Path) -> None:
    once = SimulatedSweep(vary={"shape.corda": ["4.8", "4.9", "4.10"]}, x=None, factors={}, noise=0.01, repeats=1)
    text = text_of(store_sweep(tmp_path, once))
    assert re.search(r"Compared with Corda 4\.8 \(no intervals\): Corda 4\.9 [\d.]+ ×; Corda 4\.10 [\d.]+ ×\.", text)
    assert "judged together)" not in text


def test_workloads_that_are_all_that_varies_are_compared_in_one_sentence(tmp_path: Path) -> None:
    factors = {"cash-issue": 2.0, "cash-issue-and-pay": 0.5}
    swaps = SimulatedSweep(vary={"workload": ["iou", *factors]}, x=None, factors=factors)
    ratio = r"[\d.]+ × \([\d.]+ to [\d.]+\)"
    assert re.search(
        rf"Compared with iou: cash-issue {ratio}, faster; cash-issue-and-pay {ratio}, slower \(paired",
        text_of(store_sweep(tmp_path, swaps)),
    )


def test_that_one_repeat_shows_nothing_is_said_once_of_several_workloads(tmp_path: Path) -> None:
    presets = SimulatedSweep(
        vary={"workload": ["iou", "cash-issue"], "shape.preset": ["stock", "tuned"]}, x=None, repeats=1
    )
    assert text_of(store_sweep(tmp_path, presets)).count("too few to tell whether they differ") == 1


@pytest.mark.parametrize(
    ("vary", "x", "words"),
    [
        (
            {"load.users": [2, 8]},
            "load.users",
            "connected in order of users; labels show the users. Where the curve",
        ),
        ({"shape.cores": [1, 2]}, "shape.cores", "in order of cores; labels show the cores. Points further right"),
        ({"shape.database": ["h2", "postgres"]}, "shape.database", "throughput of each point. Points further right"),
    ],
)
def test_the_order_in_which_points_are_joined_is_named(
    tmp_path: Path, vary: dict[str, Any], x: str, words: str
) -> None:
    chart = charts_of(store_sweep(tmp_path, SimulatedSweep(vary=vary, x=x, repeats=1)))["throughput-latency"]
    assert words in chart["caption"]


def test_a_sweep_of_one_rate_is_judged_by_its_latency(tmp_path: Path) -> None:
    load = {"arrivals": "constant", "rate": 5, "users": 20}
    sizes = SimulatedSweep(vary={"set.megabytes": [1, 10]}, x=None, load=load, factors={10: 0.3})
    text = text_of(store_sweep(tmp_path, sizes))
    assert re.search(r"Latency p95 from the intended start was best with megabytes=1: \d+ ms", text)
    assert "The system kept up with the offered rate at every point, so no limit was reached." in text


def test_a_rate_that_was_not_kept_is_where_the_limit_is_looked_for(tmp_path: Path) -> None:
    load = {"arrivals": "constant", "users": 60}
    text = text_of(store_sweep(tmp_path, SimulatedSweep(vary={"load.rate": [8, 40]}, x=None, load=load)))
    assert "At 40/s, the system did not keep up with the offered rate: the machine was" in text


def test_flows_that_make_more_states_are_judged_by_states(tmp_path: Path) -> None:
    name = "set.numberOfStatesPerTx"
    states = SimulatedSweep(vary={name: [1, 5]}, states_by=name, x=None, factors={5: 0.6})
    folder = store_sweep(tmp_path, states)
    text = text_of(folder)
    assert "Throughput in states was best with numberOfStatesPerTx=5:" in text
    assert "curve-states" in charts_of(folder)
    with (folder / "summary.csv").open(encoding="utf-8") as file:
        assert {"states_per_second", "states_per_second_low"} <= set(next(csv.DictReader(file)))


def test_a_step_that_was_ended_because_all_failed_counts_as_one_that_completed_nothing(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, ended=(2,)))
    run = stored.read(folder)
    text = text_of(folder)
    assert "Failed: step 2: every request failed in the same way, so the load was ended after 11 s:" in text
    assert 'class="badge bad"' in html(folder)
    (point,) = [point for point in points.points(run) if point.collapsed]
    assert (len(point.valid), point.collapsed[0].index) == (3, 2)
    (problem,) = execute.problems_of(run)
    assert "every request failed in the same way" in problem


def test_what_failed_is_told_at_the_top(tmp_path: Path) -> None:
    broken = SimulatedSweep(vary={"load.users": [2, 8]}, collapsed=(2,), thresholds={"p95_max": "700ms"})
    folder = store_sweep(tmp_path, broken)
    text = text_of(folder)
    assert "Failed: step 2: no flow was completed in the measuring window." in text
    assert re.search(r"Failed requests: [\d,]+ × 502 flow-failed: the responder refused to sign\.", text)
    assert re.search(r"Failed: steps 3 .*: p95 is \d+ to [\d,]+ ms, above the limit of 700 ms\.", text)
    assert 'class="badge bad"' in html(folder)
    point = points.points(stored.read(folder))[1]
    assert (point.estimate("throughput").low, len(point.collapsed)) == (0.0, 1), "0 flows/s is an outcome"


@pytest.mark.parametrize("order", ["interleaved", "listed"])
@pytest.mark.parametrize("is_curve", [True, False])
def test_a_report_of_seven_equal_points_shows_a_difference_as_seldom_as_it_says(order: str, is_curve: bool) -> None:
    noise, simulations = interval_coverage.lognormal(0.03), 800
    alarms = interval_coverage.report_alarms(
        noise, simulations=simulations, points=7, repeats=3, order=order, is_curve=is_curve
    )
    assert alarms <= 0.05 + 3 * (0.05 * 0.95 / simulations) ** 0.5


def test_loads_nothing_from_anywhere(sweep: Path) -> None:
    page = html(sweep)
    assert not re.search(r"<(?:script|img|iframe|link)[^>]+(?:src|href)=\"(?!data:)", page)
    assert not re.search(r"(?:@import|url\()", without_scripts(page))
    assert page.count("plotly.js v") == 1


def test_every_chart_has_a_place_and_every_place_a_chart(sweep: Path) -> None:
    places = set(re.findall(r'class="plot[^"]*" id="([a-z0-9-]+)"', html(sweep)))
    assert places == set(charts_of(sweep)) | {"step-throughput", "step-latency"}


def test_texts_of_others_are_shown_as_text(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2]}, repeats=1, errors_every=50))
    steps = folders.read_json(folder / "steps.json")
    steps["steps"][0]["errors"][0]["error"] = "</script><b>bold"
    steps["steps"][0]["label"] = "</script><i>two"
    folders.write_json(folder / "steps.json", steps)
    report.render(folder)
    page = html(folder)
    assert "<b>bold" not in page
    assert "<i>two" not in page


def test_rows_are_counted_and_never_embedded(tmp_path: Path) -> None:
    few = SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2, rows_per_step=500)
    many = SimulatedSweep(
        vary={"load.users": [2, 8]}, repeats=2, rows_per_step=20_000, identity="20260102T030406Z-many"
    )
    sizes = [len(html(store_sweep(tmp_path, one))) for one in (few, many)]
    assert sizes[1] < 1.02 * sizes[0]
    assert sizes[1] < FILE_MEGABYTES_MAX * 1e6


def test_the_largest_report_is_made_within_its_limits(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, LARGEST)
    page = folder / "report.html"
    page.unlink()
    subprocess.run(
        [sys.executable, "-m", "corda_lab", "report", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        stdout=subprocess.DEVNULL,
        timeout=LARGEST_SECONDS_MAX,
        check=True,
    )
    assert stored.read(folder).table("requests", ["step"]).height >= 1_000_000
    # The most that any process started by these tests has taken.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 < LARGEST_GIGABYTES_MAX * 1e9
    assert page.stat().st_size < FILE_MEGABYTES_MAX * 1e6


def test_summaries_stand_beside_the_report(sweep: Path) -> None:
    with (sweep / "summary.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows][:2] == ["1 user, H2", "4 users, H2"]
    assert len(rows) == 6
    for row in rows:
        assert float(row["throughput_per_second_low"]) < float(row["throughput_per_second"])
    data = json.loads((sweep / "summary.json").read_text(encoding="utf-8"))
    assert data["headline"].startswith("Throughput was best with 16 users, H2")
    assert data["points"][0]["figures"]["p99"]["unit"] == "ms"
    markdown = (sweep / "summary.md").read_text(encoding="utf-8")
    assert "| 16 users, PostgreSQL |" in markdown
    assert "⚠ Invalid: step 4" in markdown


def test_is_made_again_alike_from_the_stored_files(sweep: Path) -> None:
    names = ("report.html", "summary.md", "summary.csv", "summary.json")
    first = {name: (sweep / name).read_bytes() for name in names}
    report.render(sweep)
    assert {name: (sweep / name).read_bytes() for name in names} == first


@pytest.mark.parametrize(
    ("parameter", "value", "told"),
    [
        ("load.users", 8, "8 users"),
        ("shape.database", "postgres", "PostgreSQL"),
        ("shape.heap", "2g", "heap 2g"),
        ("shape.dev_mode", False, "production mode"),
    ],
)
def test_values_are_told_with_their_parameter_where_they_need_it(parameter: str, value: Any, told: str) -> None:
    assert points.value_words(parameter, value) == told


def test_tells_which_steps_were_measured_again(tmp_path: Path) -> None:
    text = text_of(store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2]}, x=None, measured_again=(2, 3))))
    assert "Steps 2 and 3 were rerun because of the host." in text


def test_open_load_of_one_rate_that_completed_nothing_says_so(tmp_path: Path) -> None:
    load = {"arrivals": "constant", "rate": 5, "users": 20}
    broken = SimulatedSweep(vary={"set.megabytes": [1, 10]}, x=None, repeats=1, load=load, collapsed=(1, 2))
    text = text_of(store_sweep(tmp_path, broken))
    assert "No flow was completed in the measuring window." in text
    assert "no valid step" not in text.replace("or no valid step has stage rows", "")


def test_a_point_that_does_a_part_of_a_constant_rate_did_not_keep_it(tmp_path: Path) -> None:
    run = stored.read(
        store_sweep(tmp_path, SimulatedSweep(vary={}, x=None, load={"arrivals": "constant", "rate": 0.5, "users": 20}))
    )
    (point,) = points.points(run)
    assert conclusions.keeps_rate(point)
    slower = point.steps[0].updated(throughput_per_second=0.4)
    assert not conclusions.keeps_rate(replace(point, steps=(slower, *point.steps[1:])))


def test_a_link_that_every_start_measures_anew_is_one_lab(sweep: Path) -> None:
    run = stored.read(sweep)
    (first,) = (one for one in run.manifest.environments if one.shape["DATABASE"] == "h2")
    links = [MeasuredLink(name="partya-partyb", wanted_ms=40, direct_ms=3.0, through_ms=ms) for ms in (43.21, 43.0)]
    starts = [first.model_copy(update={"links_measured": [link]}) for link in links]
    started_twice = replace(run, manifest=run.manifest.model_copy(update={"environments": starts}))
    (row,) = report_sweep.environment_rows(started_twice)
    assert dict(row["facts"])["Link partya-partyb"] == "round trip 43.0 to 43.2 ms, without the proxy 3.0 ms"


def test_many_steps_of_one_reason_are_told_once() -> None:
    assert conclusions.steps_words([str(number) for number in range(1, 21)]) == (
        "steps 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 9 more"
    )
