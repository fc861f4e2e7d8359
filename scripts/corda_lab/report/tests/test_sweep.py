"""The report of a sweep: what it shows, draws and tabulates, from the stored files alone."""

import csv
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.analysis.conclusions import Analysis
from corda_lab.analysis.values import with_interval
from corda_lab.paths import ROOT
from corda_lab.report import charts_sweep, facts, page, tables
from corda_lab.report.chart import Chart, Look
from corda_lab.results import stored
from corda_lab.results.manifest import MeasuredLink
from corda_lab.results.stored import StoredRun
from corda_lab.sweeps.run import problems_of
from support.commands import PYTHONPATH
from support.entries import changed
from support.pages import places, report_charts, report_file, report_html, report_text, without_scripts
from support.runs import change_steps
from support.sweeps import INVALID, LARGEST, SimulatedSweep, store_sweep


def curve_looks(chart: Chart) -> dict[str, Look]:
    """The looks of the curves of a chart, without single steps."""
    return {name: look for name, look in chart.shown_looks.items() if look.mark == "points"}


def test_names_invalid_steps_and_leaves_them_out_of_every_average(sweep: Path) -> None:
    assert f"Invalid: step 4: {INVALID}." in report_text(sweep)
    (broken,) = [point for point in Analysis(stored.read(sweep)).points if any(step.index == 4 for step in point.steps)]
    assert (len(broken.steps), broken.estimate("throughput").n) == (3, 2)
    assert report_charts(sweep)["curve-throughput"].of(charts_sweep.INVALID).height == 1


def test_curves_have_a_series_per_group_with_an_interval_around_each_point(sweep: Path) -> None:
    charts = report_charts(sweep)
    for name in ("curve-throughput", "curve-p50", "curve-p95", "curve-p99"):
        chart = charts[name]
        assert len({(look.dash, look.shape, look.colour) for look in curve_looks(chart).values()}) == 2
        for group in ("H2", "PostgreSQL"):
            curve = chart.of(group)
            assert curve["x"].to_list() == [1, 4, 16]
            assert curve.select((pl.col("low") < pl.col("y")) & (pl.col("y") < pl.col("high"))).to_series().all()


def test_a_sweep_of_bursts_has_a_report(tmp_path: Path, stored_burst_run: Callable[..., Path]) -> None:
    burst = stored.read(stored_burst_run()).steps[0].model_dump(mode="json")
    folder = store_sweep(tmp_path / "sweep", SimulatedSweep(vary={"load.users": [2, 8]}))

    def with_bursts(step: dict[str, Any]) -> None:
        step["load"] = burst["load"] | {"users": step["load"]["users"]}
        step |= {"values": step["values"] | burst["values"], "latency_intended_ms": step["latency_ms"]}

    change_steps(folder, with_bursts)
    assert "--arrivals burst" in report_html(folder)


def test_an_interval_that_spans_more_than_a_factor_of_ten_is_not_shown_anywhere(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2, noise=1.0))
    wide = Analysis(stored.read(folder)).points[1]
    estimate = wide.estimate("throughput")
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.high > 10 * estimate.low
    shown = with_interval(wide, "throughput")
    assert shown == f"{estimate.value:.2f} flows/s (too few repeats for an interval, n = 2)"
    assert shown in report_file(folder, "summary.md")
    assert f"{estimate.value:.2f}<small>too few repeats for an interval</small>" in report_html(folder)
    assert f"{estimate.high:.2f}" not in report_text(folder)
    charts = report_charts(folder)
    for name, high in (("curve-throughput", "high"), ("throughput-latency", "x_high")):
        (group,) = curve_looks(charts[name])
        curve = charts[name].of(group)
        assert (curve[high][1], curve["is_hollow"][1]) == (None, True)
    values = json.loads(report_file(folder, "summary.json"))["points"][1]["values"]
    assert values["throughput"]["high"] == estimate.high, "programs get the interval"


def test_the_badge_says_whether_steps_are_valid_or_have_warnings(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2, invalid=[4]))
    warning = {"code": "others_busy", "values": {"cores": 1.5, "of": 2}}
    change_steps(folder, lambda step: step.update(flags=[] if step["index"] == 3 else [warning]))
    run = stored.read(folder)
    assert page.badge(Analysis(run)) == ("warning", "3 of 4 steps are valid, 2 with warnings")
    valid = [changed(step, {"validity.valid": True, "validity.reasons": []}) for step in run.steps]
    assert page.badge(Analysis(replace(run, steps=valid))) == ("warning", "every step is valid, 3 with warnings")
    calm = [step.updated(flags=[]) for step in valid]
    assert page.badge(Analysis(replace(run, steps=calm))) == ("good", "every step is valid")


