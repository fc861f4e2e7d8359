"""Comparing runs: differences between the environments come first, and without an interval no difference is shown."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.analysis.circumstances import is_same_link, is_same_speed
from corda_lab.analysis.comparison import Comparison, compare_runs, parse_share
from corda_lab.errors import LabError
from corda_lab.report import comparison
from corda_lab.results import folders as results
from support.pages import places, without_scripts
from support.sweeps import SimulatedSweep, store_sweep

LATER = "20260102T040405Z-later"


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, repeats=4))


def later(folder: Path, *, speed: float = 1.0, **about: object) -> Path:
    return store_sweep(
        folder,
        SimulatedSweep(vary={"load.users": [2, 8]}, repeats=4, speed=speed, identity=LATER, **about),  # type: ignore[arg-type]
    )


def judged(*folders: Path, threshold: float | None = None, metric: str = "throughput") -> Comparison:
    return compare_runs(folders, metric=metric, threshold=threshold)


def test_a_slower_run_is_a_regression_beyond_the_threshold(before: Path, tmp_path: Path) -> None:
    slower = later(tmp_path, speed=0.8)
    assert judged(before, slower).regressions == [], "without a threshold nothing is judged"
    assert len(judged(before, slower, threshold=0.05).regressions) == 2
    assert judged(before, slower, threshold=0.5).regressions == []
    assert judged(slower, before, threshold=0.05).regressions == [], "faster is no regression"
    assert len(judged(before, slower, threshold=0.05, metric="p95").regressions) == 2, "of a latency more is worse"


def test_a_difference_between_two_starts_of_the_lab_may_be_nothing_else(before: Path, tmp_path: Path) -> None:
    slower = later(tmp_path, speed=0.8)
    assert "the same start of the lab" not in comparison.headline(judged(before, slower).others[0], "throughput")
    manifest = json.loads((slower / "run.json").read_text())
    manifest["sweep"]["fresh"] = "shape"
    (slower / "run.json").write_text(json.dumps(manifest))
    said = comparison.headline(judged(before, slower).others[0], "throughput")
    assert f"In {slower.name}, all repeats of a shape used the same start of the lab" in said


def test_a_ratio_with_an_interval_that_says_nothing_stands_alone(tmp_path: Path) -> None:
    two = SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2, noise=1.0)
    one, other = (store_sweep(tmp_path, replace(two, identity=name)) for name in (LATER, f"{LATER}-again"))
    found = judged(one, other)
    (row,) = [row for row in comparison.rows_of(found.others[0], "throughput") if row[0] == "8 users"]
    assert row[3] == "1.00 × (too few repeats for an interval)"
    assert row[1].endswith("(too few repeats for an interval, n = 2)")
    points = comparison.chart(found.others[0], "throughput", 0).frame
    assert (points["high"][1], points["is_hollow"][1]) == (None, True)


def test_a_run_against_itself_shows_no_difference(before: Path) -> None:
    found = judged(before, before, threshold=0.01)
    assert found.regressions == []
    assert comparison.environment_headline(found.others[0]) == "Both are the same run."
    assert found.others[0].verdicts("throughput") == ["no difference seen"] * 2


def test_differences_between_the_environments_come_first(before: Path, tmp_path: Path) -> None:
    other = later(
        tmp_path, environment={"git": {"commit": "f" * 40, "has_changes": False}, "shape": {"NODE_HEAP": "2g"}}
    )
    found = judged(before, other)
    assert {(entry.kind, entry.name) for entry in found.others[0].environment_differences} == {
        ("shape", "NODE_HEAP"),
        ("commit", "commit"),
        ("commit", "has_changes"),
    }
    markdown = comparison.markdown(found)
    assert markdown.index("The environments differ (shape and commit)") < markdown.index("| point |")
    page = without_scripts(comparison.html(found))
    assert page.index("The environments differ") < page.index("<h1>")


def test_single_runs_have_no_interval_and_no_verdict(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    found = judged(run, run, threshold=0.01)
    assert found.regressions == []
    (point,) = comparison.as_dict(found)["comparisons"][0]["points"]
    assert point["metrics"]["p95"]["verdict"] == "too few repeats to tell"


def test_runs_without_a_common_point_are_refused(before: Path, stored_run: Callable[..., Path]) -> None:
    with pytest.raises(LabError, match="have no point in common"):
        judged(before, stored_run())


def test_points_of_only_one_run_are_named(before: Path, tmp_path: Path) -> None:
    more = SimulatedSweep(vary={"load.users": [2, 16]}, repeats=4, identity=LATER)
    found = judged(before, store_sweep(tmp_path, more))
    assert [row.second.label for row in found.others[0].rows["throughput"]] == ["2 users"]
    assert len(found.others[0].alone) == 2


def test_a_point_that_collapsed_vanished_or_is_no_longer_valid_is_a_regression(before: Path, tmp_path: Path) -> None:
    dead = later(tmp_path, collapsed=tuple(range(1, 9)))
    for metric in ("throughput", "p95"):
        found = judged(before, dead, threshold=0.05, metric=metric)
        assert len(found.regressions) == 2, metric
        assert found.state == "bad"
    assert "completed nothing in 4 of 4 steps" in judged(before, dead, threshold=0.05).threshold_words
    assert judged(before, dead).others[0].verdicts("throughput") == ["nothing completed"] * 2
    invalid = store_sweep(
        tmp_path,
        SimulatedSweep(
            vary={"load.users": [2, 8]},
            repeats=4,
            identity="20260102T050405Z-invalid",
            invalid=dict.fromkeys(range(1, 9), "it broke"),
        ),
    )
    assert [words.partition(": ")[2] for words in judged(before, invalid, threshold=0.05).regressions] == [
        "no valid step"
    ] * 2
    fewer = SimulatedSweep(vary={"load.users": [2]}, repeats=4, identity="20260102T060405Z-fewer")
    assert judged(before, store_sweep(tmp_path, fewer), threshold=0.05).regressions == ["8 users: missing"]


def test_what_could_not_be_judged_is_not_called_within_the_threshold(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    found = judged(run, run, threshold=0.05)
    assert (found.state, found.regressions) == ("warning", [])
    assert found.threshold_words.startswith("The threshold of 5 % could not be applied")
    assert "within the threshold" not in without_scripts(comparison.html(found))


def test_searches_are_compared_by_the_rates_that_they_confirmed(tmp_path: Path) -> None:
    databases = {"shape.database": ["h2", "postgres"]}
    first = store_sweep(tmp_path, SimulatedSweep(vary=databases, x=None), find_max=True)
    second = store_sweep(tmp_path, SimulatedSweep(vary=databases, x=None, speed=0.7, identity=LATER), find_max=True)
    found = judged(first, second, threshold=0.05)
    (one,) = found.others
    assert [(rates.label, rates.verdict) for rates in one.rates] == [
        ("H2", "too few repeats to tell"),
        ("PostgreSQL", "too few repeats to tell"),
    ]
    assert (one.alone, one.missing) == ([], [])
    assert (found.state, found.regressions) == ("warning", [])
    ratio = one.rates[0].ratio
    assert ratio is not None
    assert ratio == pytest.approx(0.7, abs=0.08)
    assert "highest confirmed rate" in without_scripts(comparison.html(found)).lower()
    probes = r"\| H2, highest confirmed rate \| [\d.]+/s \(probes: [\d.]+/s sustained, [\d.]+/s not sustained\) \|"
    assert re.search(probes, comparison.markdown(found))


def test_a_search_that_confirms_nothing_any_more_is_a_regression(tmp_path: Path) -> None:
    first = store_sweep(tmp_path, SimulatedSweep(vary={}, x=None), find_max=True)
    second = store_sweep(tmp_path, SimulatedSweep(vary={}, x=None, speed=0.1, identity=LATER), find_max=True)
    assert judged(first, second, threshold=0.05).regressions == ["iou: no rate confirmed"]
    itself = judged(second, second, threshold=0.05)
    assert (itself.state, itself.regressions) == ("warning", [])
    assert "none confirmed" in comparison.markdown(itself)


def test_comparisons_of_several_runs_are_one_family(before: Path, tmp_path: Path) -> None:
    runs = [later(tmp_path)] + [
        store_sweep(
            tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, repeats=4, identity=f"20260102T05040{number}Z-more")
        )
        for number in range(2)
    ]
    differences = [one.rows["throughput"][0].difference for one in judged(before, *runs).others]
    levels = [found.confidence for found in differences if found is not None]
    assert levels == [pytest.approx(1 - 0.05 / 6)] * 3, "two points of three runs"


def test_how_a_run_measured_is_compared_and_the_seed_of_a_repeat_is_not(before: Path, tmp_path: Path) -> None:
    longer = later(tmp_path, seconds=90.0)
    assert {(entry.kind, entry.name) for entry in judged(before, longer).others[0].environment_differences} == {
        ("measuring", "measure"),
    }
    # A step's own times are told as well.
    path = longer / "run.json"
    manifest = results.read_json(path)
    manifest["sweep"]["steps"] = [{"name": "first minute", "measure": 60.0}]
    results.write_json(path, manifest)
    names = {entry.name for entry in judged(before, longer).others[0].environment_differences}
    assert "steps.first minute.measure" in names
    # After `sweep finish` of a sweep that broke off another repeat may come first.
    path = before / "steps.json"
    stored = results.read_json(path)
    results.write_json(path, {**stored, "steps": [step for step in stored["steps"] if step["repeat"] > 1]})
    assert judged(before, later(tmp_path / "other")).others[0].environment_differences == []


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [("43.212", "44.9", True), ("400.1", "431.0", True), ("43.2", "58.0", False), ("43.2", "–", False)],
)
def test_two_measurements_of_one_link_are_no_difference(first: str, second: str, is_same: bool) -> None:
    assert is_same_link(first, second) is is_same


def test_leaves_a_page_markdown_and_json(before: Path, tmp_path: Path) -> None:
    found = judged(before, later(tmp_path, speed=0.8), before, threshold=0.05)
    folder = comparison.write(found, results_folder=tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["compare.html", "compare.json", "compare.md"]
    data = json.loads((folder / "compare.json").read_text(encoding="utf-8"))
    assert len(data["comparisons"]) == 2
    drawn = places((folder / "compare.html").read_text(encoding="utf-8"))
    assert len(drawn) == len(set(drawn)) == 8
    assert results.all_runs(results=tmp_path) == sorted([before, tmp_path / LATER]), "a comparison is no run"


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("5 %", 0.05), ("12.5%", 0.125), ("5", 0.05)])
def test_a_threshold_is_a_share(text: str, share: float) -> None:
    assert parse_share(text, option="--threshold") == share


@pytest.mark.parametrize("text", ["", "much", "-5%", "0%", "100%"])
def test_refuses_what_is_no_share(text: str) -> None:
    with pytest.raises(LabError, match=r"^--threshold: "):
        parse_share(text, option="--threshold")


@pytest.mark.parametrize(
    ("first", "second", "is_same"), [("2.400", "2.500", True), ("2.400", "2.600", False), ("–", "2.600", True)]
)
def test_processors_of_another_speed_are_told_apart(first: str, second: str, is_same: bool) -> None:
    assert is_same_speed(first, second) is is_same
