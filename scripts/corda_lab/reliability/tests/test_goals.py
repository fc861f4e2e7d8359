"""What the campaign of faults has to have seen, which trials count, and which piece comes next."""

import pytest

from corda_lab.chaos.command import Asked, choices_of
from corda_lab.chaos.measurement import ChaosFile, ChaosTrial, PieceAudit
from corda_lab.chaos.verdict import AuditEntry
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE, WORKLOADS
from corda_lab.reliability import campaign, goals
from corda_lab.reliability.goals import CHECKS_MIN, FAULTS, FLOWS, KILLS, KILLS_OF_POSTGRES, KIND, Piece
from corda_lab.results.audits import CHECKS
from corda_lab.steps.faults import KINDS, FaultEntry, FaultKind
from support.runs import ENVIRONMENT

CORDA = ENVIRONMENT.versions.corda
PARTIES = ("partya", "partyb", "partyc")
PASSED = AuditEntry(verdict="passed", checks=CHECKS)


def faults(kind: FaultKind, target: str, count: int) -> tuple[FaultEntry, ...]:
    one = FaultEntry(kind=kind, target=target, at_seconds=5, for_seconds=1, began_at=100.0, healed_at=101.0)
    return (one,) * count


def trial(*made: FaultEntry, seed: int = 1, flows: int = 0, **found: object) -> ChaosTrial:
    """A trial that counts, unless it is given something else."""
    given = {"seed": seed, "run": "r", "stored": True, "faults": made, "outcomes": {"ok": flows}}
    return ChaosTrial.model_validate({**given, "on_ledger": flows, "audit": PASSED, **found})


def together(*trials: ChaosTrial, database: str = "h2", corda: str = CORDA, **found: object) -> ChaosFile:
    """A file of trials that were audited together."""
    shape = {**ENVIRONMENT.shape, "DATABASE": database}
    versions = ENVIRONMENT.versions.model_copy(update={"corda": corda})
    given = {
        "id": f"20260102T03040{trials[0].seed % 10}Z-chaos",
        "lab_version": "0.3",
        "environment": ENVIRONMENT.model_copy(update={"shape": shape, "versions": versions}),
        "workload": "cash-issue-and-pay",
        "users": 8,
        "pacing_seconds": 0.25,
        "trials": trials,
        "audit": PieceAudit(verdict="passed", checks=CHECKS, trials=len(trials)),
        "cuts_both_ways": True,
    }
    return ChaosFile.model_validate({**given, **found})


def file_of(
    database: str,
    *made: FaultEntry,
    seed: int = 1,
    flows: int = 0,
    corda: str = CORDA,
    workload: str = "cash-issue-and-pay",
) -> ChaosFile:
    return together(trial(*made, seed=seed, flows=flows), database=database, corda=corda, workload=workload)


def enough(database: str, *, kinds: int = KIND, **kills: int) -> ChaosFile:
    """A file that has seen enough, apart from the kills that are given, and from the number of slow links."""
    wanted = {"notary": KILLS, "partyb": KILLS, "bridge": KILLS}
    wanted |= {"postgres": KILLS_OF_POSTGRES} if database == "postgres" else {}
    made = [fault for part, count in {**wanted, **kills}.items() for fault in faults("kill", part, count)]
    made += [fault for kind in KINDS if kind not in ("kill", "slow-link") for fault in faults(kind, "partya", KIND)]
    made += [*faults("slow-link", "partya-partyb", kinds), *faults("partition", "notary-partya", KIND)]
    return file_of(database, *made, *faults("pause", "partya", FAULTS), seed=30, flows=FLOWS)


def test_a_campaign_begins_on_h2_and_takes_turns() -> None:
    first = goals.next_piece(CORDA, PARTIES, [])
    assert first == Piece("h2", "iou", seed=1)
    second = goals.next_piece(CORDA, PARTIES, [file_of("h2", *faults("kill", "notary", 2), seed=6)])
    assert second == Piece("postgres", "iou", seed=1)


