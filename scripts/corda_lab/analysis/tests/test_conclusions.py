"""The analysis of a sweep: what its headline, limits and notes say, and what they do not claim."""

import cProfile
import pstats
from pathlib import Path
from typing import Any

import pytest

from corda_lab.analysis.conclusions import Analysis, Note, some, steps_words
from corda_lab.report import page
from corda_lab.results import stored
from support.sweeps import INVALID, SimulatedSweep, store_sweep


def analysed(folder: Path, *, find_max: bool = False, **about: Any) -> Analysis:
    """The analysis of a simulated sweep."""
    return Analysis(stored.read(store_sweep(folder, SimulatedSweep(**about), find_max=find_max)))


def verdicts(analysis: Analysis) -> list[tuple[str, str, str]]:
    """The compared points: label, label of the point that it is compared with, and verdict."""
    return [(pair.second.label, pair.first.label, pair.verdict) for pair in analysis.judged.shown]


@pytest.mark.parametrize("name", ["sweep", "search"])
def test_a_report_computes_nothing_twice(request: pytest.FixtureRequest, name: str) -> None:
    """Counted by Python's own profiler: everything that one report is made of."""
    profiler = cProfile.Profile()
    profiler.runcall(page.render, request.getfixturevalue(name))
    calls: dict[str, int] = {}
    for (file, _, function), (_, count, *_) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        calls[f"{Path(file).stem}.{function}"] = count
    once = ("points.points", "significance.judge", "conclusions.headline", "conclusions.notes", "conclusions.limits")
    assert {name: calls[name] for name in once} == dict.fromkeys(once, 1)
    run = stored.read(request.getfixturevalue(name))
    points = len(Analysis(run).points)
    assert calls["saturation.uses"] == points
    assert calls["trends.of_step"] == len(run.steps)
    assert calls["points._estimate"] <= points * 45, "each value of each point"


def test_best_is_what_is_shown_to_be_better_than_all_others(sweep: Path, tmp_path: Path) -> None:
    best = Analysis(stored.read(sweep))
    assert best.headline.startswith("Throughput was best with 16 users, H2: 20.")
    users = ("1 user", "4 users", "16 users")
    assert {(f"{label}, PostgreSQL", f"{label}, H2", "slower") for label in users} <= {*verdicts(best)}
    near = analysed(tmp_path, vary={"shape.corda": ["4.3", "4.5", "4.10"]}, x=None, factors={"4.10": 0.7}, repeats=5)
    top, other = near.judged.tops[0].label, near.judged.between(*near.points[:2])
    assert near.headline.startswith(f"Highest throughput with {top}: ")
    assert other.verdict == "no difference seen"
    assert "not shown to be better than Corda 4." in near.headline
    assert ("Corda 4.10", "Corda 4.3", "slower") in verdicts(near)


@pytest.mark.parametrize(
    "about", [{"repeats": 1}, {"repeats": 2, "invalid": [2]}], ids=["one repeat", "an invalid repeat"]
)
def test_too_few_repeats_name_nothing_as_the_best(tmp_path: Path, about: dict[str, Any]) -> None:
    few = analysed(tmp_path, vary={"load.users": [2, 8]}, **about)
    assert few.headline.endswith("; too few repeats to tell which point is best.")
    assert {verdict for *_, verdict in verdicts(few)} == {"too few repeats to tell"}


def test_a_sweep_without_values_has_no_best_point(tmp_path: Path) -> None:
    two: dict[str, Any] = {"vary": {"load.users": [2, 8]}, "repeats": 1}
    nothing = analysed(tmp_path / "a", x=None, collapsed=(1, 2), **two)
    assert nothing.headline == "No flow was completed in the measuring window."
    assert analysed(tmp_path / "b", invalid=[1, 2], **two).headline.startswith("No step of this sweep is valid")


