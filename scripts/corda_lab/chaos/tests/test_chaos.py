"""Trials with faults: what decides whether one passed, and how loads are drawn and replayed."""

from collections import Counter
from pathlib import Path

import pytest

from corda_lab.chaos import command, draw
from corda_lab.chaos.draw import choices_among, drawn
from corda_lab.chaos.stranded import StrandedTransaction
from corda_lab.chaos.trial import Trial, problems_of
from corda_lab.errors import LabError
from corda_lab.faults.model import KINDS, FaultEntry, known_targets, problems
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE, ROOT
from corda_lab.results import store
from corda_lab.results.audits import Audit, Violation, ViolationKind
from lab_workload.faults import PARAMETERS, Fault, FaultKind
from lab_workload.load import Load
from support import runs, simulation

OPTIONS = Load(workload="iou", users=8, pacing_seconds=0.25, seed=100)
SETTINGS = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "my-lab", "PARTIES": "3"})
NODES = ("Notary", "PartyA", "PartyB", "PartyC")
ON_H2, ON_POSTGRES = (known_targets(NODES, database) for database in ("h2", "postgres"))
LINKS = ["partya-partyb", "partya-postgres"]
CLEAN = Audit(verdict="passed", counts={"transactions": 40}, seconds=2.5)
MISSING = Violation(
    kind=ViolationKind.MISSING_AT_PARTICIPANT,
    node="PartyB",
    ids=("AB12", "CD34"),
    text="2 transactions are missing at PartyB",
)
VIOLATED = Audit(verdict="violations", violations=(MISSING,), seconds=3.0)


def entry(kind: FaultKind, target: str, **found: object) -> FaultEntry:
    given = {"kind": kind, "target": target, "at_seconds": 5.0, "for_seconds": 2.0, "began_at": 105.0}
    return FaultEntry.model_validate({**given, "healed_at": 107.5, **found})


KILLED, PAUSED = entry("kill", "notary"), entry("pause", "bridge")
LATE = FaultEntry(kind="pause", target="partya", at_seconds=90.0, for_seconds=1.0, problem="the load had ended before")


def trial(**found: object) -> Trial:
    given = {
        "seed": 100,
        "run": "20260102T030405Z-chaos",
        "faults": (KILLED, PAUSED, LATE),
        "outcomes": {"ok": 400, "unknown": 9, "failed": 3},
        "resolved": {"ok": 6, "not_started": 3},
        "audit": CLEAN,
    }
    return Trial.model_validate({**given, **found})


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({}, None),
        ({"audit": VIOLATED}, "2 transactions are missing at PartyB"),
        ({"audit": None}, "the ledgers were not audited"),
        ({"audit": Audit(verdict="cannot tell", reasons=("PartyC does not answer",))}, "PartyC does not answer"),
        ({"unexplained": 2}, "2 flows of which nobody can tell what became of them"),
        ({"reason": "the bridge went away"}, "the run has no results: the bridge went away"),
        ({"faults": (entry("kill", "generator"),)}, "looks complete, although its generator was killed"),
        ({"faults": (entry("kill", "generator"),), "reason": "it was killed"}, None),
        ({"faults": (entry("pause", "partya", problem="it could not be healed: no"),)}, "could not be healed"),
        ({"faults": (entry("pause", "partya").model_copy(update={"healed_at": None}),)}, "that it was healed"),
    ],
)
def test_a_trial_fails_for_what_is_lost_or_cannot_be_told(found: dict[str, object], says: str | None) -> None:
    problems = problems_of(trial(**found))
    assert (says is None) == (not problems)
    assert says is None or says in problems[0]


def test_a_trial_is_one_line_with_the_seed_that_repeats_it() -> None:
    assert command.line(trial(restarted=("PartyA",))) == (
        "seed 100: 2 of 3 faults made, 400 ok, 9 unknown, 3 failed; unknown: 6 ok, 3 not started; "
        "started again: PartyA; audit: passed; passed"
    )
    assert command.line(trial(problems=["value was made"])).endswith("FAILED: value was made")


def test_the_sums_count_violations_that_nothing_explains() -> None:
    alone = Violation(kind=ViolationKind.NOTARY_WITHOUT_TRANSACTION, ids=("AB",), text="only the notary has AB")
    wrong = Audit(verdict="violations", violations=(MISSING, alone))
    stranded = StrandedTransaction(transaction="AB", node="PartyA", flow="f", client_id="c", told="failed", log=())
    trials = [trial(), trial(audit=wrong, stranded=(stranded,), problems=["wrong"])]
    assert command.headline(trials) == (
        "2 trials, 4 faults, 800 acknowledged flows: 1 violation, 1 stranded, 0 unexplained"
    )