def test_one_time_axis_marks_every_step_and_its_phases(sweep: Path) -> None:
    chart = report_charts(sweep)["over-time"]
    windows = [shade for shade in chart.shades if shade.colour != "shade"]
    names = [shade.text for shade in windows]
    assert names == ["✗4" if number == 4 else str(number) for number in range(1, 19)]
    for warm_up, window in zip(chart.shades[::2], windows, strict=True):
        assert warm_up.start < warm_up.end == window.start < window.end
    assert all(before.end < after.start for before, after in pairwise(windows))
    series = set(chart.frame.select("panel", "series").unique().iter_rows())
    assert {(panel, node) for panel in (1, 2, 3, 4) for node in ("Notary", "PartyA", "PartyB")} <= series
    completed = chart.of("flows completed")
    assert completed["y"].null_count() == 18, "a line breaks after each step"
    assert completed["x"].is_sorted()
    width = completed["x"][1] - completed["x"][0]
    assert completed["y"].sum() * width == pytest.approx(stored.read(sweep).table("requests").height, rel=0.03)


def test_every_step_can_be_opened_and_made_again(sweep: Path) -> None:
    html, charts = report_html(sweep), report_charts(sweep)
    for number in range(1, 19):
        assert not charts[f"step-{number}-throughput"].is_empty
        assert not charts[f"step-{number}-latency"].is_empty
        assert f'data-step="{number}"' in html
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
    run = stored.read(store_sweep(tmp_path, SimulatedSweep(vary={"shape.database": ["postgres"]}, x=None)))
    (point,) = Analysis(run).points
    costs = point.cost("cpu_seconds_per_flow")
    assert {"bridge", "locust"} <= costs.keys()
    alone = sum(value for name, value in costs.items() if name in ("Notary", "PartyA", "PartyB"))
    assert tables.cost_of_nodes(point, "cpu_seconds_per_flow") == pytest.approx(alone)
    assert "PostgreSQL was not measured" in " ".join(tables.cost_hints(run, [point]))
    for step in run.steps:
        step.values["cpu_seconds_per_flow"]["PostgreSQL"] = 0.01
    (point,) = Analysis(run).points
    assert tables.cost_of_nodes(point, "cpu_seconds_per_flow") == pytest.approx(alone + 0.01)
    assert list(tables.cost_hints(run, [point])) == []


@pytest.mark.parametrize("about", [{"invalid": [1, 2]}, {"x": None, "collapsed": (1, 2)}], ids=["invalid", "collapsed"])
def test_a_sweep_without_values_still_has_a_report(tmp_path: Path, about: dict[str, object]) -> None:
    none = SimulatedSweep(vary={"load.users": [2, 4]}, repeats=1, **about)  # type: ignore[arg-type]
    assert "<h2>Points</h2>" in report_html(store_sweep(tmp_path, none))


def test_a_search_shows_its_path_and_what_it_found(search: Path) -> None:
    text = report_text(search)
    assert re.search(r"Highest confirmed rate: 2\d.\d+/s with H2", text)
    assert re.search(r"Highest sustained rates .* H2 20\.75/s 20\.75/s 22\.63/s 22\.63/s, H2: p99 is", text)
    path = report_charts(search)["search"]
    assert list(path.shown_looks) == ["search", "sustained", "not sustained", "confirmed by a longer step"]
    assert path.of("search").height == len(stored.read(search).steps)


def test_a_name_that_would_cover_another_is_left_to_its_point(tmp_path: Path) -> None:
    versions = ["4.5", "4.6", "4.7", "4.8", "4.9", "4.10"]
    same = SimulatedSweep(vary={"shape.corda": versions}, x=None, factors={}, noise=0.001, repeats=2)
    chart = report_charts(store_sweep(tmp_path, same))["throughput-latency"]
    assert chart.frame["text"][0] == "Corda 4.5"
    assert chart.frame["text"].null_count() > 0
    assert {look.mark for look in chart.looks.values()} == {"single"}, "versions have no order"


def test_flows_that_make_more_states_are_judged_by_states(tmp_path: Path) -> None:
    name = "set.numberOfStatesPerTx"
    folder = store_sweep(tmp_path, SimulatedSweep(vary={name: [1, 5]}, states_by=name, x=None, factors={5: 0.6}))
    assert "Throughput in states was best with numberOfStatesPerTx=5:" in report_text(folder)
    assert "curve-states" in report_charts(folder)
    with StringIO(report_file(folder, "summary.csv")) as file:
        assert {"states_per_second", "states_per_second_low"} <= set(next(csv.DictReader(file)))


def test_a_step_that_was_ended_because_all_failed_counts_as_one_that_completed_nothing(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, ended=(2,)))
    run = stored.read(folder)
    assert page.badge(Analysis(run)) == ("bad", "1 of 6 steps failed")
    (point,) = [point for point in Analysis(run).points if point.collapsed]
    assert (len(point.valid), point.collapsed[0].index, point.estimate("throughput").low) == (3, 2, 0.0)
    (problem,) = problems_of(run)
    assert "every request failed in the same way" in problem


