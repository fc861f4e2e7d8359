"""Whole trials on a lab that only answers: what is read of a run, asked of the nodes, audited and stored.

The load itself, and a real audit, need nodes: ``tests/e2e/test_chaos.py`` has them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from corda_lab.audit.command import load_of
from corda_lab.chaos import command
from corda_lab.chaos import trial as chaos_trial
from corda_lab.chaos.trial import TRIAL, Trial
from corda_lab.clients.bridge import Bridge, FlowStatus, Node
from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.faults.model import FaultEntries, FaultEntry
from corda_lab.lab.compose import Compose
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import load_settings
from corda_lab.node_logs import model as node_logs
from corda_lab.node_logs.model import KeptLogs, LogEntry
from corda_lab.paths import ENV_FILE
from corda_lab.results import audits, folders, store
from corda_lab.results import stored as results
from corda_lab.results.audits import Audit, Violation, ViolationKind
from corda_lab.results.stored import StepFile
from corda_lab.runs import faulty, preflight
from corda_lab.runs.faulty import Settled
from corda_lab.steps.counts import judged
from lab_workload.load import Load
from lab_workload.subject import Subject
from support import runs, simulation
from support.labs import lab_with
from support.runs import ENVIRONMENT, RUN_IDENTITY, change_steps, part, plan_of, step_file, write_audits

OPTIONS = Load(workload="iou", users=2, duration_seconds=18.0, warm_up_seconds=2.0, seed=7)
SUBJECT = Subject("PartyA", (part("Iou"),))
SIMULATED = simulation.closed_rows(2, 20, simulation.fixed(0.5))
SETTINGS = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "my-lab", "PARTIES": "3"})
KILLED = FaultEntry(
    kind="kill", target="bridge", at_seconds=5.0, for_seconds=1.0, began_at=simulation.ORIGIN + 5, healed_at=1e10
)
GENERATOR = KILLED.model_copy(update={"target": "generator"})
PASSED = Audit(verdict="passed", seconds=1.0)
ALONE = Violation(kind=ViolationKind.NOTARY_WITHOUT_TRANSACTION, ids=("AB",), text="the notary has committed AB")
VIOLATED = Audit(verdict="violations", violations=(ALONE,))


@dataclass
class Answers:
    """The bridge and Prometheus of a lab at rest."""

    states: dict[str, FlowStatus] = field(default_factory=dict)
    keeps: bool = True
    forgotten: list[str] = field(default_factory=list)

    def nodes(self) -> dict[str, Node]:
        return {"PartyA": Node("PartyA", "O=PartyA", 12, True, False, 0, keeps_client_ids=self.keeps)}

    def flow_status(self, _node: str, client: str) -> FlowStatus:
        return self.states.get(client, FlowStatus("absent"))

    def forget_flows(self, _node: str, prefix: str) -> int:
        self.forgotten.append(prefix)
        return 0


def lab_of(answers: Answers) -> Lab:
    return lab_with(Compose(SETTINGS), cast(Bridge, answers), cast(Prometheus, answers))


def make(answers: Answers | None = None) -> Trial:
    return chaos_trial.make(lab_of(answers or Answers()), SUBJECT, OPTIONS)


def note_faults(folder: Path, *entries: FaultEntry) -> None:
    """Enter faults in the step of a run, or in the evidence of a load."""
    faults = FaultEntries(entries).model_dump(mode="json")
    step = step_file(folder)
    if (evidence := step.with_name(results.EVIDENCE)).is_dir():
        folders.write_json(evidence / faulty.FAULTS, faults)
        return
    changes = {"faults": faults, "restarted_after_faults": ["PartyB"]}
    folders.write_json(step, folders.read_object(step) | changes)


End = Callable[..., None]


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> End:
    """Return a function that makes the load of the next trial end in a certain way, on a lab that is at rest."""
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(faulty, "settle", lambda _lab: Settled())

    def end(folder: Path, reason: str | None = None) -> None:
        monkeypatch.setattr(chaos_trial, "run_load", lambda _options, _settings: (folder, reason))

    return end


@pytest.fixture
def stored(tmp_path: Path, ended: End) -> Path:
    folder = runs.store(tmp_path, plan_of(OPTIONS), SIMULATED, simulation.end_words(SIMULATED, 2, 20))
    write_audits(folder, {1: PASSED})
    note_faults(folder, KILLED)
    ended(folder)
    return folder


@pytest.fixture
def unfinished(tmp_path: Path, ended: End) -> Path:
    """The evidence of a load whose generator was killed. Of its last two rows, one is unknown, and one is missing."""
    folder = store.begin(store.manifest(RUN_IDENTITY, load=OPTIONS, command="lab chaos"))
    place = store.new_step(folder, 1, "run")
    step = StepFile(index=1, key="run")
    store.begin_step(place, step, plan_of(OPTIONS), ENVIRONMENT)
    *first, last, _ = SIMULATED
    kept: list[dict[str, Any]] = [*first, {**last, "outcome": "unknown", "tx_id": None}]
    simulation.write_rows(place / results.EVIDENCE / f"{RUN_IDENTITY}.ndjson", kept)
    ended_step = {"state": "failed", "why": "the generator was killed", "rows": len(kept)}
    store.end_step(place, step.model_copy(update=ended_step))
    note_faults(folder, GENERATOR)
    ended(folder, "the generator was killed")
    return folder


@pytest.fixture
def audited(monkeypatch: pytest.MonkeyPatch) -> list[pl.DataFrame]:
    """The rows that were given to each audit of a load without results. All of them pass."""
    seen: list[pl.DataFrame] = []

    def audit(_compose: object, rows: pl.DataFrame, *_: object, stateful: frozenset[str], **__: object) -> Audit:
        assert stateful == {"Iou"}
        seen.append(rows)
        return PASSED

    monkeypatch.setattr(chaos_trial, "audit_load", audit)
    return seen


def test_a_trial_has_the_faults_of_its_run_its_outcomes_and_its_audit(stored: Path) -> None:
    found = make()
    assert (found.seed, found.run, found.reason) == (7, stored.name, None)
    assert [one.name for one in found.made] == ["kill bridge"]
    assert found.outcomes == {"ok": len(SIMULATED)}
    assert (found.audit, found.restarted, found.problems) == (PASSED, ("PartyB",), [])
    assert folders.read_model(stored / TRIAL, Trial) == found


def test_what_the_audit_of_the_run_found_fails_the_trial(stored: Path) -> None:
    write_audits(stored, {1: VIOLATED})
    assert make().problems == [ALONE.text]
    step_file(stored).with_name(audits.AUDIT_FILE).unlink()
    assert make().problems == ["the ledgers were not audited"]


def test_counts_that_differ_fail_the_trial(tmp_path: Path, ended: End) -> None:
    counts = simulation.agreeing_counts(SIMULATED)
    (one, other) = counts.vault_states
    vaults = [one, other.model_copy(update={"counted": (other.counted or 0) + 1})]
    wrong = judged(counts.model_copy(update={"vault_states": vaults}))
    folder = runs.store(tmp_path, plan_of(OPTIONS), SIMULATED, simulation.end_words(SIMULATED, 2, 20), counted=wrong)
    write_audits(folder, {1: PASSED})
    note_faults(folder, KILLED)
    ended(folder)
    (problem,) = make().problems
    assert "the counts differ" in problem


def test_what_the_logs_explain_does_not_fail_the_trial(tmp_path: Path, ended: End) -> None:
    """Its last flow had recorded a transaction before the one that Corda stranded."""
    *succeeded, last = SIMULATED
    rows = [*succeeded, {**last, "outcome": "failed", "tx_id": None}]
    counts = simulation.agreeing_counts(rows)
    surplus = [
        one.model_copy(update={"counted": one.expected + 1}) if one.node == "PartyA" else one
        for one in counts.vault_states
    ]
    counted = judged(counts.model_copy(update={"vault_states": surplus}))
    end = simulation.end_words(rows, 2, 20)
    folder = runs.store(tmp_path, plan_of(OPTIONS), rows, end, counted=counted)
    write_audits(folder, {1: VIOLATED})
    note_faults(folder, KILLED)
    ended(folder)
    without = make()
    assert len(without.problems) == 2

    context = f"client_id={last['client_id']}, flow-id=a-flow"
    lines = []
    for message, transaction in (
        ("Recorded transaction locally successfully.", "CD"),
        ("Sending transaction to notary: O=Notary, L=London, C=GB.", "AB"),
        ("Flow error allowed to propagate", "AB"),
    ):
        lines.append(f"[INFO ] 2026-01-02T03:04:05,000Z [t] corda.flow. - {message} {{{context}, tx_id={transaction}}}")
    logs = step_file(folder).with_name("logs")
    log = node_logs.keep_log(logs, "PartyA", [LogEntry(tuple(lines))])
    assert log is not None
    node_logs.write_index(logs, KeptLogs(why="a flow failed", since=0.0, until=1.0, logs=[log]))
    found = make()
    assert found.problems == []
    assert found.stranded_ids == {"AB"}
    (warning,) = [one for one in found.warnings if "the counts differ" in one]
    assert warning.endswith("no more than flows that failed had recorded before, by the logs")
    assert folders.read_model(folder / TRIAL, Trial) == found


def test_the_node_is_asked_about_the_flows_of_a_killed_generator(unfinished: Path, audited: list[pl.DataFrame]) -> None:
    *_, last, missing = SIMULATED
    answers = Answers(
        {
            str(last["client_id"]): FlowStatus("completed", "AB"),
            str(missing["client_id"]): FlowStatus("completed", "CD"),
        }
    )
    found = make(answers)
    assert found.problems == []
    assert (found.resolved, found.unrecorded, found.unexplained) == ({"ok": 1}, 1, 0)
    # Also the flow without a row, whose transaction would otherwise be nobody's.
    (rows,) = audited
    assert rows.filter(pl.col("resolved") == "ok")["resolved_tx_id"].to_list() == ["AB", "CD"]
    judged = load_of(rows)
    assert judged is not None
    assert {one.transaction for one in judged.requests if one.status == "acknowledged"} > {"AB", "CD"}
    assert answers.forgotten == [f"{unfinished.name}-"]
    assert (unfinished / TRIAL).is_file()


@pytest.mark.parametrize("flow", [SIMULATED[-2], SIMULATED[-1]], ids=["with a row", "without a row"])
def test_a_flow_of_which_the_node_cannot_tell_fails_the_trial(
    unfinished: Path, audited: list[pl.DataFrame], flow: dict[str, Any]
) -> None:
    found = make(Answers({str(flow["client_id"]): FlowStatus("unreachable")}))
    assert found.unexplained == 1
    assert found.problems == ["1 flow of which nobody can tell what became of them"]


def test_rows_that_were_not_collected_fail_the_trial(unfinished: Path, audited: list[pl.DataFrame]) -> None:
    change_steps(unfinished, lambda step: step.update(rows=None))
    assert "the rows of the run were not collected" in make().problems


def test_a_request_that_another_node_never_got_keeps_the_answer_of_its_own() -> None:
    @dataclass
    class TwoNodes(Answers):
        def flow_status(self, node: str, client: str) -> FlowStatus:
            return FlowStatus("completed", "EF") if (node, client) == ("PartyA", "run-2") else FlowStatus("absent")

    table = pl.DataFrame(
        {"client_id": ["run-1", "run-3"], "node": ["PartyA", "PartyB"], "outcome": ["ok", "ok"], "tx_id": ["AA", "BB"]}
    )
    both = Subject("PartyA", (part("Iou"),), others=(Subject("PartyB", (part("Iou"),)),))
    assert chaos_trial.ask(table, cast(Bridge, TwoNodes()), both, users=2)["run-2"] == FlowStatus("completed", "EF")


def test_a_lab_that_does_not_come_to_rest_is_a_trial_that_failed(
    unfinished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_lab: Lab) -> Settled:
        raise LabError("The lab was not back")

    monkeypatch.setattr(faulty, "settle", away)
    found = make()
    assert (found.audit, found.problems) == (None, ["The lab was not back"])
    assert [one.name for one in found.made] == ["kill generator"]

    monkeypatch.setattr(faulty, "settle", lambda _lab: Settled(("PartyB",), is_at_rest=False))
    found = make()
    assert found.audit is None
    assert "still in flight" in found.problems[0]

    (step_file(unfinished).parent / results.EVIDENCE / faulty.FAULTS).write_text("{", encoding="utf-8")
    assert faulty.FAULTS in make().problems[0]


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Return a function that lets trials end in certain ways. It returns the seeds of those that are made."""
    monkeypatch.setattr(folders, "require_writable", lambda: None)
    monkeypatch.setattr(folders, "find_run", Path)
    monkeypatch.setattr(preflight, "prepare", lambda options: options)
    monkeypatch.setattr(preflight, "plan", lambda *_: plan_of(OPTIONS))

    def prepared(**audits: Audit | None) -> list[int]:
        seeds: list[int] = []

        def made(_lab: Lab, _subject: Subject, options: Load) -> Trial:
            seeds.append(options.seed)
            audit = audits.get(f"seed_{options.seed}", PASSED)
            problems = [] if audit is PASSED else ["failed"]
            return Trial(seed=options.seed, run=f"run-{options.seed}", audit=audit, problems=problems)

        monkeypatch.setattr(chaos_trial, "make", made)
        return seeds

    return prepared


