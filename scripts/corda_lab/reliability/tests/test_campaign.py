"""The campaign of faults goes on until enough was seen, keeps what every piece has stored, and ends if none is made."""

import json
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.chaos.measurement import ChaosFile, ChaosTrial, PieceAudit
from corda_lab.chaos.vaults import MISSING
from corda_lab.chaos.verdict import AuditEntry, ViolationEntry
from corda_lab.errors import LabError
from corda_lab.lab import lifecycle
from corda_lab.lab.settings import load_settings
from corda_lab.reliability import campaign, goals, stored
from corda_lab.reliability.goals import Piece
from corda_lab.results.audits import CHECKS
from corda_lab.selftest import suite
from corda_lab.selftest.suite import Totals
from corda_lab.steps.faults import KINDS, FaultEntry
from support.runs import ENVIRONMENT

CORDA = load_settings()["CORDA_VERSION"]
COPY = "import shutil, sys; shutil.copy(*sys.argv[1:])"


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of the campaign below a temporary one. There is no lab: what its commands store is made by a test."""
    monkeypatch.setattr(campaign, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(stored, "FOLDER", tmp_path / "docs" / "reliability")
    monkeypatch.setattr(stored, "DOCUMENT", tmp_path / "docs" / "reliability.md")
    monkeypatch.setattr(lifecycle, "prepare_engine", lambda: None)
    monkeypatch.setattr(suite, "fresh_lab", lambda *_: nullcontext())
    (tmp_path / "results" / "chaos").mkdir(parents=True)
    return tmp_path


def file_of(piece: Piece, *, problems: tuple[str, ...] = ()) -> ChaosFile:
    """What a piece stores that sees enough at once."""
    one = FaultEntry(kind="kill", target="notary", at_seconds=5, for_seconds=1, began_at=100.0, healed_at=101.0)
    parts = ("notary", "partya", "bridge", "postgres") * goals.KILLS_OF_POSTGRES
    faults = tuple(one.model_copy(update={"target": target}) for target in (*parts, *["partyb"] * goals.FAULTS))
    faults += tuple(one.model_copy(update={"kind": kind}) for kind in KINDS * goals.KIND)
    faults += (one.model_copy(update={"kind": "partition", "target": "notary-partya"}),) * goals.KIND
    versions = ENVIRONMENT.versions.model_copy(update={"corda": CORDA})
    shape = {**ENVIRONMENT.shape, "DATABASE": piece.database}
    trials = [
        ChaosTrial(
            seed=piece.seed + number,
            run="r",
            stored=True,
            faults=faults,
            outcomes={"ok": goals.FLOWS},
            on_ledger=goals.FLOWS,
            audit=AuditEntry(verdict="passed", checks=CHECKS),
        )
        for number in range(piece.trials)
    ]
    trials[-1] = trials[-1].model_copy(update={"problems": problems})
    return ChaosFile(
        id=f"20260102T030405Z-{piece.database}-chaos",
        lab_version="0.3",
        environment=ENVIRONMENT.model_copy(update={"versions": versions, "shape": shape}),
        workload=piece.workload,
        users=8,
        pacing_seconds=0.25,
        cuts_both_ways=True,
        trials=tuple(trials),
        audit=PieceAudit(verdict="passed", checks=CHECKS, trials=len(trials)),
    )


def storing(file: ChaosFile) -> list[str]:
    """A command that stores a file as ``lab chaos`` does."""
    made = campaign.RESULTS / "made.json"
    made.write_text(file.model_dump_json(by_alias=True), encoding="utf-8")
    return [sys.executable, "-c", COPY, str(made), str(campaign.RESULTS / "chaos" / f"{file.id}.json")]


def test_pieces_are_made_on_both_databases_until_enough_was_seen(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Piece] = []

    def command(piece: Piece) -> list[str]:
        made.append(piece)
        return storing(file_of(piece, problems=("something was lost",) if piece.database == "postgres" else ()))

    monkeypatch.setattr(campaign, "command", command)
    totals = Totals()
    campaign.run(totals, None)
    assert [piece.database for piece in made] == ["h2", "postgres"]
    # With the audit of all trials of each piece, and the campaign as a whole.
    assert (totals.passed, totals.failed) == (2 * (goals.PIECE_TRIALS + 1), 1)
    assert len(list(stored.FOLDER.glob("*.json"))) == 2
    assert "something was lost" in stored.DOCUMENT.read_text(encoding="utf-8")
    again = Totals()
    campaign.run(again, None)
    assert len(made) == 2, "there is nothing left to see"
    assert (again.passed, again.failed) == (1, 0)


def test_a_campaign_in_which_something_was_ever_lost_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other trials make up for the numbers of one that does not count, but not for what it has found."""
    lost = ViolationEntry(kind="missing_at_participant", node="PartyB", ids=("AB",), text="PartyB does not have AB")

    def command(piece: Piece) -> list[str]:
        whole = file_of(piece)
        bad = AuditEntry(verdict="violations", checks=CHECKS, violations=(lost,))
        trials = (whole.trials[0].model_copy(update={"audit": bad, "problems": (lost.text,)}), *whole.trials[1:])
        return storing(whole.model_copy(update={"trials": trials}) if piece.database == "h2" else whole)

    monkeypatch.setattr(campaign, "command", command)
    campaign.run(Totals(), None)
    totals = Totals()
    campaign.run(totals, None)
    assert (totals.passed, totals.failed) == (0, 1)
    assert "PartyB does not have AB" in campaign.whole(CORDA).output
    unsure = file_of(Piece("h2", "iou", seed=1, trials=1))
    unsure = unsure.model_copy(update={"trials": (unsure.trials[0].model_copy(update={"unexplained": 2}),)})
    assert list(goals.contradictions(CORDA, [unsure])) == [
        f"{unsure.id}, seed 1: 2 flows of which nobody can tell what became of them"
    ]


