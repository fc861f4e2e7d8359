"""The report of a sweep: what it shows, draws and tabulates, from the stored files alone."""

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.analysis import points, values
from corda_lab.report import charts_sweep, tables
from corda_lab.report import page as report
from corda_lab.report import sweep as report_sweep
from corda_lab.report.chart import Chart, Look
from corda_lab.report.facts import plan_facts
from corda_lab.results import folders, stored
from corda_lab.results.manifest import MeasuredLink
from corda_lab.results.sweep_parts import SpanFields, StepFields
from corda_lab.sweeps.run import problems_of
from corda_lab.text import words
from support.entries import changed
from support.pages import places, report_charts, report_file, report_html, report_text, without_scripts
from support.sweeps import INVALID, SimulatedSweep, store_sweep


def curve_looks(chart: Chart) -> dict[str, Look]:
    """The looks of the curves of a chart, without single steps."""
    return {name: look for name, look in chart.shown_looks.items() if look.mark == "points"}


def test_names_invalid_steps_and_leaves_them_out_of_every_average(sweep: Path) -> None:
    assert f"Invalid: step 4: {INVALID}." in report_text(sweep)
    run = stored.read(sweep)
    broken = next(point for point in points.points(run) if any(step.index == 4 for step in point.steps))
    assert (len(broken.steps), broken.estimate("throughput").n) == (3, 2)
    assert report_charts(sweep)["curve-throughput"].of(charts_sweep.INVALID).height == 1


def test_curves_have_a_series_per_group_with_an_interval_around_each_point(sweep: Path) -> None:
    for name in ("curve-throughput", "curve-p50", "curve-p95", "curve-p99"):
        chart = report_charts(sweep)[name]
        assert len({(look.dash, look.shape, look.colour) for look in curve_looks(chart).values()}) == 2
        for group in ("H2", "PostgreSQL"):
            curve = chart.of(group)
            assert curve["x"].to_list() == [1, 4, 16]
            assert curve.select((pl.col("low") < pl.col("y")) & (pl.col("y") < pl.col("high"))).to_series().all()


def test_a_sweep_of_bursts_has_a_report(tmp_path: Path, stored_burst_run: Callable[..., Path]) -> None:
    burst = stored.read(stored_burst_run()).steps[0]
    folder = store_sweep(tmp_path / "sweep", SimulatedSweep(vary={"load.users": [2, 8]}))
    content = folders.read_json(folder / "steps.json")
    for step in content["steps"]:
        stored_burst = burst.model_dump(mode="json")
        step["load"] = stored_burst["load"] | {"users": step["load"]["users"]}
        step["bursts"] = stored_burst["bursts"]
        step["latency_intended_ms"] = step["latency_ms"]
    folders.write_json(folder / "steps.json", content)
    report.render(folder)
    text = report_text(folder)
    assert "8 users" in text
    assert "--arrivals burst" in report_html(folder)


def test_an_interval_that_is_wide_does_not_flatten_the_curve(tmp_path: Path) -> None:
    two = SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2, noise=0.2)
    chart = report_charts(store_sweep(tmp_path, two))["curve-throughput"]
    largest = max(chart.frame["y"])
    assert max(chart.frame["high"].drop_nulls()) > 2 * largest
    assert chart.y_max == pytest.approx(2 * largest)
    assert chart.caption.endswith("Intervals that extend beyond the chart are in the table.")


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
    assert shown in report_file(folder, "summary.md")
    text = report_text(folder)
    assert "flows per second (too few repeats for an interval)" in text
    assert f"{found.value:.2f}<small>too few repeats for an interval</small>" in report_html(folder)
    assert f"{found.high:.2f}" not in text
    for name in ("curve-throughput", "throughput-latency"):
        chart = report_charts(folder)[name]
        (group,) = curve_looks(chart)
        curve = chart.of(group)
        assert (curve["high" if name == "curve-throughput" else "x_high"][1], curve["is_hollow"][1]) == (None, True)
        assert chart.y_max is None or chart.y_max <= 2 * max(chart.frame["y"])
    stored_values = json.loads(report_file(folder, "summary.json"))["points"][1]["values"]
    assert stored_values["throughput"]["high"] == found.high, "programs get the interval"


def test_steps_that_are_valid_with_warnings_are_counted_at_the_top(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2, invalid=[4]))
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


def test_one_repeat_has_no_interval_and_says_so(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, repeats=1))
    assert "one valid step, no interval" in report_text(folder)
    assert "Each point has one repeat, too few to tell which point is best." in report_text(folder)
    chart = report_charts(folder)["curve-throughput"]
    assert chart.frame["is_hollow"].to_list() == [True, True]
    assert chart.frame["low"].to_list() == [None, None]