def loads(*seeds: int) -> list[Load]:
    return [OPTIONS.updated(seed=seed) for seed in seeds]


def test_what_an_earlier_trial_was_told_and_a_later_one_lost_is_found(
    trials: Callable[..., list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    audited: list[Path] = []

    def audit(_compose: object, run: Path, *_: object) -> Audit:
        audited.append(run)
        return VIOLATED if run == lost else PASSED

    monkeypatch.setattr(command, "audit_lab", audit)
    lost = Path("none")
    seeds = trials()
    assert command.run(loads(7, 8, 9), lab_of(Answers()))
    assert (seeds, audited) == ([7, 8, 9], [Path("run-7"), Path("run-8")])
    lost = Path("run-7")
    assert not command.run(loads(7, 8), lab_of(Answers()))
    # One that has failed is known already.
    trials(seed_7=VIOLATED)
    audited.clear()
    assert not command.run(loads(7, 8), lab_of(Answers()))
    assert audited == []

    def broken(*_: object) -> Audit:
        raise KeyError("tx_id")

    monkeypatch.setattr(command, "audit_lab", broken)
    trials()
    assert not command.run(loads(7, 8), lab_of(Answers()))


def test_no_trial_is_made_after_one_that_was_not_audited(
    trials: Callable[..., list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "audit_lab", lambda *_: PASSED)
    seeds = trials(seed_8=None)
    assert not command.run(loads(7, 8, 9), lab_of(Answers()))
    assert seeds == [7, 8]


def test_nodes_without_client_ids_are_refused(trials: Callable[..., list[int]]) -> None:
    seeds = trials()
    with pytest.raises(LabError, match=r"Corda before 4\.6 keeps no client ids"):
        command.run(loads(7), lab_of(Answers(keeps=False)))
    assert seeds == []


def test_gaps_unknown_ones_and_what_follows_the_last_row_are_asked_about() -> None:
    numbers: list[int] = []
    # 3 was in flight, 6 and 8 were answered after the last row was written, 7 never reached the node.
    known = {3, 6, 8}

    def status(client: str) -> FlowStatus:
        numbers.append(int(client.rpartition("-")[2]))
        return FlowStatus("completed", client) if numbers[-1] in known else FlowStatus("absent")

    schema = {"client_id": pl.String, "outcome": pl.String}
    killed = [("run-ab-1", "ok"), ("run-ab-2", "ok"), ("run-ab-4", "failed"), ("run-ab-5", "unknown")]
    found = chaos_trial.open_clients(pl.DataFrame(killed, schema=schema, orient="row"), 2, status)
    assert sorted(numbers) == [3, 5, 6, 7, 8, 9, 10, 11]
    assert {client for client, one in found.items() if one.state == "completed"} == {"run-ab-3", "run-ab-6", "run-ab-8"}
    assert chaos_trial.open_clients(pl.DataFrame(schema=schema), 2, status) == {}