def test_every_trial_has_faults_of_its_own_and_time_to_recover() -> None:
    among = draw.choices_of(SETTINGS)
    loads = [draw.with_faults(OPTIONS, 100 + number, 4, among) for number in range(3)]
    assert [load.seed for load in loads] == [100, 101, 102]
    assert len({tuple(fault.words() for fault in load.faults) for load in loads}) == 3
    for load in loads:
        assert len(load.faults) == 4
        assert load.total_seconds > max(fault.at_seconds + fault.for_seconds for fault in load.faults) + 25


def test_a_seed_decides_all_faults() -> None:
    among = choices_among(ON_POSTGRES, LINKS)
    assert drawn(7, 5, among) == drawn(7, 5, among)
    assert drawn(7, 5, among) != drawn(8, 5, among)


def test_what_is_drawn_can_be_made_one_after_the_other() -> None:
    among = choices_among(ON_POSTGRES, LINKS)
    for seed in range(300):
        faults = drawn(seed, 4, among)
        assert problems(faults, ON_POSTGRES, LINKS) == []
        assert not any(one.ends_load for one in faults[:-1]), "what ends the load comes last"


def test_every_fault_is_drawn_and_kills_of_what_holds_the_ledger_most_often() -> None:
    among = choices_among(ON_POSTGRES, LINKS)
    counted = Counter((one.kind, one.target) for seed in range(500) for one in drawn(seed, 4, among))
    assert set(counted) == {(one.kind, one.target) for one in among}
    assert {one.kind for one in among} == set(KINDS)
    two_hundred = {name: count * 200 / counted.total() for name, count in counted.items()}
    parties = sum(two_hundred["kill", f"party{letter}"] for letter in "abc")
    assert min(two_hundred["kill", "notary"], two_hundred["kill", "postgres"], parties) > 15


def test_trials_can_be_of_some_kinds_and_targets_only() -> None:
    assert {(one.kind, one.target) for one in choices_among(ON_H2, [], ["kill"], ["notary", "bridge"])} == {
        ("kill", "notary"),
        ("kill", "bridge"),
    }
    assert choices_among(ON_H2, [], ["slow-link"]) == []
    only = choices_among(ON_H2, [], ["partition"], ["partya", "partyb"])
    assert {one.target for one in only} == {"partya", "partyb", "partya-partyb"}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"kinds": "kil"}, "--kinds: there is no fault 'kil', did you mean 'kill'?"),
        ({"targets": "partyz"}, "--targets: the lab has no 'partyz'"),
        ({"kinds": "slow-link"}, "can have none of the faults slow-link"),
    ],
)
def test_what_the_lab_cannot_have_is_refused(asked: dict[str, str], says: str) -> None:
    with pytest.raises(LabError) as refused:
        draw.choices_of(SETTINGS, **asked)
    assert says in refused.value.message


def test_a_run_without_results_can_be_replayed(tmp_path: Path) -> None:
    without = store.begin(store.manifest("20260102T030405Z-chaos", load=OPTIONS), results=tmp_path)
    with pytest.raises(LabError, match="the run has no faults"):
        command.load_of(without)
    load = OPTIONS.updated(faults=(Fault(kind="kill", target="generator", at_seconds=3.5, for_seconds=0.0),))
    assert command.load_of(store.begin(store.manifest("20260102T030406Z-chaos", load=load), results=tmp_path)) == load


def test_a_stored_run_can_be_replayed(tmp_path: Path) -> None:
    kill = Fault(kind="kill", target="bridge", at_seconds=5.0, for_seconds=1.0)
    load = OPTIONS.updated(users=2, duration_seconds=18.0, warm_up_seconds=2.0, faults=(kill,))
    rows = simulation.closed_rows(2, 20, simulation.fixed(0.5))
    folder = runs.store(tmp_path, runs.plan_of(load), rows, simulation.end_words(rows, 2, 20))
    assert command.load_of(folder) == load


def test_the_guide_describes_every_fault_and_its_parameters() -> None:
    guide = (ROOT / "docs" / "chaos.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(" `"): line for line in guide.splitlines() if line.startswith("| `")}
    assert set(rows) == set(KINDS) == set(draw.LENGTH_SECONDS)
    for kind, parameters in PARAMETERS.items():
        assert all(f"`{name}`" in rows[kind] for name in parameters)
