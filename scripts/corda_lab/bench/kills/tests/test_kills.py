"""Loads during which a part was killed: the moments, and what is read of their runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.bench.kills import command
from corda_lab.bench.kills.kill import moment_of
from corda_lab.bench.kills.trial import Outcome, must_be_stored, read_stored, read_unfinished
from corda_lab.errors import LabError
from corda_lab.paths import WORKLOADS
from corda_lab.results import evidence, folders
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.plan import RunPlan, Subject
from lab_workload.workload import load_workload
from support import runs, simulation
from support.runs import ENVIRONMENT, part, plan_of

OPTIONS = LoadOptions(workload="iou", users=2, duration_seconds=18.0, warm_up_seconds=2.0)


def test_a_seed_and_a_target_decide_the_moment_which_lies_within_the_load() -> None:
    moments = [moment_of(seed, "bridge", OPTIONS) for seed in range(200)]
    assert moments == [moment_of(seed, "bridge", OPTIONS) for seed in range(200)]
    assert moment_of(1, "generator", OPTIONS) != moment_of(1, "bridge", OPTIONS)
    assert min(moments) >= 0
    assert max(moments) <= 20
    # Every quarter of the load has its share.
    assert all(30 < sum(5 * n <= moment < 5 * n + 5 for moment in moments) < 70 for n in range(4))


def test_a_killed_bridge_must_leave_results_and_a_killed_generator_none() -> None:
    folder = Path("20260102T030405Z-x")
    assert must_be_stored("bridge", Outcome(folder, stored=True)) == []
    assert must_be_stored("generator", Outcome(folder, stored=False, reason="killed")) == []
    assert must_be_stored("bridge", Outcome(folder, stored=False, reason="no")) == ["the run has no results: no"]
    assert len(must_be_stored("generator", Outcome(folder, stored=True))) == 1


SIMULATED = simulation.closed_rows(2, 20, simulation.fixed(0.5))


@pytest.fixture
def stored_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a stored run."""
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    return runs.store(tmp_path, plan_of(OPTIONS), SIMULATED, simulation.end_words(SIMULATED, 2, 20))


def test_a_stored_run_is_read_as_a_user_would(stored_run: Path) -> None:
    table, problems, _ = read_stored(stored_run)
    assert table.height == len(SIMULATED)
    assert problems == []
    (stored_run / "report.html").unlink()
    assert read_stored(stored_run)[1] == ["report.html is missing"]


@pytest.fixture
def unfinished_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an unfinished run, whose rows were collected."""
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    folder = folders.unfinished_folder() / runs.RUN_IDENTITY
    load = evidence.LoadFile(
        id=runs.RUN_IDENTITY, command="lab run", began_at="now", workload="iou", options={}, subject={}
    )
    evidence.begin(folder, load, evidence.Texts("workload: iou\n", ENVIRONMENT))
    simulation.write_rows(folder / evidence.ROWS / f"{runs.RUN_IDENTITY}.ndjson", SIMULATED)
    evidence.end(folder, "failed", "the generator was killed", rows=len(SIMULATED))
    return folder


def test_an_unfinished_run_is_read_as_a_user_would(unfinished_run: Path) -> None:
    table, problems, _ = read_unfinished(unfinished_run)
    assert table.height == len(SIMULATED)
    assert problems == []


def test_an_unfinished_run_without_its_reason_or_its_rows_is_a_problem(unfinished_run: Path) -> None:
    evidence.end(unfinished_run, "failed", "the generator was killed", rows=None)
    assert read_unfinished(unfinished_run)[1] == ["the rows of the run were not collected"]
    (unfinished_run / evidence.END).unlink()
    assert read_unfinished(unfinished_run)[1] == ["`lab list` does not show that the run failed, and why"]


def planned(workload: str, subject: Subject) -> RunPlan:
    return RunPlan("x", OPTIONS, load_workload(WORKLOADS, workload, simulation.NODES), subject, 300)


def test_only_loads_whose_flows_can_be_told_apart_on_the_ledger_are_tried() -> None:
    one = Subject("PartyA", (part("Iou"),))
    assert command.checked(planned("iou", one)).subject is one
    with pytest.raises(LabError, match="has several flows"):
        command.checked(planned("iou", Subject("PartyA", (part("Iou"), part("Other")))))
    spending = replace(part("Pay"), changes={simulation.IOU_STATE: {"PartyA": -1, "PartyB": 1}})
    with pytest.raises(LabError, match="consumes states"):
        command.checked(planned("iou", Subject("PartyA", (spending,))))
