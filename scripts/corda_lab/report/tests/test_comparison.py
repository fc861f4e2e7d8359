"""Comparing runs: differences between the environments come first, and without an interval no difference is shown."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corda_lab.analysis.circumstances import is_alike
from corda_lab.analysis.comparison import Comparison, compare_runs, parse_share
from corda_lab.errors import LabError
from corda_lab.report import comparison
from corda_lab.results import folders as results
from support.pages import places, without_scripts
from support.sweeps import SimulatedSweep, store_sweep

LATER = "20260102T040405Z-later"
USERS = SimulatedSweep(vary={"load.users": [2, 8]}, repeats=4)


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return store_sweep(tmp_path, USERS)


def later(folder: Path, **about: Any) -> Path:
    return store_sweep(folder, replace(USERS, **{"identity": LATER, **about}))


def judged(*folders: Path, threshold: float | None = None, metric: str = "throughput") -> Comparison:
    return compare_runs(folders, metric=metric, threshold=threshold)


def test_a_slower_run_is_a_regression_beyond_the_threshold(before: Path, tmp_path: Path) -> None:
    slower = later(tmp_path, speed=0.8)
    assert judged(before, slower).regressions == [], "without a threshold nothing is judged"
    assert len(judged(before, slower, threshold=0.05).regressions) == 2
    assert judged(before, slower, threshold=0.5).regressions == []
    assert judged(slower, before, threshold=0.05).regressions == [], "faster is no regression"
    assert len(judged(before, slower, threshold=0.05, metric="p95").regressions) == 2, "of a latency more is worse"


def test_a_ratio_with_an_interval_that_says_nothing_stands_alone(tmp_path: Path) -> None:
    wide = {"repeats": 2, "noise": 1.0}
    other = judged(later(tmp_path, **wide), later(tmp_path, identity=f"{LATER}-again", **wide)).others[0]
    (row,) = [row for row in comparison.rows_of(other, "throughput") if row[0] == "8 users"]
    assert row[1].endswith("(too few repeats for an interval, n = 2)")
    assert row[3] == "1.00 × (too few repeats for an interval)"
    points = comparison.chart(other, "throughput", 0).frame
    assert (points["high"][1], points["is_hollow"][1]) == (None, True)


def test_differences_between_the_environments_come_first(before: Path, tmp_path: Path) -> None:
    changes = {"git": {"commit": "f" * 40, "has_changes": False}, "shape": {"NODE_HEAP": "2g"}}
    compared = judged(before, later(tmp_path, environment=changes))
    assert {(entry.kind, entry.name) for entry in compared.others[0].environment_differences} == {
        ("shape", "NODE_HEAP"),
        ("commit", "commit"),
        ("commit", "has_changes"),
    }
    markdown, page = comparison.markdown(compared), without_scripts(comparison.html(compared))
    assert markdown.index("The environments differ (shape and commit)") < markdown.index("| point |")
    assert page.index("The environments differ") < page.index("<h1>")


@pytest.mark.parametrize(("kind", "verdict"), [("sweep", "no difference seen"), ("run", "too few repeats to tell")])
def test_a_run_against_itself_shows_no_difference(
    before: Path, stored_run: Callable[..., Path], kind: str, verdict: str
) -> None:
    folder = before if kind == "sweep" else stored_run()
    compared = judged(folder, folder, threshold=0.05)
    (other,) = compared.others
    assert (compared.regressions, {*other.verdicts("throughput")}) == ([], {verdict})
    assert comparison.environment_headline(other) == "Both are the same run."
    assert compared.state == ("good" if kind == "sweep" else "warning")
    # What could not be judged is not called within the threshold.
    assert ("within the threshold" in comparison.html(compared)) == (kind == "sweep")
    points = comparison.as_dict(compared)["comparisons"][0]["points"]
    assert {point["verdict"] for point in points} == {verdict}


def test_runs_without_a_common_point_are_refused(before: Path, stored_run: Callable[..., Path]) -> None:
    with pytest.raises(LabError, match="have no point in common"):
        judged(before, stored_run())


def test_a_point_that_collapsed_vanished_or_is_no_longer_valid_is_a_regression(before: Path, tmp_path: Path) -> None:
    dead = later(tmp_path, collapsed=tuple(range(1, 9)))
    for metric in ("throughput", "p95"):
        compared = judged(before, dead, threshold=0.05, metric=metric)
        assert (len(compared.regressions), compared.state) == (2, "bad"), metric
    assert judged(before, dead).others[0].verdicts("throughput") == ["nothing completed"] * 2
    assert "completed nothing in 4 of 4 steps" in judged(before, dead, threshold=0.05).threshold_words
    invalid = later(tmp_path, identity=f"{LATER}-invalid", invalid=range(1, 9))
    regressions = judged(before, invalid, threshold=0.05).regressions
    assert [text.partition(": ")[2] for text in regressions] == ["no valid step"] * 2
    fewer = judged(before, later(tmp_path, identity=f"{LATER}-fewer", vary={"load.users": [2, 16]}), threshold=0.05)
    assert fewer.regressions == ["8 users: missing"]
    assert [row.second.label for row in fewer.others[0].rows["throughput"]] == ["2 users"]
    assert len(fewer.others[0].alone) == 2


def test_searches_are_compared_by_the_rates_that_they_confirmed(search: Path, tmp_path: Path) -> None:
    databases = SimulatedSweep(vary={"shape.database": ["h2", "postgres"]}, speed=0.7, identity=LATER)
    compared = judged(search, store_sweep(tmp_path, databases, find_max=True), threshold=0.05)
    (other,) = compared.others
    assert [(rates.first.label, rates.verdict) for rates in other.rates] == [
        ("H2", "too few repeats to tell"),
        ("PostgreSQL", "too few repeats to tell"),
    ]
    assert (other.alone, other.missing, compared.state, compared.regressions) == ([], [], "warning", [])
    assert other.rates[0].ratio == pytest.approx(0.7, abs=0.08)
    assert "highest confirmed rate" in comparison.html(compared)
    none = store_sweep(tmp_path, replace(databases, speed=0.1, identity=f"{LATER}-none"), find_max=True)
    assert judged(search, none, threshold=0.05).regressions == [
        f"{name}: no rate confirmed" for name in ("H2", "PostgreSQL")
    ]
    assert judged(none, none, threshold=0.05).state == "warning"


def test_comparisons_of_several_runs_are_one_family(before: Path, tmp_path: Path) -> None:
    runs = [later(tmp_path, identity=f"20260102T05040{number}Z-more") for number in range(3)]
    differences = [other.rows["throughput"][0].difference for other in judged(before, *runs).others]
    levels = [difference.confidence for difference in differences if difference is not None]
    assert levels == [pytest.approx(1 - 0.05 / 6)] * 3, "two points of three runs"


def test_how_a_run_measured_is_compared_and_the_seed_of_a_repeat_is_not(before: Path, tmp_path: Path) -> None:
    longer = later(tmp_path, seconds=90.0)
    differences = judged(before, longer).others[0].environment_differences
    assert {(entry.kind, entry.name) for entry in differences} == {("measuring", "measure")}
    # After `sweep finish` of a sweep that broke off another repeat may come first.
    for path in before.glob("steps/*/step.json"):
        if results.read_json(path)["repeat"] == 1:
            shutil.rmtree(path.parent)
    assert judged(before, later(tmp_path / "other")).others[0].environment_differences == []


def test_leaves_a_page_markdown_and_json(before: Path, tmp_path: Path) -> None:
    compared = judged(before, later(tmp_path, speed=0.8), before, threshold=0.05)
    folder = comparison.write(compared, results_folder=tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["compare.html", "compare.json", "compare.md"]
    assert len(json.loads((folder / "compare.json").read_text(encoding="utf-8"))["comparisons"]) == 2
    drawn = places((folder / "compare.html").read_text(encoding="utf-8"))
    assert len(drawn) == len(set(drawn)) == 8
    assert results.all_runs(results=tmp_path) == sorted([before, tmp_path / LATER]), "a comparison is no run"


def test_a_threshold_is_a_share() -> None:
    shares = [parse_share(text, option="--threshold") for text in ("5%", "5 %", "12.5%", "5")]
    assert shares == [0.05, 0.05, 0.125, 0.05]
    for text in ("", "much", "-5%", "0%", "100%"):
        with pytest.raises(LabError, match=r"^--threshold: "):
            parse_share(text, option="--threshold")


@pytest.mark.parametrize(
    ("first", "second", "is_link", "is_speed"),
    [
        ("43.212", "44.9", True, True),
        ("400.1", "431.0", True, False),
        ("43.2", "58.0", False, False),
        ("43.2", "–", False, True),
        ("2.400", "2.500", True, True),
    ],
)
def test_two_measurements_of_the_same_thing_are_no_difference(
    first: str, second: str, is_link: bool, is_speed: bool
) -> None:
    assert (is_alike("links", first, second), is_alike("speed", first, second)) == (is_link, is_speed)
