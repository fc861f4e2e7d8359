"""A whole trial on a lab that only answers: what is read of its run, asked of the nodes, audited and stored.

The load itself, and a real audit, need nodes: ``tests/e2e/test_chaos.py`` has them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from corda_lab.audit.requests import requests_of
from corda_lab.bench.kills.trial import Outcome
from corda_lab.chaos import command
from corda_lab.chaos import trial as chaos_trial
from corda_lab.chaos.measurement import ChaosFile, ChaosTrial, PieceAudit
from corda_lab.chaos.verdict import AuditEntry, EndedLoad, ViolationEntry
from corda_lab.clients.bridge import Bridge, FlowStatus, Node
from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.faults import inject
from corda_lab.lab import environment
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results import evidence, faults, folders, node_logs
from corda_lab.results.faults import SCHEMA, FaultsFile, LoadFaults
from corda_lab.results.node_logs import BoundedText, KeptLog, KeptLogs
from corda_lab.runs import faulty, preflight
from corda_lab.runs.faulty import Settled
from corda_lab.runs.running import RunningLab
from corda_lab.steps.faults import FaultEntry
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.plan import Subject
from support import runs, simulation
from support.runs import ENVIRONMENT, RUN_IDENTITY, part, plan_of

OPTIONS = LoadOptions(workload="iou", users=2, duration_seconds=18.0, warm_up_seconds=2.0, seed=7)
SUBJECT = Subject("PartyA", (part("Iou"),))
SIMULATED = simulation.closed_rows(2, 20, simulation.fixed(0.5))
IDS = {str(row["tx_id"]) for row in SIMULATED}
"""The transactions that the requests were told of."""
SETTINGS = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "my-lab", "PARTIES": "3"})
KILLED = FaultEntry(
    kind="kill", target="bridge", at_seconds=5.0, for_seconds=1.0, began_at=simulation.ORIGIN + 5, healed_at=1e10
)
GENERATOR = KILLED.model_copy(update={"target": "generator"})


@dataclass
class Answers:
    """The bridge and Prometheus of a lab at rest, whose ledger has ``transactions``."""

    transactions: set[str] = field(default_factory=set)
    states: dict[str, FlowStatus] = field(default_factory=dict)
    keeps: bool = True
    forgotten: list[str] = field(default_factory=list)

    def nodes(self) -> dict[str, Node]:
        return {"PartyA": Node("PartyA", "O=PartyA", 12, True, False, 0, keeps_client_ids=self.keeps)}

    def vault_transactions(self, _node: str, _state: str, _since: float) -> set[str]:
        return self.transactions

    def flow_status(self, _node: str, client: str) -> FlowStatus:
        return self.states.get(client, FlowStatus("absent"))

    def forget_flows(self, _node: str, prefix: str) -> int:
        self.forgotten.append(prefix)
        return 0


PASSED = AuditEntry(verdict="passed", seconds=1.0)


@dataclass
class Audited:
    """An audit that passes, or fails with an error, and notes what it was given."""

    rows: pl.DataFrame = field(default_factory=pl.DataFrame)
    error: str | None = None
    found: AuditEntry = PASSED

    def after_trial(self, lab: RunningLab, ended: EndedLoad) -> AuditEntry:
        self.rows = ended.rows
        assert ended.stateful == {"Iou"}
        return self.of_all(lab)

    def of_all(self, lab: RunningLab) -> AuditEntry:
        if self.error is not None:
            raise LabError(self.error)
        return self.found


def lab_of(answers: Answers) -> RunningLab:
    return RunningLab(SETTINGS, Compose(SETTINGS), cast(Bridge, answers), cast(Prometheus, answers))


def made(folder: Path, *entries: FaultEntry) -> None:
    faults.write(folder, FaultsFile(schema=SCHEMA, loads=(LoadFaults(seed=7, faults=entries),)))


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Outcome], None]:
    """Return a function that makes the load of the next trial end in a certain way, on a lab that is at rest."""
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(chaos_trial, "await_ready", lambda _lab: None)
    monkeypatch.setattr(faulty, "settle", lambda _lab: Settled(("PartyB",), 1.0))

    def end(outcome: Outcome) -> None:
        monkeypatch.setattr(chaos_trial, "run_load", lambda _options, _settings: outcome)

    return end


@pytest.fixture
def stored(tmp_path: Path, ended: Callable[[Outcome], None]) -> Path:
    folder = runs.store(tmp_path, plan_of(OPTIONS), SIMULATED, simulation.end_words(SIMULATED, 2, 20))
    made(folder, KILLED)
    ended(Outcome(folder, stored=True))
    return folder


@pytest.fixture
def unfinished(tmp_path: Path, ended: Callable[[Outcome], None]) -> Path:
    """The evidence of a load whose generator was killed. Of its last two rows, one is unknown, and one is missing."""
    folder = folders.unfinished_folder() / RUN_IDENTITY
    load = evidence.LoadFile(
        id=RUN_IDENTITY, command="lab chaos", began_at="now", workload="iou", options={}, subject={}
    )
    evidence.begin(folder, load, evidence.Texts("workload: iou\n", ENVIRONMENT))
    *first, last, _ = SIMULATED
    kept: list[dict[str, Any]] = [*first, {**last, "outcome": "unknown", "tx_id": None}]
    simulation.write_rows(folder / evidence.ROWS / f"{RUN_IDENTITY}.ndjson", kept)
    evidence.end(folder, "failed", "the generator was killed", rows=len(kept))
    made(folder, GENERATOR)
    ended(Outcome(folder, stored=False, reason="the generator was killed"))
    return folder


def test_a_trial_has_the_faults_of_its_run_its_outcomes_and_its_audit(stored: Path) -> None:
    audit = Audited()
    found = chaos_trial.trial(lab_of(Answers(transactions=IDS)), SUBJECT, OPTIONS, audit)
    assert (found.seed, found.run, found.stored) == (7, stored.name, True)
    assert [one.name for one in found.made] == ["kill bridge"]
    assert found.outcomes == {"ok": len(SIMULATED)}
    assert (found.on_ledger, found.succeeded, found.restarted) == (len(IDS), len(IDS), ("PartyB",))
    assert audit.rows.height == len(SIMULATED)
    assert found.problems == ()


def test_a_transaction_that_no_success_accounts_for_fails_the_trial_and_so_does_a_missing_one(stored: Path) -> None:
    """A flow that ran again records another transaction. The vaults are counted apart from the audit."""
    twice = chaos_trial.trial(lab_of(Answers(transactions=IDS | {"EE"})), SUBJECT, OPTIONS, Audited())
    assert twice.problems == tuple(
        f"transactions of no flow that is known to have succeeded in the vault of {node}: 1 (EE)"
        for node in ("PartyA", "PartyB")
    )
    lost = sorted(IDS)[3]
    without = chaos_trial.trial(lab_of(Answers(transactions=IDS - {lost})), SUBJECT, OPTIONS, Audited())
    assert without.problems[0] == f"transactions missing in the vault of PartyA: 1 ({lost})"


def test_counts_that_differ_fail_the_trial(tmp_path: Path, ended: Callable[[Outcome], None]) -> None:
    counts = simulation.agreeing_counts(SIMULATED)
    (one, other) = counts.vaults
    wrong = replace(counts, vaults=(one, other.model_copy(update={"counted": (other.counted or 0) + 1})))
    end = simulation.end_words(SIMULATED, 2, 20)
    folder = runs.store(tmp_path, plan_of(OPTIONS), SIMULATED, end, counted=wrong)
    made(folder, KILLED)
    ended(Outcome(folder, stored=True))
    (problem,) = chaos_trial.trial(lab_of(Answers(transactions=IDS)), SUBJECT, OPTIONS, Audited()).problems
    assert problem.startswith("the report says: ")
    # Nodes without client ids do not say what became of a flow, so its transaction may be one more.
    unsure = Answers(transactions=IDS, keeps=False)
    assert chaos_trial.trial(lab_of(unsure), SUBJECT, OPTIONS, Audited()).problems == ()


def test_what_the_logs_explain_does_not_fail_the_trial(tmp_path: Path, ended: Callable[[Outcome], None]) -> None:
    """Its last flow had recorded a transaction before the one that Corda stranded."""
    *succeeded, last = SIMULATED
    rows = [*succeeded, {**last, "outcome": "failed", "tx_id": None}]
    counts = simulation.agreeing_counts(rows)
    surplus = tuple(
        one.model_copy(update={"counted": one.expected + 1}) if one.node == "PartyA" else one for one in counts.vaults
    )
    end = simulation.end_words(rows, 2, 20)
    folder = runs.store(tmp_path, plan_of(OPTIONS), rows, end, counted=replace(counts, vaults=surplus))
    made(folder, KILLED)
    ended(Outcome(folder, stored=True))
    alone = ViolationEntry(kind="notary_without_transaction", ids=("AB",), text="the notary has committed AB")
    audit = AuditEntry(verdict="violations", violations=(alone,))
    lab = lab_of(Answers(transactions={str(row["tx_id"]) for row in succeeded}))
    without = chaos_trial.trial(lab, SUBJECT, OPTIONS, Audited(found=audit))
    assert len(without.problems) == 2

    context = f"client_id={last['client_id']}, flow-id=a-flow"
    lines = BoundedText()
    for message, transaction in (
        ("Recorded transaction locally successfully.", "CD"),
        ("Sending transaction to notary: O=Notary, L=London, C=GB.", "AB"),
        ("Flow error allowed to propagate", "AB"),
    ):
        lines.add(f"[INFO ] 2026-01-02T03:04:05,000Z [t] corda.flow. - {message} {{{context}, tx_id={transaction}}}")
    log = KeptLog(node="PartyA", file=node_logs.write_log(folder / "logs", "PartyA", lines), entries=3)
    node_logs.write_index(folder / "logs", KeptLogs(why="a flow failed", since=0.0, until=1.0, logs=[log]))
    found = chaos_trial.trial(lab, SUBJECT, OPTIONS, Audited(found=audit))
    assert found.problems == ()
    assert found.stranded_ids == {"AB"}
    (warning,) = [one for one in found.warnings if "the counts differ" in one]
    assert warning.endswith("no more than flows that failed had recorded before, by the logs")
    assert chaos_trial.verdict_of_all(Audited(found=audit), lab, [found]).problems == ()
    assert chaos_trial.verdict_of_all(Audited(found=audit), lab, [without]).problems == (alone.text,)


def test_rows_that_were_not_collected_fail_the_trial(unfinished: Path) -> None:
    (unfinished / evidence.END).unlink()
    evidence.end(unfinished, "failed", "the generator was killed", rows=None)
    answers = Answers(transactions=TOLD_BEFORE)
    found = chaos_trial.trial(lab_of(answers), SUBJECT, OPTIONS, Audited())
    assert "the rows of the run were not collected" in found.problems


TOLD_BEFORE = {str(row["tx_id"]) for row in SIMULATED[:-2]}
"""The transactions of which a killed generator has rows."""


def test_the_node_is_asked_about_the_flows_of_a_killed_generator(unfinished: Path) -> None:
    *_, last, missing = SIMULATED
    answers = Answers(
        transactions=TOLD_BEFORE | {"AB", "CD"},
        states={
            str(last["client_id"]): FlowStatus("completed", "AB"),
            str(missing["client_id"]): FlowStatus("completed", "CD"),
        },
    )
    audit = Audited()
    found = chaos_trial.trial(lab_of(answers), SUBJECT, OPTIONS, audit)
    assert found.problems == ()
    assert (found.resolved, found.unrecorded, found.unexplained) == ({"ok": 1}, 1, 0)
    # Also the flow without a row, whose transaction would otherwise be nobody's.
    assert audit.rows.filter(pl.col("resolved") == "ok")["resolved_tx_id"].to_list() == ["AB", "CD"]
    assert {one.transaction for one in requests_of(audit.rows) if one.status == "acknowledged"} > {"AB", "CD"}
    assert answers.forgotten == [f"{unfinished.name}-"]
    assert found.on_ledger == found.succeeded


def test_a_flow_of_which_the_node_cannot_tell_fails_the_trial(unfinished: Path) -> None:
    states = {str(SIMULATED[-2]["client_id"]): FlowStatus("unreachable")}
    answers = Answers(transactions=TOLD_BEFORE, states=states)
    found = chaos_trial.trial(lab_of(answers), SUBJECT, OPTIONS, Audited())
    assert found.unexplained == 1
    assert found.problems == ("1 flow of which nobody can tell what became of them",)


def test_without_client_ids_nobody_is_asked_and_the_ledger_counts(unfinished: Path) -> None:
    answers = Answers(transactions={str(number) for number in range(len(SIMULATED))}, keeps=False)
    audit = Audited()
    found = chaos_trial.trial(lab_of(answers), SUBJECT, OPTIONS, audit)
    assert found.problems == ()
    assert found.resolved == {}
    # One row is unknown, and each user may have begun a flow of which no row was written.
    assert sum(one.status == "unknown" for one in requests_of(audit.rows)) == 1 + OPTIONS.users
    more = replace(answers, transactions={str(number) for number in range(len(SIMULATED) + 10)})
    assert chaos_trial.trial(lab_of(more), SUBJECT, OPTIONS, Audited()).problems != ()


def test_a_request_that_another_node_never_got_keeps_the_answer_of_its_own() -> None:
    @dataclass
    class TwoNodes(Answers):
        def flow_status(self, node: str, client: str) -> FlowStatus:
            return FlowStatus("completed", "EF") if (node, client) == ("PartyA", "run-2") else FlowStatus("absent")

    table = pl.DataFrame(
        {"client_id": ["run-1", "run-3"], "node": ["PartyA", "PartyB"], "outcome": ["ok", "ok"], "tx_id": ["AA", "BB"]}
    )
    both = Subject("PartyA", (part("Iou"),), others=(Subject("PartyB", (part("Iou"),)),))
    found = chaos_trial.ask(table, lab_of(TwoNodes()), both, users=2)
    assert found["run-2"] == FlowStatus("completed", "EF")


def test_an_audit_that_fails_and_a_lab_that_does_not_come_back_are_problems(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Audited(error="PartyC cannot be asked")
    found = chaos_trial.trial(lab_of(Answers(transactions=IDS)), SUBJECT, OPTIONS, failing)
    assert found.problems == ("the audit cannot tell: PartyC cannot be asked",)

    def away(_lab: RunningLab) -> Settled:
        raise LabError("The lab was not back")

    monkeypatch.setattr(faulty, "settle", away)
    found = chaos_trial.trial(lab_of(Answers()), SUBJECT, OPTIONS, failing)
    assert found.problems == ("The lab was not back",)
    assert [one.name for one in found.made] == ["kill bridge"]


def test_what_cannot_be_counted_or_judged_is_a_trial_that_failed(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stored like any other, so that its seed is not drawn again."""

    @dataclass
    class Silent(Answers):
        def vault_transactions(self, _node: str, _state: str, _since: float) -> set[str]:
            raise LabError("PartyB did not answer within 25 s")

    found = chaos_trial.trial(lab_of(Silent()), SUBJECT, OPTIONS, Audited())
    assert (found.audit, found.problems) == (None, ("PartyB did not answer within 25 s",))
    assert [one.name for one in found.made] == ["kill bridge"]

    monkeypatch.setattr(faulty, "settle", lambda _lab: Settled(("PartyB",), 1.0, is_at_rest=False))
    found = chaos_trial.trial(lab_of(Answers(transactions=IDS)), SUBJECT, OPTIONS, Audited())
    assert found.audit is None
    assert "still in flight" in found.problems[0]

    (stored / folders.FAULTS).write_text("{", encoding="utf-8")
    found = chaos_trial.trial(lab_of(Answers(transactions=IDS)), SUBJECT, OPTIONS, Audited())
    assert folders.FAULTS in found.problems[0]