def test_each_workload_is_judged_by_itself(tmp_path: Path) -> None:
    presets = analysed(
        tmp_path,
        vary={"workload": ["iou", "cash-issue"], "shape.preset": ["stock", "tuned"]},
        x=None,
        factors={"tuned": 1.3, "cash-issue": 2.0},
    )
    assert "iou: Throughput was best with " in presets.headline
    assert "cash-issue: Throughput was best with " in presets.headline
    assert [pair.verdict for pair in presets.judged.planned] == ["faster", "faster"]
    assert all(pair.first.workload == pair.second.workload for pair in presets.judged.planned)


def test_workloads_that_are_all_that_varies_are_compared(tmp_path: Path) -> None:
    factors = {"cash-issue": 2.0, "cash-issue-and-pay": 0.5}
    swaps = analysed(tmp_path, vary={"workload": ["iou", *factors]}, x=None, factors=factors)
    expected = [("cash-issue", "iou", "faster"), ("cash-issue-and-pay", "iou", "slower")]
    assert verdicts(swaps)[:2] == expected


def test_the_limit_is_what_was_saturated_at_the_best_point(tmp_path: Path) -> None:
    users: dict[str, Any] = {"vary": {"load.users": [8, 64]}}
    robbed = analysed(tmp_path / "a", busy_percent=99, stolen_percent=12, **users)
    assert robbed.limits["64 users"].startswith("host CPU (9")
    assert "12 % CPU steal" in robbed.limits["64 users"]
    idle = analysed(tmp_path / "b", busy_percent=50, **users)
    assert idle.limits == {"64 users": "no monitored resource was saturated"}


def test_open_load_is_judged_by_its_latency_if_it_kept_one_rate(tmp_path: Path) -> None:
    load = {"arrivals": "constant", "rate": 5, "users": 20}
    sizes = analysed(tmp_path, vary={"set.megabytes": [1, 10]}, x=None, load=load, factors={10: 0.3})
    assert sizes.headline.startswith("Latency p95 from the intended start was best with megabytes=1: ")
    assert sizes.limits == {"megabytes=1": "none, because the system kept up with the offered rate"}


def test_a_point_that_does_a_part_of_a_constant_rate_did_not_keep_it(tmp_path: Path) -> None:
    (point,) = analysed(tmp_path, vary={}, x=None, load={"arrivals": "constant", "rate": 0.5, "users": 20}).points
    assert point.keeps_rate
    slower = point.steps[0].updated(throughput_per_second=0.4)
    point.__dict__["steps"] = (slower, *point.steps[1:])
    assert not point.keeps_rate


def test_a_search_without_a_confirmed_rate_names_no_best_point(tmp_path: Path) -> None:
    none = analysed(tmp_path, vary={}, x=None, speed=0.1, find_max=True)
    assert (none.headline, none.judged.tops) == ("Highest confirmed rate: none.", [])
    (search,) = none.searches
    assert search.failed is not None
    assert search.failed.why_not.startswith("p99")


def test_a_note_has_a_code_and_each_reason_stands_once(tmp_path: Path) -> None:
    notes = analysed(tmp_path, vary={"load.users": [2, 8]}, collapsed=(2,), invalid=[3], quick=True).notes
    assert [(note.kind, note.code, note.steps) for note in notes if note.kind != "warning" or note.code == "quick"] == [
        ("warning", "quick", ()),
        ("failed", "nothing_completed", (2,)),
        ("failed", "requests_failed", (2,)),
        ("error", "requests", ()),
        ("invalid", "generator_failed", (3,)),
    ]
    assert str(notes[-1]) == f"step 3: {INVALID}"


def test_long_lists_are_cut() -> None:
    assert steps_words(range(1, 21)) == "steps 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 9 others"
    assert some(["a", "b", "c", "d", "e"]) == "a, b, c and 2 others"
    assert some(["a, b", "c"]) == "a, b; c"
    assert str(Note("warning", "quick", "text", (3, 4))) == "steps 3 and 4: text"