def test_tells_how_the_sweep_was_planned_and_what_a_named_step_has_of_its_own(sweep: Path) -> None:
    run = stored.read(sweep)
    facts = dict(plan_facts(run))
    assert facts["Labs"] == "a new one for every repeat of a shape"
    assert "Warm-up, first minute" not in facts
    own = [StepFields(name="first minute", warm_up=SpanFields(min=0, max=0))]
    manifest = run.manifest.model_copy(update={"sweep": run.sweep.model_copy(update={"steps": own})})
    assert dict(plan_facts(replace(run, manifest=manifest)))["Warm-up, first minute"] == "0 s"


def test_one_time_axis_marks_every_step_and_its_phases(sweep: Path) -> None:
    chart = report_charts(sweep)["over-time"]
    assert [span.name for span in chart.spans] == [str(number) for number in range(1, 19)]
    assert [span.name for span in chart.spans if not span.is_valid] == ["4"]
    for before, after in pairwise(chart.spans):
        assert before.start < before.warm_up_end < before.stop <= before.end < after.start
    assert len(chart.panels) == 5
    names = set(chart.frame.select("panel", "series").unique().iter_rows())
    assert {(panel, node) for panel in (1, 2, 3, 4) for node in ("Notary", "PartyA", "PartyB")} <= names
    completed = chart.of("flows completed")
    assert completed["y"].null_count() == 18, "a line breaks after each step"
    assert completed["x"].is_sorted()


def test_throughput_over_the_whole_run_adds_up_to_the_rows(sweep: Path) -> None:
    completed = report_charts(sweep)["over-time"].of("flows completed")
    width = completed["x"][1] - completed["x"][0]
    assert completed["y"].sum() * width == pytest.approx(pl.read_parquet(sweep / "requests.parquet").height, rel=0.03)


def test_every_step_can_be_opened_and_made_again(sweep: Path) -> None:
    page, charts = report_html(sweep), report_charts(sweep)
    for number in range(1, 19):
        assert not charts[f"step-{number}-throughput"].is_empty
        assert not charts[f"step-{number}-latency"].is_empty
        assert f'data-step="{number}"' in page
    text = report_text(sweep)
    assert "scripts/lab sweep configs/sweeps/users-and-databases.yaml" in text
    assert "scripts/lab up --corda 4.10 --database postgres --notary simple --parties 3 --set DEV_MODE=false" in text
    assert "scripts/lab run iou --users 16 --duration 1m --warm-up 15s --set pacing=0s --node PartyA" in text


def test_stages_and_costs_stand_by_point(sweep: Path) -> None:
    charts = report_charts(sweep)
    stages = charts["stages"].shown_looks
    assert {"start", "wait", "collect signatures", "end"} <= set(stages)
    assert len({(look.colour, look.pattern) for look in stages.values()}) == len(stages), "not colour alone"
    assert set(charts["cost"].shown_looks) >= {"PartyA", "bridge"}
    assert "database per flow" in report_text(sweep)


def test_the_cost_of_a_flow_is_the_nodes_and_their_database_s(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"shape.database": ["postgres"]}, x=None))
    run = stored.read(folder)
    (row,) = tables.cost_rows(points.points(run))
    (point,) = points.points(run)
    nodes = values.costs_of(point, "cpu_seconds_per_flow")
    assert {"bridge", "locust"} <= nodes.keys()
    alone = sum(value for name, value in nodes.items() if name in ("Notary", "PartyA", "PartyB"))
    assert row["totals"][0] == f"{words.amount(1000 * alone)} ms"
    assert "The CPU time of PostgreSQL was not measured" in report_text(folder)
    for step in run.steps:
        step.costs["cpu_seconds_per_flow"]["PostgreSQL"] = 0.01
    (row,) = tables.cost_rows(points.points(run))
    assert row["totals"][0] == f"{words.amount(1000 * alone + 10)} ms"
    assert tables.database_hint(run, points.points(run)) == (
        "The CPU time of PostgreSQL is measured over the whole load too."
    )


def test_a_sweep_without_stages_and_costs_says_so(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2]}, with_stages=False))
    steps = folders.read_json(folder / "steps.json")
    for step in steps["steps"]:
        step["costs"] = {}
    folders.write_json(folder / "steps.json", steps)
    report.render(folder)
    assert "No stages: no valid step has spans of its flows." in report_text(folder)
    assert "The cost could not be measured in any valid step." in report_text(folder)
    assert {"stages", "cost"}.isdisjoint(report_charts(folder))


