"""The audit of a run: its verdict, its file, and what it does to a step."""

from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.results import audits, store, stored
from corda_lab.results.audits import Audit, Violation, ViolationKind, verdict_of
from corda_lab.results.store import Measured
from support.runs import ENVIRONMENT, step_file, write_audits, write_run

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


def test_each_step_has_the_file_of_its_audit(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    assert audits.read(run) == {}, "it was not audited"
    write_audits(run, {1: WRONG})
    assert audits.read(run) == stored.read(run).audits() == {1: WRONG}
    step_file(run).with_name("audit.json").write_text('{"verdict": "fine"}', encoding="utf-8")
    with pytest.raises(LabError, match=r"audit\.json"):
        audits.read(run)


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


def test_a_run_keeps_the_audits_of_its_steps(measured: Measured, tmp_path: Path) -> None:
    second = measured.with_step(measured.step.updated(index=2)).with_audit(Audit(verdict="passed"))
    run = write_run(store.manifest("20260102T030405Z-two"), [measured, second], results=tmp_path)
    assert audits.read(run) == {2: Audit(verdict="passed")}
