"""What an audit prints, its exit status, and its lines in the summary of a run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from corda_lab.cli import deeper as verb
from corda_lab.cli import summary
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
    ("result", "words"),
    [
        (WRONG, "missing_at_participant PartyB [x] does not have AB12"),
        (UNTOLD, "cannot tell: PartyB has no container, in 1.0 s"),
    ],
    ids=["violations", "cannot tell"],
)
def test_anything_else_is_listed_and_exits_with_1(
    result: Audit, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended:
        verb.end(result, as_json=False)
    assert ended.value.exit_code == 1
    assert words in capsys.readouterr().out


def test_a_program_gets_every_violation(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        verb.end(WRONG, as_json=True)
    assert Audit.model_validate(json.loads(capsys.readouterr().out)) == WRONG


def test_the_summary_of_a_run_names_some_violations(
    stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored_run()
    write_audits(run, {1: WRONG})
    capsys.readouterr()
    summary.show_run(run, stored.read(run).steps[0])
    text = capsys.readouterr().out
    assert text.count("PartyB [x] does not have AB12") == summary.AUDIT_SHOWN_MAX
    assert "2 more, in the report and in audit.json" in text