def test_a_sweep_of_which_nothing_is_valid_still_has_a_report(tmp_path: Path) -> None:
    broken = SimulatedSweep(vary={"load.users": [2, 4]}, repeats=1, invalid=[1, 2])
    text = report_text(store_sweep(tmp_path, broken))
    assert "No step of this sweep is valid" in text
    assert f"Invalid: steps 1 and 2: {INVALID}." in text


def test_a_search_shows_its_path_and_what_it_found(search: Path) -> None:
    text = report_text(search)
    assert re.search(r"Highest confirmed rate: 2\d.\d+ arrivals per second with H2", text)
    assert "were not sustained: p99" in text
    path = report_charts(search)["search"]
    assert list(path.shown_looks) == ["search", "sustained", "not sustained", "confirmed by a longer step"]
    assert path.of("search").height == len(stored.read(search).steps)


def test_a_name_that_would_cover_another_is_left_to_its_point(tmp_path: Path) -> None:
    versions = ["4.5", "4.6", "4.7", "4.8", "4.9", "4.10"]
    same = SimulatedSweep(vary={"shape.corda": versions}, x=None, factors={}, noise=0.001, repeats=2)
    chart = report_charts(store_sweep(tmp_path, same))["throughput-latency"]
    assert chart.frame["text"][0] == "Corda 4.5"
    assert chart.frame["text"].null_count() > 0
    assert "Labels that would overlap others are shown on hover." in chart.caption


def test_a_list_is_one_value_of_a_parameter(tmp_path: Path) -> None:
    links = [["partya-partyb=+8ms"], ["partya-partyb=+8ms", "partya-notary=+4ms"]]
    text = report_text(store_sweep(tmp_path, SimulatedSweep(vary={"shape.link": links}, x=None)))
    assert "link partya-partyb=+8ms, link partya-notary=+4ms" in text


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
    chart = report_charts(store_sweep(tmp_path, SimulatedSweep(vary=vary, x=x, repeats=1)))["throughput-latency"]
    assert words in chart.caption


def test_flows_that_make_more_states_are_judged_by_states(tmp_path: Path) -> None:
    name = "set.numberOfStatesPerTx"
    states = SimulatedSweep(vary={name: [1, 5]}, states_by=name, x=None, factors={5: 0.6})
    folder = store_sweep(tmp_path, states)
    text = report_text(folder)
    assert "Throughput in states was best with numberOfStatesPerTx=5:" in text
    assert "curve-states" in report_charts(folder)
    with StringIO(report_file(folder, "summary.csv")) as file:
        assert {"states_per_second", "states_per_second_low"} <= set(next(csv.DictReader(file)))


def test_a_step_that_was_ended_because_all_failed_counts_as_one_that_completed_nothing(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, ended=(2,)))
    run = stored.read(folder)
    text = report_text(folder)
    assert "Failed: step 2: every request failed in the same way, so the load was ended after 11 s:" in text
    assert 'class="badge bad"' in report_html(folder)
    (point,) = [point for point in points.points(run) if point.collapsed]
    assert (len(point.valid), point.collapsed[0].index) == (3, 2)
    (problem,) = problems_of(run)
    assert "every request failed in the same way" in problem


def test_what_failed_is_told_at_the_top(tmp_path: Path) -> None:
    broken = SimulatedSweep(vary={"load.users": [2, 8]}, collapsed=(2,), thresholds={"p95_max": "700ms"})
    folder = store_sweep(tmp_path, broken)
    text = report_text(folder)
    assert "Failed: step 2: no flow was completed in the measuring window." in text
    assert re.search(r"Failed requests: [\d,]+ × 502 flow-failed: the responder refused to sign\.", text)
    assert re.search(r"Failed: steps 3 .*: p95 is \d+ to [\d,]+ ms, above the limit of 700 ms\.", text)
    assert 'class="badge bad"' in report_html(folder)
    point = points.points(stored.read(folder))[1]
    assert (point.estimate("throughput").low, len(point.collapsed)) == (0.0, 1), "0 flows/s is an outcome"


def test_loads_nothing_from_anywhere(sweep: Path) -> None:
    page = report_html(sweep)
    assert not re.search(r"<(?:script|img|iframe|link)[^>]+(?:src|href)=\"(?!data:)", page)
    assert not re.search(r"@import|url\((?!#)", without_scripts(page))


def test_every_chart_has_a_place_and_every_place_a_chart(sweep: Path) -> None:
    assert sorted(places(report_html(sweep))) == sorted(report_charts(sweep))


@pytest.mark.parametrize("stored_sweep", ["sweep", "search"])
def test_every_chart_and_every_panel_has_data(request: pytest.FixtureRequest, stored_sweep: str) -> None:
    charts = report_charts(request.getfixturevalue(stored_sweep))
    assert [name for name, chart in charts.items() if chart.is_empty] == []
    over_time = charts["over-time"]
    assert set(over_time.frame.drop_nulls("y")["panel"]) == set(range(len(over_time.panels)))