def test_the_workloads_of_a_database_take_turns() -> None:
    files = [file_of("h2", seed=6, workload="iou"), file_of("postgres", *faults("pause", "bridge", 1), workload="iou")]
    assert goals.next_piece(CORDA, PARTIES, files) == Piece("h2", "cash-issue-and-pay", seed=7)
    for name in goals.WORKLOADS:
        assert (WORKLOADS / f"{name}.yaml").is_file()


def test_a_piece_goes_on_with_the_seed_after_the_highest_of_its_database() -> None:
    files = [file_of("h2", seed=6), file_of("h2", seed=12), file_of("postgres", *faults("pause", "bridge", 1), seed=40)]
    assert goals.next_piece(CORDA, PARTIES, files) == Piece("h2", "iou", seed=13)


def test_what_another_version_of_corda_has_seen_does_not_count() -> None:
    assert goals.next_piece(CORDA, PARTIES, [file_of("h2", seed=6, corda="4.8")]) == Piece("h2", "iou", seed=1)


def test_what_is_missing_is_made_once_half_of_the_faults_were_seen() -> None:
    parts = ("notary", *PARTIES, "bridge")
    files = [enough("h2", kinds=KIND - 1, partyb=0), enough("postgres")]
    piece = goals.next_piece(CORDA, PARTIES, files)
    assert piece == Piece("h2", "iou", seed=31, kinds=("slow-link",), targets=parts, trials=1), "kinds first"
    assert campaign.command(piece)[-4:] == ["--kinds", "slow-link", "--targets", ",".join(parts)]
    files = [enough("h2", partyb=KILLS - 1), enough("postgres")]
    piece = goals.next_piece(CORDA, PARTIES, files)
    assert piece == Piece("h2", "iou", seed=31, kinds=("kill",), targets=PARTIES, trials=1)
    files = [enough("h2"), enough("postgres", postgres=KILLS_OF_POSTGRES - 1, bridge=0)]
    piece = goals.next_piece(CORDA, PARTIES, files)
    assert piece == Piece("postgres", "iou", seed=31, kinds=("kill",), targets=("bridge", "postgres"), trials=3)
    assert campaign.command(piece)[-4:] == ["--kinds", "kill", "--targets", "bridge,postgres"]
    files = [enough("h2"), enough("postgres", postgres=0, bridge=0)]
    piece = goals.next_piece(CORDA, PARTIES, files)
    assert piece is not None
    assert piece.trials == goals.PIECE_TRIALS, "the rest is made by the next one"


def test_partitions_after_which_the_part_still_heard_the_others_do_not_count() -> None:
    file = enough("h2")
    older = file.model_copy(update={"cuts_both_ways": False})
    seen, seen_older = (goals.seen_on("h2", CORDA, [one]) for one in (file, older))
    assert (seen.kinds["partition"], seen.kinds[goals.PAIR]) == (KIND, KIND)
    assert (seen_older.kinds["partition"], seen_older.kinds[goals.PAIR]) == (0, KIND)
    assert seen_older.faults == seen.faults - KIND
    assert [*goals.left_out(CORDA, [older])] == [
        f"{KIND} partitions of one part in other trials, because the part still heard the others"
    ]
    piece = goals.next_piece(CORDA, PARTIES, [older, enough("postgres")])
    assert piece is not None
    assert piece.kinds == ("partition",)