def test_what_only_the_nodes_miss_in_their_vaults_contradicts_the_campaign() -> None:
    """They are counted apart from the audit, which may have a defect."""
    found = file_of(Piece("h2", "iou", seed=1, trials=1))
    problem = f"{MISSING}PartyB: 1 (AB)"
    trials = (found.trials[0].model_copy(update={"problems": (problem, "the lab has no links")}),)
    contradictions = goals.contradictions(CORDA, [found.model_copy(update={"trials": trials})])
    assert list(contradictions) == [f"{found.id}, seed 1: {problem}"]


def test_a_campaign_ends_if_a_kind_of_fault_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would ask for it again and again."""
    made: list[Piece] = []

    def command(piece: Piece) -> list[str]:
        made.append(piece)
        whole = file_of(piece)
        trials = [
            one.model_copy(
                update={
                    "seed": one.seed + 10 * len(made),
                    "faults": tuple(
                        fault.model_copy(update={"began_at": None, "healed_at": None, "problem": "no memory limit"})
                        if fault.kind == "memory-limit"
                        else fault
                        for fault in one.faults
                    ),
                }
            )
            for one in whole.trials
        ]
        return storing(whole.model_copy(update={"id": f"2026010{len(made)}T030405Z-chaos", "trials": tuple(trials)}))

    monkeypatch.setattr(campaign, "command", command)
    totals = Totals()
    campaign.run(totals, None)
    assert [(piece.database, piece.kinds) for piece in made][-1] == ("h2", ("memory-limit",))
    assert len(made) == 3
    assert totals.failed == 1


def test_what_a_killed_command_has_left_counts(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = file_of(Piece("h2", "iou", seed=1, trials=2))
    (folders / "results" / "chaos" / f"{left.id}.json").write_text(left.model_dump_json(by_alias=True))
    monkeypatch.setattr(campaign, "command", lambda piece: storing(file_of(piece)))
    totals = Totals()
    campaign.run(totals, None)
    assert totals.passed == goals.PIECE_TRIALS + 2, "only those on PostgreSQL were missing"
    assert len(json.loads((stored.FOLDER / f"{left.id}.json").read_text())["trials"]) == 2


def test_a_campaign_ends_if_a_piece_makes_no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "command", lambda _: [sys.executable, "-c", "raise SystemExit('no lab')"])
    totals = Totals()
    campaign.run(totals, None)
    assert (totals.passed, totals.failed) == (0, 1)
    assert not stored.DOCUMENT.exists()


def test_a_campaign_ends_if_no_trial_of_a_piece_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would make pieces forever on a lab that loses something each time."""

    def command(piece: Piece) -> list[str]:
        whole = file_of(piece)
        assert whole.audit is not None
        lost = whole.audit.model_copy(update={"verdict": "violations", "problems": ("AB is lost",)})
        return storing(whole.model_copy(update={"audit": lost}))

    monkeypatch.setattr(campaign, "command", command)
    totals = Totals()
    campaign.run(totals, None)
    assert (totals.passed, totals.failed) == (goals.PIECE_TRIALS, 1)
    text = stored.DOCUMENT.read_text(encoding="utf-8")
    assert "AB is lost" in text
    assert f"- {goals.PIECE_TRIALS} trials {goals.ALONE}" in text


def test_a_piece_that_was_cut_off_fails_and_keeps_its_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "command", lambda piece: storing(file_of(replace(piece, seed=1, trials=2))))
    totals = Totals()
    campaign.run(totals, None)
    assert (totals.passed, totals.failed) == (2 * (2 + 1) + 1, 2)


def test_an_interrupted_piece_keeps_its_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    piece = Piece("h2", "iou", seed=1)

    def interrupted(*_: object, **__: object) -> tuple[int, str]:
        file = file_of(piece)
        (campaign.RESULTS / "chaos" / f"{file.id}.json").write_text(file.model_dump_json(by_alias=True))
        raise KeyboardInterrupt

    monkeypatch.setattr(suite, "execute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        campaign.made(piece, None)
    assert len(list(stored.FOLDER.glob("*.json"))) == 1


def test_a_lab_that_does_not_start_ends_the_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise LabError("The lab did not start")

    monkeypatch.setattr(suite, "fresh_lab", refuse)
    with pytest.raises(LabError, match="did not start"):
        campaign.run(Totals(), None)