def test_a_defect_of_an_audit_does_not_lose_its_trial(stored: Path) -> None:
    class Broken(Audited):
        def of_all(self, lab: RunningLab) -> AuditEntry:
            raise KeyError("tx_id")

    found = chaos_trial.trial(lab_of(Answers(transactions=IDS)), SUBJECT, OPTIONS, Broken())
    assert found.problems == ("the audit cannot tell: a defect of the lab: KeyError: 'tx_id'",)
    together = chaos_trial.verdict_of_all(Broken(), lab_of(Answers()), (found,))
    assert together.problems == found.problems


def test_no_trial_is_made_after_one_that_was_not_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit of all trials would take its transactions for those of a stranger."""
    plan = plan_of(OPTIONS)
    answers = lab_of(Answers())
    audits: list[int] = []

    def audited(_auditor: object, _lab: RunningLab, trials: Sequence[ChaosTrial]) -> PieceAudit:
        audits.append(len(trials))
        return PieceAudit(verdict="passed", trials=len(trials))

    def made(_lab: RunningLab, _subject: Subject, options: LoadOptions, _auditor: object) -> ChaosTrial:
        trial = ChaosTrial(seed=options.seed, run="r", stored=True, audit=AuditEntry(verdict="passed"))
        if options.seed == 8:
            return trial.model_copy(update={"audit": None, "problems": ("The lab was not back",)})
        return trial

    monkeypatch.setattr(folders, "require_writable", lambda: None)
    monkeypatch.setattr(RunningLab, "of", lambda _settings: answers)
    monkeypatch.setattr(inject, "heal_left", lambda _project: None)
    monkeypatch.setattr(preflight, "prepare", lambda options: options)
    monkeypatch.setattr(preflight, "plan", lambda *_: plan)
    monkeypatch.setattr(environment, "read_environment", lambda _compose: ENVIRONMENT)
    monkeypatch.setattr(command, "CHAOS", tmp_path)
    monkeypatch.setattr(command, "trial", made)
    monkeypatch.setattr(command, "verdict_of_all", audited)
    assert not command.run([replace(OPTIONS, seed=seed) for seed in (7, 8, 9)], SETTINGS)
    (path,) = tmp_path.glob("*.json")
    file = folders.read_model(path, ChaosFile)
    assert [one.seed for one in file.trials] == [7, 8]
    assert [one.seed for one in file.confirmed] == [7]
    assert audits == [1]
