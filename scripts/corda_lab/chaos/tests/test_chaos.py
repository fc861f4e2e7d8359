"""Trials with faults: what decides whether one passed, how loads are drawn and replayed, and the document of all."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from pydantic import TypeAdapter

from corda_lab.bench.file import store
from corda_lab.bench.kills.trial import Outcome
from corda_lab.chaos import command, document, show
from corda_lab.chaos.measurement import ChaosFile, ChaosTrial, PieceAudit
from corda_lab.chaos.trial import loads_faults, problems_of, told_of, told_without_ids, with_answers
from corda_lab.chaos.verdict import AuditEntry, ViolationEntry
from corda_lab.clients.bridge import FlowStatus
from corda_lab.errors import LabError
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE, ROOT
from corda_lab.results import evidence, folders
from corda_lab.results.audits import unknown_outcomes
from corda_lab.results.evidence import LoadFile
from corda_lab.results.faults import SCHEMA, FaultsFile, LoadFaults
from corda_lab.steps.fault_schedule import LENGTH_SECONDS
from corda_lab.steps.faults import KINDS, PARAMETERS, Fault, FaultEntry, FaultKind
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.resolutions import COLUMNS
from support import runs, simulation
from support.runs import ENVIRONMENT

OPTIONS = LoadOptions(workload="iou", users=8, pacing_seconds=0.25, seed=100)
SETTINGS = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "my-lab", "PARTIES": "3"})
CLEAN = AuditEntry(verdict="passed", counts={"transactions": 40}, seconds=2.5)
MISSING = ViolationEntry(
    kind="missing_at_participant", node="PartyB", ids=("AB12", "CD34"), text="2 transactions are missing at PartyB"
)
VIOLATED = AuditEntry(verdict="violations", violations=(MISSING,), seconds=3.0)


def entry(kind: FaultKind, target: str, **found: object) -> FaultEntry:
    given = {"kind": kind, "target": target, "at_seconds": 5.0, "for_seconds": 2.0, "began_at": 105.0}
    return FaultEntry.model_validate({**given, "healed_at": 107.5, **found})


KILLED = entry("kill", "notary", before_per_second=5.0, recovery_seconds=21.0, lost_flows=95.0)
PAUSED = entry("pause", "bridge", before_per_second=5.0, lost_flows=10.0)
LATE = FaultEntry(kind="pause", target="partya", at_seconds=90.0, for_seconds=1.0, problem="the load had ended before")


def trial(**found: object) -> ChaosTrial:
    given = {
        "seed": 100,
        "run": "20260102T030405Z-chaos",
        "stored": True,
        "faults": (KILLED, PAUSED, LATE),
        "outcomes": {"ok": 400, "unknown": 9, "failed": 3},
        "resolved": {"ok": 6, "not_started": 3},
        "on_ledger": 406,
        "audit": CLEAN,
    }
    return ChaosTrial.model_validate({**given, **found})


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({}, None),
        ({"audit": VIOLATED}, "2 transactions are missing at PartyB"),
        ({"audit": None}, "the ledgers were not audited"),
        ({"audit": AuditEntry(verdict="cannot tell", reasons=("PartyC does not answer",))}, "PartyC does not answer"),
        ({"unexplained": 2}, "2 flows of which nobody can tell what became of them"),
        ({"stored": False, "reason": "the bridge went away"}, "the run has no results: the bridge went away"),
        ({"faults": (entry("kill", "generator"),)}, "looks complete, although its generator was killed"),
        ({"faults": (entry("kill", "generator"),), "stored": False}, None),
        ({"faults": (entry("pause", "partya", problem="it could not be healed: no"),)}, "could not be healed"),
        ({"faults": (entry("pause", "partya").model_copy(update={"healed_at": None}),)}, "that it was healed"),
    ],
)
def test_a_trial_fails_for_what_is_lost_or_cannot_be_told(found: dict[str, object], says: str | None) -> None:
    problems = problems_of(trial(**found), 8)
    assert (says is None) == (not problems)
    assert says is None or says in problems[0]


@pytest.mark.parametrize(("on_ledger", "passes"), [(399, False), (400, True), (412, True), (413, False), (None, False)])
def test_without_client_ids_each_flow_that_was_not_acknowledged_may_be_on_the_ledger_once(
    on_ledger: int | None, passes: bool
) -> None:
    found = trial(keeps_client_ids=False, resolved={}, on_ledger=on_ledger)
    assert (not problems_of(found, 8)) == passes


def test_without_client_ids_a_killed_generator_leaves_at_most_a_flow_of_each_user() -> None:
    found = trial(keeps_client_ids=False, stored=False, faults=(entry("kill", "generator"),), on_ledger=420)
    assert problems_of(found, 8) == []
    assert problems_of(found, 7) != []


@pytest.mark.parametrize(
    ("keeps", "further", "passes"), [(False, (), True), (False, ("no",), False), (True, (), False)]
)
def test_only_without_client_ids_may_an_audit_not_know_what_became_of_requests(
    keeps: bool, further: tuple[str, ...], passes: bool
) -> None:
    reasons = (unknown_outcomes(9), *further)
    audit = AuditEntry(verdict="cannot tell", counts={"unknown_requests": 9}, reasons=reasons)
    found = trial(keeps_client_ids=keeps, on_ledger=400 if not keeps else 406, audit=audit)
    assert (not problems_of(found, 8)) == passes


def test_rows_without_client_ids_are_only_counted() -> None:
    told = told_without_ids(pl.DataFrame({"outcome": ["ok", "ok", "unknown"]}))
    assert (told.outcomes, told.unexplained) == ({"ok": 2, "unknown": 1}, 0)


def test_what_a_node_answers_about_a_run_without_results_is_told_and_audited() -> None:
    table = pl.DataFrame(
        {
            "client_id": ["x-1", "x-2", "x-3", "x-5"],
            "outcome": ["ok", "unknown", "unknown", "unknown"],
            "tx_id": ["AA", None, None, None],
            **{name: pl.Series([None] * 4, dtype=kind) for name, kind in COLUMNS.items()},
        }
    )
    asked = {
        "x-2": FlowStatus("completed", "bb"),
        "x-3": FlowStatus("absent"),
        "x-4": FlowStatus("completed", "cc"),
        "x-5": FlowStatus("running"),
    }
    told = told_of(table, asked)
    assert told.outcomes == {"ok": 1, "unknown": 3}
    assert (told.resolved["ok"], told.unexplained, told.unrecorded) == (1, 1, 1)
    rows = with_answers(table, asked)
    assert rows["resolved"].to_list() == [None, "ok", "not_started", "unknown"]
    assert rows["resolved_tx_id"].to_list() == [None, "bb", None, None]
    assert with_answers(rows, {}) is rows


def test_a_trial_is_one_line_with_the_seed_that_repeats_it() -> None:
    assert show.line(trial(restarted=("PartyA",))) == (
        "seed 100: 2 faults, 400 ok, 9 unknown, 3 failed; unknown: 6 ok, 3 not started; started again: PartyA; "
        "audit: passed in 2 s; passed"
    )
    assert show.line(trial(problems=("value was made",))).endswith("FAILED: value was made")


def test_every_trial_of_a_campaign_has_faults_of_its_own_and_time_to_recover() -> None:
    among = command.choices_of(SETTINGS, command.Asked(3, 4))
    loads = [command.with_faults(OPTIONS, 100 + number, 4, among) for number in range(3)]
    assert [load.seed for load in loads] == [100, 101, 102]
    assert len({tuple(fault.words() for fault in load.faults) for load in loads}) == 3
    for load in loads:
        assert len(load.faults) == 4
        assert load.total_seconds > max(fault.at_seconds + fault.for_seconds for fault in load.faults) + 25


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (command.Asked(1, 1, kinds="kil"), "--kinds: there is no fault 'kil', did you mean 'kill'?"),
        (command.Asked(1, 1, targets="partyz"), "--targets: the lab has no 'partyz'"),
        (command.Asked(1, 1, kinds="slow-link"), "can have none of the faults slow-link"),
    ],
)
def test_what_the_lab_cannot_have_is_refused(asked: command.Asked, says: str) -> None:
    with pytest.raises(LabError) as refused:
        command.choices_of(SETTINGS, asked)
    assert says in refused.value.message


def faults_file(folder: Path, *faults: FaultEntry) -> None:
    content = FaultsFile(schema=SCHEMA, loads=(LoadFaults(seed=7, faults=faults),))
    folders.write_json(folder / folders.FAULTS, content.model_dump(mode="json", by_alias=True))


def test_a_run_without_results_can_be_replayed(tmp_path: Path) -> None:
    load = replace(OPTIONS, faults=(Fault(kind="kill", target="generator", at_seconds=3.5, for_seconds=0.0),))
    stored = LoadFile(
        id="20260102T030405Z-chaos",
        command="scripts/lab chaos",
        began_at="2026-01-02T03:04:05+00:00",
        workload="iou",
        options=TypeAdapter(LoadOptions).dump_python(load, mode="json"),
        subject={},
    )
    folders.write_json(tmp_path / evidence.LOAD, stored.model_dump(mode="json", by_alias=True))
    with pytest.raises(LabError, match="the run has no faults"):
        command.options_of(tmp_path)
    faults_file(tmp_path, entry("kill", "generator"))
    assert command.options_of(tmp_path) == load


def test_a_stored_run_can_be_replayed(tmp_path: Path) -> None:
    kill = Fault(kind="kill", target="bridge", at_seconds=5.0, for_seconds=1.0)
    load = replace(OPTIONS, users=2, duration_seconds=18.0, warm_up_seconds=2.0, faults=(kill,))
    rows = simulation.closed_rows(2, 20, simulation.fixed(0.5))
    folder = runs.store(tmp_path, runs.plan_of(load), rows, simulation.end_words(rows, 2, 20))
    faults_file(folder, entry("kill", "bridge"))
    assert command.options_of(folder) == load


def test_the_faults_of_a_run_are_read_from_its_folder(tmp_path: Path) -> None:
    outcome = Outcome(tmp_path, stored=True)
    assert loads_faults(outcome).faults == ()
    faults_file(tmp_path, KILLED, LATE)
    assert loads_faults(outcome).faults == (KILLED, LATE)
    (tmp_path / folders.FAULTS).write_text("{}", encoding="utf-8")
    with pytest.raises(LabError, match=folders.FAULTS):
        loads_faults(outcome)


def file_of(database: str, *trials: ChaosTrial) -> ChaosFile:
    shape = {**ENVIRONMENT.shape, "DATABASE": database}
    return ChaosFile(
        id=f"20260102T030405Z-chaos-{database}",
        lab_version="0.3",
        environment=ENVIRONMENT.model_copy(update={"shape": shape}),
        workload="iou",
        users=8,
        pacing_seconds=0.25,
        trials=trials,
    )


def test_the_document_adds_up_what_several_files_have_of_a_database(tmp_path: Path) -> None:
    failed = trial(seed=7, audit=VIOLATED, problems=("2 transactions are missing at PartyB",))
    files = [file_of("h2", trial(), failed), file_of("postgres", trial()), file_of("h2", trial(seed=9))]
    text = document.chapter(files)
    assert "| 4.10 | H2 | 3 | 6 | 1,200 | 2 | 0 | 0 | 0 | 0 | 0 | 2 |" in text
    assert "| 4.10 | PostgreSQL | 1 | 2 | 400 | 0 | 0 | 0 | 0 | 0 | 0 | 1 |" in text
    assert "| notary | 3 | – | 3 |" in text, "three kills, no pause"
    assert "| kill | 3 | 21.0 s | 21.0 s | 0 | 95 |" in text
    assert "| pause | 3 | not seen | not seen | 3 | 10 |" in text, "none was seen to end"
    assert "- seed 7, run 20260102T030405Z-chaos: kill notary at 5s for 2s; pause bridge at 5s for 2s" in text
    assert "lost, missing_at_participant on PartyB: AB12, CD34" in text


def test_the_document_names_the_files_whose_trials_failed_together() -> None:
    passed = file_of("h2", trial()).model_copy(update={"audit": PieceAudit(verdict="passed", trials=1)})
    lost = PieceAudit(verdict="violations", trials=1, violations=(MISSING,), problems=("2 transactions are missing",))
    failed = passed.model_copy(update={"audit": lost})
    text = document.chapter([passed, failed, file_of("h2", trial(seed=9))])
    assert "- audits of all trials of a file together: 1 passed, 1 failed, 1 not made" in text
    assert f"Trials that failed together:\n\n- {failed.id}, seed 100\n  - 2 transactions are missing" in text
    assert "lost, missing_at_participant on PartyB: AB12, CD34" in text
    assert "All trials passed" not in text
    assert "All trials passed." in document.chapter([passed])


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    together = PieceAudit(verdict="passed", checks=2, trials=1, seconds=4.0)
    written = file_of("h2", trial(audit=VIOLATED)).model_copy(update={"audit": together})
    path = store(written, tmp_path)
    assert folders.read_model(path, ChaosFile) == written


def test_the_guide_describes_every_fault_and_its_parameters() -> None:
    guide = (ROOT / "docs" / "chaos.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(" `"): line for line in guide.splitlines() if line.startswith("| `")}
    assert set(rows) == set(KINDS) == set(LENGTH_SECONDS)
    for kind, parameters in PARAMETERS.items():
        assert all(f"`{name}`" in rows[kind] for name in parameters)
