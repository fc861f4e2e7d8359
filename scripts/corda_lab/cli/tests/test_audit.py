"""What an audit prints, its exit status, and its lines in the summary of a run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from corda_lab.cli import audit as verb
from corda_lab.cli import summary as run_summary
from corda_lab.results import stored
from corda_lab.results.audits import Audit, Violation, ViolationKind
from support.runs import write_audits

LOST = Violation(
    kind=ViolationKind.MISSING_AT_PARTICIPANT, node="PartyB", ids=("AB12",), text="PartyB [x] does not have AB12"
)
PASSED = Audit(verdict="passed", counts={"nodes": 4, "transactions": 812}, seconds=3.2)
WRONG = Audit(verdict="violations", counts={"nodes": 4}, violations=(LOST,) * 7, seconds=3.2)
UNTOLD = Audit(verdict="cannot tell", reasons=("PartyB has no container",), seconds=1)


def test_ledgers_that_are_right_exit_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    verb.end(PASSED, as_json=False)
    assert "passed: 812 transactions on 4 nodes, in 3.2 s" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (WRONG, ["missing_at_participant PartyB [x] does not have AB12", "violations: 7 missing_at_participant"]),
        (UNTOLD, ["cannot tell PartyB has no container", "cannot tell: PartyB has no container, in 1.0 s"]),
    ],
    ids=["violations", "cannot tell"],
)
def test_anything_else_is_listed_and_exits_with_1(
    found: Audit, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended:
        verb.end(found, as_json=False)
    assert ended.value.exit_code == 1
    text = capsys.readouterr().out
    for one in words:
        assert one in text


def test_a_program_gets_every_violation(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        verb.end(WRONG, as_json=True)
    assert Audit.model_validate(json.loads(capsys.readouterr().out)) == WRONG


def summary(run: Path, found: Audit, capsys: pytest.CaptureFixture[str]) -> str:
    write_audits(run, {1: found})
    step = stored.read(run).steps[0]
    capsys.readouterr()
    run_summary.show_run(run, step)
    return capsys.readouterr().out


def test_the_summary_of_a_run_has_the_verdict(
    stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = summary(stored_run(), PASSED, capsys)
    assert "ledgers      passed: 812 transactions on 4 nodes, in 3.2 s" in text


def test_the_summary_of_a_run_names_some_violations(
    stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = summary(stored_run(), WRONG, capsys)
    assert text.count("PartyB [x] does not have AB12") == run_summary.AUDIT_SHOWN_MAX
    assert "2 more, in the report and in audit.json" in text


def test_a_run_without_an_audit_has_no_such_line(
    stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored_run()
    run_summary.show_run(run, stored.read(run).steps[0])
    assert "ledgers" not in capsys.readouterr().out
