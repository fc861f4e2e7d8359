"""What the ledgers prove is in the reports of runs and sweeps."""

import shutil
from collections.abc import Callable
from pathlib import Path

from corda_lab.report import page
from corda_lab.results.audits import Audit, Violation, ViolationKind
from support.pages import report_html, without_scripts
from support.runs import write_audits

LOST = Violation(
    kind=ViolationKind.MISSING_AT_PARTICIPANT, node="PartyB", ids=("AB12",), text="PartyB does not have <AB12>"
)
PASSED = Audit(verdict="passed", counts={"nodes": 4, "transactions": 1812}, seconds=3.2)
WRONG = Audit(verdict="violations", counts={"nodes": 4}, violations=(LOST,) * 202, seconds=3.2)
UNTOLD = Audit(verdict="cannot tell", reasons=("the database of PartyB could not be read: no space",), seconds=60)


def shown(run: Path, audit: Audit) -> str:
    write_audits(run, {1: audit})
    page.render(run)
    return " ".join(without_scripts(report_html(run)).split())


def test_a_run_whose_ledgers_are_right_says_so(stored_run: Callable[..., Path]) -> None:
    text = shown(stored_run(), PASSED)
    assert "passed: 1,812 transactions on 4 nodes" in text
    assert '<td>transactions</td><td class="number">1,812</td>' in text
    assert '<div class="tile good"><h2>ledgers</h2>' in text


def test_every_violation_is_listed_up_to_a_limit(stored_run: Callable[..., Path]) -> None:
    text = shown(stored_run(), WRONG)
    assert text.count('<td class="bad">missing_at_participant</td>') == 200
    assert "PartyB does not have &lt;AB12&gt;" in text
    assert "2 more are in audit.json" in text


def test_what_the_ledgers_do_not_tell_is_said(stored_run: Callable[..., Path]) -> None:
    text = shown(stored_run(), UNTOLD)
    assert "Cannot tell: the database of PartyB could not be read: no space." in text
    assert '<div class="tile warning"><h2>ledgers</h2>' in text


def test_a_run_without_an_audit_says_that_it_has_none(stored_run: Callable[..., Path]) -> None:
    text = report_html(stored_run())
    assert "The ledgers were not audited." in text


def test_the_report_of_a_sweep_has_the_verdict_of_each_step(sweep: Path, tmp_path: Path) -> None:
    own = tmp_path / sweep.name
    shutil.copytree(sweep, own)
    write_audits(own, {1: PASSED, 2: WRONG})
    page.render(own)
    text = without_scripts(report_html(own))
    assert text.count('<td class="good">✓ passed</td>') == 1
    assert text.count('<td class="bad">✗ violations: 202 missing_at_participant</td>') == 1
    assert '<td class="">not audited</td>' in text