@pytest.mark.parametrize("database", goals.DATABASES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_labs_of_the_campaign_can_have_every_kind_of_fault(database: str, kind: str) -> None:
    knobs = {"DATABASE": database, "LINKS": campaign.LINKS[database], "PARTIES": "3"}
    targets = goals._targets(list(goals.wanted_kills(database)), PARTIES)
    found = choices_of(load_settings(ENV_FILE, knobs), Asked(1, 1, kind, ",".join(targets)))
    assert found
    assert not {one.target for one in found} & set(goals.ASIDE)


def test_a_campaign_that_has_seen_enough_is_over() -> None:
    files = [enough("h2"), enough("postgres")]
    assert goals.next_piece(CORDA, PARTIES, files) is None
    table = {what: (wanted, found) for what, wanted, _, _, found in goals.rows(CORDA, files)}
    assert table["acknowledged flows"] == ("10,000", "10,000")
    assert table["kills of PostgreSQL"] == ("20", "20")
    assert table["kills of a party"] == ("20", "20")
    assert table["of the kind slow-link"] == ("10", "10")
    assert table["trials that count"] == ("–", "2")
    assert list(goals.left_out(CORDA, files)) == []


def test_a_fault_that_was_not_made_does_not_count() -> None:
    late = replace_began(faults("kill", "notary", 3))
    assert goals.seen_on("h2", CORDA, [file_of("h2", *late)]).kills["notary"] == 0


def replace_began(made: tuple[FaultEntry, ...]) -> tuple[FaultEntry, ...]:
    return tuple(one.model_copy(update={"began_at": None}) for one in made)


def test_faults_on_the_generator_and_on_prometheus_are_shown_apart() -> None:
    made = (*faults("pause", "generator", 2), *faults("kill", "prometheus", 1), *faults("pause", "bridge", 4))
    seen = goals.seen_on("h2", CORDA, [file_of("h2", *made)])
    assert (seen.faults, seen.aside) == (4, 3)
    assert seen.kinds == {"pause": 4}


OLD = PASSED.model_copy(update={"checks": CHECKS_MIN - 1})
WHOLE = PieceAudit(verdict="passed", checks=CHECKS, trials=2)


@pytest.mark.parametrize(
    ("found", "audit", "why"),
    [
        ({}, WHOLE, None),
        ({"problems": ("something was lost",)}, WHOLE, goals.FAILED),
        ({"audit": OLD}, WHOLE, goals.OLDER),
        ({"audit": None}, WHOLE, goals.OLDER),
        ({}, None, goals.ALONE),
        ({}, WHOLE.model_copy(update={"trials": 1}), goals.ALONE),
        ({}, WHOLE.model_copy(update={"checks": 0}), goals.ALONE),
        ({}, WHOLE.model_copy(update={"problems": ("AB is lost",)}), goals.ALONE),
        ({"on_ledger": 41}, WHOLE, goals.UNCOUNTED),
        ({"on_ledger": None}, WHOLE, goals.UNCOUNTED),
        ({"on_ledger": 43, "resolved": {"ok": 2}, "unrecorded": 1}, WHOLE, None),
    ],
)
def test_only_trials_that_passed_by_themselves_and_together_count(
    found: dict[str, object], audit: PieceAudit | None, why: str | None
) -> None:
    file = together(trial(seed=1), trial(seed=2, flows=40, **found), audit=audit)
    assert goals.why_not(file, 1) == why
    assert goals.seen_on("h2", CORDA, [file]).flows == (40 if why is None else 0)
    assert why is None or any(line.endswith(why) for line in goals.left_out(CORDA, [file]))


def test_what_the_newest_checks_have_seen_is_told_apart() -> None:
    earlier = PASSED.model_copy(update={"checks": CHECKS_MIN})
    file = together(trial(seed=1, flows=30), trial(seed=2, flows=40, audit=earlier), audit=WHOLE)
    seen = goals.seen_on("h2", CORDA, [file])
    assert (seen.counted, seen.flows) == (2, 70)
    assert (seen.newest, seen.newest_flows) == (1, 30)
    table = {row[0]: row[2] for row in goals.rows(CORDA, [file])}
    assert table["trials that count and were audited by the newest checks"] == "1"
    assert table["acknowledged flows of these"] == "30"


def test_the_seeds_of_two_machines_that_went_on_at_once_count_once() -> None:
    one, other = (file_of("h2", *faults("pause", "bridge", 3), seed=7, workload=name) for name in goals.WORKLOADS)
    again = one.model_copy(update={"id": "20260103T030405Z-chaos"})
    seen = goals.seen_on("h2", CORDA, [one, again, other])
    assert (seen.made, seen.counted, seen.faults) == (3, 2, 6)
    assert list(goals.left_out(CORDA, [one, again, other])) == [f"1 trial {goals.REPEATED}"]


def test_the_two_databases_together_see_what_is_promised() -> None:
    assert len(goals.DATABASES) * FLOWS >= 10_000
    assert len(goals.DATABASES) * FAULTS >= 200
    for part in ("notary", "party", "bridge", "postgres"):
        assert sum(goals.wanted_kills(database).get(part, 0) for database in goals.DATABASES) >= 20
