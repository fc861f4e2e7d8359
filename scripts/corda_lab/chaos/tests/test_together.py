"""What is compared with the vaults after a trial, and the audit of all trials together."""

from typing import cast

import polars as pl
import pytest

from corda_lab.audit.requests import Load
from corda_lab.chaos import show, vaults, verdict
from corda_lab.chaos.measurement import ChaosTrial, PieceAudit
from corda_lab.chaos.trial import verdict_of_all
from corda_lab.chaos.verdict import AuditEntry, EndedLoad, LedgerAuditor
from corda_lab.errors import LabError
from corda_lab.results.audits import CHECKS, Audit, unknown_outcomes
from corda_lab.runs.running import RunningLab
from corda_lab.steps.plan import LoadPart, Subject
from corda_lab.steps.resolutions import COLUMNS
from support.chaos import chaos_file

IOU, CASH = "IouState", "CashState"
PAY = Subject("PartyA", (LoadPart("pay", "Pay", "Pay", "PartyB", changes={CASH: {"PartyA": 0, "PartyB": 1}}),))
MIX = Subject(
    "PartyA",
    (
        LoadPart("iou", "Iou", "Iou", changes={IOU: {"PartyA": 1, "PartyB": 1}}),
        LoadPart("pay", "Pay", "Pay", changes={CASH: {"PartyA": 0, "PartyC": 1}}),
        LoadPart("issue", "Issue", "Issue", changes={CASH: {"PartyA": 1}}),
        LoadPart("empty", "Empty", "Empty"),
    ),
)
LAB = cast(RunningLab, type("Lab", (), {"compose": None, "settings": None}))


def rows(*transactions: str | None, part: str | None = "pay") -> pl.DataFrame:
    count = len(transactions)
    table = pl.DataFrame(
        {
            "client_id": [f"x-{number}" for number in range(count)],
            "node": ["PartyA"] * count,
            "part": [part] * count,
            "outcome": ["ok"] * count,
            "started_at": [1000.0 + number for number in range(count)],
            "ended_at": [1000.5 + number for number in range(count)],
            "flow_id": [f"flow-{number}" for number in range(count)],
            "tx_id": list(transactions),
        },
        schema_overrides={"part": pl.String, "tx_id": pl.String},
    )
    return table.with_columns(pl.lit(None, kind).alias(name) for name, kind in COLUMNS.items())


def test_only_places_where_every_success_leaves_states_are_compared() -> None:
    assert vaults.exact_places(PAY) == ((CASH, "PartyB"),), "PartyA has the issue, which is spent at once"
    assert set(vaults.exact_places(MIX)) == {(IOU, "PartyA"), (IOU, "PartyB"), (CASH, "PartyC")}
    assert vaults.on_ledger({}) is None


def test_each_success_is_in_the_vault_once_and_nothing_else_is() -> None:
    table, place = rows("aa", "BB", "CC"), (CASH, "PartyB")
    assert vaults.compare(table, {place: {"AA", "BB", "CC"}}, PAY) == vaults.Found()
    assert len(vaults.compare(table, {place: {"AA", "BB", "CC", "DD"}}, PAY).problems) == 1
    assert vaults.compare(table, {place: {"AA", "BB"}}, PAY).problems == (
        "transactions missing in the vault of PartyB: 1 (CC)",
    )


def test_a_success_without_a_row_or_without_an_id_accounts_for_one() -> None:
    place = (CASH, "PartyB")
    without_row = pl.concat([rows("AA", "BB"), rows("CC", part=None)])
    assert vaults.compare(without_row, {place: {"AA", "BB", "CC"}}, PAY) == vaults.Found()
    assert vaults.compare(without_row, {place: {"AA", "BB"}}, PAY).problems != ()
    nameless = rows("AA", "BB", None)
    assert vaults.compare(nameless, {place: {"AA", "BB", "EE"}}, PAY) == vaults.Found()
    assert vaults.compare(nameless, {place: {"AA", "BB", "EE", "FF"}}, PAY).problems != ()


def test_flows_that_record_several_transactions_at_a_place_are_not_counted() -> None:
    own = [f"A{number}" for number in range(5)]
    found = vaults.compare(rows(*own), {(CASH, "PartyB"): {*own, *(f"B{number}" for number in range(5))}}, PAY)
    assert found.problems == ()
    assert "each flow records several transactions in the vault of PartyB" in found.warnings[0]


