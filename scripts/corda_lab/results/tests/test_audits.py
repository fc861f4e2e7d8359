"""The audit of a run: its verdict, its file, and what it does to a step."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.node_logs import model as node_logs
from corda_lab.node_logs.model import KeptLogs
from corda_lab.results import audits, files, stored
from corda_lab.results.audits import Audit, Violation, ViolationKind, verdict_of
from corda_lab.results.files import Measured
from corda_lab.results.sweep import SweepPlan
from support.runs import ENVIRONMENT

DOUBLED = Violation(kind=ViolationKind.DOUBLED, ids=("AB12", "run-1"), text="twice")
LEFT = Violation(kind=ViolationKind.FLOW_SUSPENDED, node="PartyA", ids=("flow",), text="left")
WRONG = Audit(verdict="violations", violations=(LEFT, DOUBLED, LEFT), counts={"transactions": 2}, seconds=1.5)


def test_a_violation_outweighs_what_cannot_be_told() -> None:
    assert verdict_of([DOUBLED], ["unread"]) == "violations"
    assert verdict_of([], ["unread"]) == "cannot tell"
    assert verdict_of([], []) == "passed"


def test_the_summary_counts_by_kind() -> None:
    assert WRONG.summary == "violations: 1 doubled, 2 flow_suspended"
    told = Audit(verdict="passed", counts={"transactions": 1200, "nodes": 4})
    assert told.summary == "passed: 1,200 transactions on 4 nodes"
    untold = Audit(verdict="cannot tell", reasons=("the notary's log was not read", "another", "a third"))
    assert untold.summary == "cannot tell: the notary's log was not read, and 2 more"


def test_the_file_has_the_audit_of_each_step(tmp_path: Path) -> None:
    audits.write(tmp_path, {0: WRONG, 3: Audit(verdict="passed")})
    assert audits.read(tmp_path) == {0: WRONG, 3: Audit(verdict="passed")}
    assert '"missing_at_participant"' not in (tmp_path / "audit.json").read_text(encoding="utf-8")


def test_a_run_without_the_file_was_not_audited(tmp_path: Path) -> None:
    assert audits.read(tmp_path) == {}


@pytest.mark.parametrize("content", ["", "[]", '{"audits": {"0": {"verdict": "fine"}}}'])
def test_a_damaged_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "audit.json").write_text(content, encoding="utf-8")
    with pytest.raises(LabError, match=r"audit\.json"):
        audits.read(tmp_path)


@pytest.fixture
def measured(stored_run: Callable[..., Path]) -> Measured:
    run = stored.read(stored_run())
    return Measured(
        run.steps[0],
        run.table("requests").drop("step"),
        run.table("metrics").drop("step"),
        None,
        ENVIRONMENT,
        "iou",
        "",
    )


def test_a_violation_fails_the_step_and_leaves_it_valid(measured: Measured) -> None:
    assert measured.step.verdict.passed
    step = measured.with_audit(WRONG).step
    assert not step.verdict.passed
    assert [str(one) for one in step.verdict.reasons] == ["violations in the ledgers: 1 doubled, 2 flow_suspended"]
    assert step.validity == measured.step.validity


def test_what_the_ledgers_do_not_tell_is_a_warning(measured: Measured) -> None:
    step = measured.with_audit(Audit(verdict="cannot tell", reasons=("PartyB was not read",))).step
    assert step.verdict.passed
    assert str(step.flags[-1]) == "the audit of the ledgers cannot tell: PartyB was not read"


def test_ledgers_that_are_right_change_nothing(measured: Measured) -> None:
    assert measured.with_audit(Audit(verdict="passed")).step == measured.step


def test_the_audit_of_a_step_stays_with_it_in_a_running_sweep(measured: Measured, tmp_path: Path) -> None:
    audited = measured.with_audit(WRONG)
    files.write_step(tmp_path, audited)
    assert files.read_step(tmp_path).audit == WRONG
    assert audits.read(tmp_path) == {measured.step.index: WRONG}


def test_a_run_keeps_the_audits_of_its_steps(measured: Measured, tmp_path: Path) -> None:
    second = measured.with_step(measured.step.updated(index=2)).with_audit(Audit(verdict="passed"))
    steps = [measured, second]
    manifest = files.run_manifest("20260102T030405Z-two", steps, sweep=None, phases={})
    files.write_run(tmp_path, manifest, steps)
    assert audits.read(tmp_path) == {2: Audit(verdict="passed")}


def test_the_logs_of_a_step_stay_with_it_and_get_into_the_run(measured: Measured, tmp_path: Path) -> None:
    kept = KeptLogs(why="it failed", since=0, until=1, logs=[])
    node_logs.write_index(tmp_path / "attempt/logs", kept)
    (tmp_path / "step").mkdir()
    files.write_step(tmp_path / "step", replace(measured, logs=tmp_path / "attempt/logs"))
    again = files.read_step(tmp_path / "step")
    assert again.logs == tmp_path / "step/logs"
    for sweep, place in ((SweepPlan(), "logs/0001"), (None, "logs")):
        run = tmp_path / place.replace("/", "-")
        run.mkdir()
        manifest = files.run_manifest("20260102T030405Z-one", [again], sweep=sweep, phases={})
        files.write_run(run, manifest, [again])
        assert list(node_logs.of_run(run)) == [(1, run / place, kept)]
