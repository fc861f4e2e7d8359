"""Runs of older schemas still open: a run and a sweep of version 0.1 (schema 5), and a failed run of schema 6."""

import json
import shutil
from pathlib import Path

import pytest

from corda_lab.analysis import listing, points
from corda_lab.analysis.comparison import compare_runs
from corda_lab.analysis.listing import RunSummary
from corda_lab.report import comparison, page
from corda_lab.results import stored
from support.pages import without_scripts

STORED = Path(__file__).with_name("schema_5")
STORED_6 = Path(__file__).with_name("schema_6")
RUN, SWEEP, REFUSED = "20261122T125159Z-iou", "20261122T125418Z-smoke", "20261122T205937Z-refused"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder with both runs."""
    shutil.copytree(STORED, tmp_path / "results")
    return tmp_path / "results"


def test_they_are_listed_with_the_values_that_they_had(results: Path) -> None:
    run, sweep = listing.summaries(results_folder=results)
    assert isinstance(run, RunSummary)
    assert isinstance(sweep, RunSummary)
    steps = json.loads((results / RUN / "steps.json").read_text(encoding="utf-8"))["steps"]
    assert (run.run, run.throughput_per_second) == (RUN, steps[0]["throughput_per_second"])
    assert (sweep.kind, sweep.steps_valid, sweep.label, round(sweep.throughput_per_second or 0, 2)) == (
        "sweep",
        4,
        "8 users",
        2.97,
    )


@pytest.mark.parametrize("name", [RUN, SWEEP])
def test_their_reports_are_made_again_with_the_reasons_as_they_were_stored(results: Path, name: str) -> None:
    text = page.render(results / name).read_text(encoding="utf-8")
    steps = stored.read(results / name).steps
    reasons = [str(one) for step in steps for one in (*step.flags, *step.validity.reasons, *step.verdict.reasons)]
    assert reasons
    kept = json.loads((results / name / "steps.json").read_text(encoding="utf-8"))["steps"]
    assert sorted(reasons) == sorted(
        text for step in kept for text in (*step["flags"], *step["validity"]["reasons"], *step["verdict"]["reasons"])
    )
    assert reasons[0].replace("'", "&#39;") in text


def test_an_interval_of_two_repeats_that_says_nothing_is_not_shown(results: Path) -> None:
    text = without_scripts(page.render(results / SWEEP).read_text(encoding="utf-8"))
    estimate = points.points(stored.read(results / SWEEP))[0].estimate("throughput")
    assert estimate.high is not None
    assert estimate.high > 1000
    assert f"{estimate.value:.2f}<small>too few repeats for an interval</small>" in text
    assert f"{estimate.high:,.0f}" not in text


def test_errors_that_were_stored_with_their_values_are_shown_by_kind(results: Path) -> None:
    path = results / RUN / "steps.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["steps"][0]["errors"] = [
        {"status": 400, "error": f"invalid-argument: 'x{n}'", "count": 1, "first_at": 1.0 + n} for n in range(140)
    ]
    path.write_text(json.dumps(content), encoding="utf-8")
    text = page.render(results / RUN).read_text(encoding="utf-8")
    assert "<b>140 × 400</b> invalid-argument: &#39;…&#39;" in text


def test_they_are_compared(results: Path) -> None:
    found = compare_runs([results / SWEEP, results / SWEEP], metric="throughput", threshold=None)
    assert "no difference seen at any of 2 points" in comparison.markdown(found)


def test_the_errors_of_schema_6_are_failed_requests(tmp_path: Path) -> None:
    folder = tmp_path / REFUSED
    shutil.copytree(STORED_6 / REFUSED, folder)
    kept = json.loads((folder / "steps.json").read_text(encoding="utf-8"))["steps"][0]
    run = stored.read(folder)
    (step,) = run.steps
    assert (step.requests.failed, step.requests.unknown) == (kept["requests"]["errors"], 0)
    assert [kind.count for kind in step.failures] == [kind["count"] for kind in kept["errors"]]
    assert set(run.table("requests")["outcome"]) == {"failed"}
    text = without_scripts(page.render(folder).read_text(encoding="utf-8"))
    assert f"{kept['requests']['errors']:,}" in text
    assert "every request failed in the same way" in text