@pytest.mark.parametrize("stored_sweep", ["sweep", "search"])
def test_every_chart_has_data_and_a_place(request: pytest.FixtureRequest, stored_sweep: str) -> None:
    folder = request.getfixturevalue(stored_sweep)
    charts, html = report_charts(folder), report_html(folder)
    assert [name for name, chart in charts.items() if chart.is_empty] == []
    assert sorted(places(html)) == sorted(charts)
    over_time = charts["over-time"]
    assert set(over_time.frame.drop_nulls("y")["panel"]) == set(range(len(over_time.panels)))
    # It opens offline.
    assert not re.search(r"<(?:script|img|iframe|link)[^>]+(?:src|href)=\"(?!data:)", html)
    assert not re.search(r"@import|url\((?!#)", without_scripts(html))


def test_any_value_can_be_drawn_by_its_name(sweep: Path) -> None:
    analysis = Analysis(stored.read(sweep))
    chart = charts_sweep.curve(analysis, "cpu_percent.PartyA", "CPU", "")
    assert (chart.id, chart.y_title) == ("curve-cpu-percent-partya", "%")
    curves = chart.frame.filter(pl.col("series").is_in(list(curve_looks(chart))))
    assert sorted(curves["y"]) == sorted(point.estimate("cpu_percent.PartyA").value or 0 for point in analysis.points)


def test_texts_of_others_are_shown_as_text(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2]}, repeats=1, errors_every=50))

    def with_markup(step: dict[str, Any]) -> None:
        step["failures"][0]["error"] = "</script><b>bold"
        step["label"] = "</script><i>two"

    change_steps(folder, with_markup)
    html = report_html(folder)
    assert "<b>bold" not in html
    assert "<i>two" not in html


def test_summaries_stand_beside_the_report(sweep: Path) -> None:
    with StringIO(report_file(sweep, "summary.csv")) as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows][:2] == ["1 user, H2", "4 users, H2"]
    for row in rows:
        assert float(row["throughput_per_second_low"]) < float(row["throughput_per_second"])
    data = json.loads(report_file(sweep, "summary.json"))
    assert data["headline"].startswith("Throughput was best with 16 users, H2")
    assert data["points"][0]["values"]["p99"]["unit"] == "ms"
    assert {"kind": "invalid", "code": "generator_failed", "text": INVALID, "steps": [4]} in data["notes"]
    markdown = report_file(sweep, "summary.md")
    assert re.search(r"\| 16 users, PostgreSQL \| 16 users, H2 \| .* \| slower \|", markdown)
    assert f"⚠ Invalid: step 4: {INVALID}" in markdown


def test_is_made_again_alike_from_the_stored_files(sweep: Path) -> None:
    names = ("report.html", "summary.md", "summary.csv", "summary.json")
    first = {name: report_file(sweep, name).encode() for name in names}
    page.render(sweep)
    assert {name: (sweep / name).read_bytes() for name in names} == first


def test_a_link_that_every_start_measures_anew_is_one_lab(sweep: Path) -> None:
    run: StoredRun = stored.read(sweep)
    (first,) = (one for one in run.manifest.environments if one.shape["DATABASE"] == "h2")
    links = [MeasuredLink(name="partya-partyb", wanted_ms=40, direct_ms=3.0, through_ms=ms) for ms in (43.21, 43.0)]
    starts = [first.model_copy(update={"links_measured": [link]}) for link in links]
    started_twice = replace(run, manifest=run.manifest.model_copy(update={"environments": starts}))
    (lab,) = facts.environments(started_twice)
    assert lab.round_trips == {"partya-partyb": ("43.0 to 43.2", "3.0")}


# Its size.

FILE_MEGABYTES_MAX = 2
LARGEST_SECONDS_MAX = 20
LARGEST_GIBIBYTES_MAX = 1


def test_rows_are_counted_and_never_embedded(tmp_path: Path) -> None:
    few = SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2, rows_per_step=500)
    many = SimulatedSweep(
        vary={"load.users": [2, 8]}, repeats=2, rows_per_step=20_000, identity="20260102T030406Z-many"
    )
    sizes = [len(report_html(store_sweep(tmp_path, one))) for one in (few, many)]
    assert sizes[1] < 1.02 * sizes[0]
    assert sizes[1] < FILE_MEGABYTES_MAX * 1e6


@pytest.mark.nightly
def test_the_largest_report_is_made_within_its_limits(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, LARGEST)
    page = folder / "report.html"
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
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < LARGEST_GIBIBYTES_MAX * 1024**2
    assert page.stat().st_size < FILE_MEGABYTES_MAX * 1e6
