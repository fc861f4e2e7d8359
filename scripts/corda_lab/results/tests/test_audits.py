"""The audit of a run: its verdict, its file, and what it does to a step."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.results import audits
from corda_lab.results.audits import Audit, Violation, ViolationKind, verdict_of

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