def test_any_value_can_be_drawn_by_its_name(sweep: Path) -> None:
    run = stored.read(sweep)
    all_points = points.points(run)
    chart = charts_sweep.metric_chart(run, all_points, "cpu_percent.PartyA", title="CPU", caption="", width="")
    assert (chart.id, chart.y_title) == ("curve-cpu-percent-partya", "%")
    curves = chart.frame.filter(pl.col("series").is_in(list(curve_looks(chart))))
    assert sorted(curves["y"]) == sorted(point.estimate("cpu_percent.PartyA").value or 0 for point in all_points)
    assert re.match(r"1 user, H2: [\d.]+ % \(", curves["label"][0])


def test_the_values_that_no_other_table_has_are_listed_by_point(sweep: Path) -> None:
    table = tables.values_by_point(points.points(stored.read(sweep)))
    assert len(table.columns) == 6
    rows = {name: cells for name, _, cells in table.rows}
    assert {"cpu_percent", "latency_mean", "cpu_seconds_per_flow", "goodput"} <= rows.keys()
    assert not {"throughput", "p95", "burst_total"} & rows.keys()
    assert all(re.fullmatch(r"[\d.]+ m?s", cell) for cell in rows["latency_mean"])
    assert "More values of each point" in report_html(sweep)
    with StringIO(report_file(sweep, "summary.csv")) as file:
        columns = next(csv.DictReader(file))
    assert {"latency_mean_ms", "cpu_percent", "cpu_seconds_per_flow_low", "goodput_per_second"} <= columns.keys()


def test_texts_of_others_are_shown_as_text(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2]}, repeats=1, errors_every=50))
    steps = folders.read_json(folder / "steps.json")
    steps["steps"][0]["failures"][0]["error"] = "</script><b>bold"
    steps["steps"][0]["label"] = "</script><i>two"
    folders.write_json(folder / "steps.json", steps)
    report.render(folder)
    page = report_html(folder)
    assert "<b>bold" not in page
    assert "<i>two" not in page


def test_summaries_stand_beside_the_report(sweep: Path) -> None:
    with StringIO(report_file(sweep, "summary.csv")) as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows][:2] == ["1 user, H2", "4 users, H2"]
    assert len(rows) == 6
    for row in rows:
        assert float(row["throughput_per_second_low"]) < float(row["throughput_per_second"])
    data = json.loads(report_file(sweep, "summary.json"))
    assert data["headline"].startswith("Throughput was best with 16 users, H2")
    assert data["points"][0]["values"]["p99"]["unit"] == "ms"
    markdown = report_file(sweep, "summary.md")
    assert "| point | compared with | ratio (interval) | p | n | verdict |" in markdown
    assert re.search(r"\| 16 users, PostgreSQL \| 16 users, H2 \| .* \| slower \|", markdown)
    assert "| 16 users, PostgreSQL |" in markdown
    assert "⚠ Invalid: step 4" in markdown


def test_is_made_again_alike_from_the_stored_files(sweep: Path) -> None:
    names = ("report.html", "summary.md", "summary.csv", "summary.json")
    first = {name: report_file(sweep, name).encode() for name in names}
    report.render(sweep)
    assert {name: (sweep / name).read_bytes() for name in names} == first


def test_open_load_of_one_rate_that_completed_nothing_says_so(tmp_path: Path) -> None:
    load = {"arrivals": "constant", "rate": 5, "users": 20}
    broken = SimulatedSweep(vary={"set.megabytes": [1, 10]}, x=None, repeats=1, load=load, collapsed=(1, 2))
    text = report_text(store_sweep(tmp_path, broken))
    assert "No flow was completed in the measuring window." in text
    assert "no valid step" not in text.replace("no valid step has spans", "")


def test_a_link_that_every_start_measures_anew_is_one_lab(sweep: Path) -> None:
    run = stored.read(sweep)
    (first,) = (one for one in run.manifest.environments if one.shape["DATABASE"] == "h2")
    links = [MeasuredLink(name="partya-partyb", wanted_ms=40, direct_ms=3.0, through_ms=ms) for ms in (43.21, 43.0)]
    starts = [first.model_copy(update={"links_measured": [link]}) for link in links]
    started_twice = replace(run, manifest=run.manifest.model_copy(update={"environments": starts}))
    (row,) = report_sweep.environment_rows(started_twice)
    assert dict(row["facts"])["Link partya-partyb"] == "round trip 43.0 to 43.2 ms, without the proxy 3.0 ms"