@pytest.mark.parametrize("count", [1, 4])
def test_a_fault_can_make_each_of_a_few_flows_do_it_twice(count: int) -> None:
    own, again = ([f"{letter}{number}" for number in range(count)] for letter in "AB")
    found = vaults.compare(rows(*own), {(CASH, "PartyB"): {*own, *again}}, PAY)
    (problem,) = found.problems
    assert f"known to have succeeded in the vault of PartyB: {count} (B0" in problem
    assert found.warnings == ()


def test_what_a_set_up_has_recorded_is_older_than_the_first_request() -> None:
    assert vaults.began_at(rows("AA", "BB"), 900.0) == 1000.0
    assert vaults.began_at(rows("AA").clear(), 900.0) == 900.0


@pytest.fixture
def audited(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Load, ...]]:
    """The loads of every audit of all trials."""
    seen: list[tuple[Load, ...]] = []

    def of_all(_compose: object, loads: tuple[Load, ...], **_: object) -> Audit:
        seen.append(loads)
        return Audit(verdict="passed", counts={"transactions": 5})

    monkeypatch.setattr(verdict, "audit_load", lambda *_, **__: Audit(verdict="passed", seconds=1.04))
    monkeypatch.setattr(verdict, "audit_loads", of_all)
    return seen


def test_the_requests_of_all_trials_are_kept_for_the_audit_of_all(audited: list[tuple[Load, ...]]) -> None:
    auditor = LedgerAuditor()
    assert auditor.of_all(LAB).verdict == "cannot tell"
    for name in ("AA", "BB"):
        found = auditor.after_trial(LAB, EndedLoad(rows(name), PAY, at_rest=1100.0))
        assert (found.verdict, found.checks, found.seconds) == ("passed", CHECKS, 1.0)
    assert auditor.of_all(LAB).counts == {"transactions": 5}
    ((first, second),) = audited
    assert [one.requests[0].transaction for one in (first, second)] == ["AA", "BB"]
    assert [one.requests[0].load for one in (first, second)] == [1, 2]
    assert first.requests[0].names_states
    # What the next set-up records is not taken for a flow of this load that ran again.
    assert first.window.until is not None


class Fixed:
    """An audit with a certain result."""

    def __init__(self, found: AuditEntry | LabError) -> None:
        self.found = found

    def after_trial(self, lab: RunningLab, _ended: EndedLoad) -> AuditEntry:
        return self.of_all(lab)

    def of_all(self, _lab: RunningLab) -> AuditEntry:
        if isinstance(self.found, LabError):
            raise self.found
        return self.found


UNSURE = AuditEntry(verdict="cannot tell", counts={"unknown_requests": 2}, reasons=(unknown_outcomes(2),))


@pytest.mark.parametrize(
    ("found", "keeps", "problems"),
    [
        (AuditEntry(verdict="passed", checks=CHECKS), True, ()),
        (LabError("PartyC cannot be asked"), True, ("the audit cannot tell: PartyC cannot be asked",)),
        (UNSURE, True, ("the audit cannot tell: the outcome of 2 requests is not known",)),
        (UNSURE, False, ()),
    ],
)
def test_the_trials_together_pass_or_fail(found: AuditEntry | LabError, keeps: bool, problems: tuple[str, ...]) -> None:
    trials = (trial(1, keeps_client_ids=keeps), trial(2))
    seen = verdict_of_all(Fixed(found), LAB, trials)
    assert (seen.trials, seen.problems) == (2, problems)


def trial(seed: int, **found: object) -> ChaosTrial:
    return ChaosTrial.model_validate({"seed": seed, "run": "r", "stored": True, **found})


def test_trials_are_confirmed_by_the_audit_after_them() -> None:
    first, second, third = trial(1), trial(2, problems=("something was lost",)), trial(3)
    passed = PieceAudit(verdict="passed", trials=2, seconds=4.2)
    file = chaos_file(passed, first, second, third)
    assert file.confirmed == (first, second)
    assert not file.has_passed
    assert show.together(file) == "all ledgers after 2 trials: passed, in 4 s"
    assert chaos_file(passed, first, third).has_passed
    lost = passed.model_copy(update={"verdict": "violations", "problems": ("AB is lost",)})
    assert chaos_file(lost, first, third).confirmed == ()
    assert "FAILED: AB is lost" in show.together(chaos_file(lost, first, third))
    assert chaos_file(None, first).confirmed == ()
    assert not chaos_file(None, first).has_passed
