"""What the campaign of faults has to have seen, and which piece comes next."""

from corda_lab.chaos.measurement import ChaosFile, ChaosTrial
from corda_lab.paths import WORKLOADS
from corda_lab.reliability import campaign, goals
from corda_lab.reliability.goals import FAULTS, FLOWS, KILLS, KILLS_OF_POSTGRES, Piece
from corda_lab.steps.faults import FaultEntry, FaultKind
from corda_lab.testing.runs import ENVIRONMENT

CORDA = ENVIRONMENT.versions.corda
PARTIES = ("partya", "partyb", "partyc")


def faults(kind: FaultKind, target: str, count: int) -> tuple[FaultEntry, ...]:
    one = FaultEntry(kind=kind, target=target, at_seconds=5, for_seconds=1, began_at=100.0, healed_at=101.0)
    return (one,) * count


def file_of(
    database: str,
    *made: FaultEntry,
    seed: int = 1,
    flows: int = 0,
    corda: str = CORDA,
    workload: str = "cash-issue-and-pay",
) -> ChaosFile:
    shape = {**ENVIRONMENT.shape, "DATABASE": database}
    versions = ENVIRONMENT.versions.model_copy(update={"corda": corda})
    return ChaosFile(
        id=f"20260102T03040{seed % 10}Z-chaos",
        lab_version="0.3",
        environment=ENVIRONMENT.model_copy(update={"shape": shape, "versions": versions}),
        workload=workload,
        users=8,
        pacing_seconds=0.25,
        trials=(ChaosTrial(seed=seed, run="r", stored=True, faults=made, outcomes={"ok": flows}),),
    )


def enough(database: str, **kills: int) -> ChaosFile:
    """A file that has seen enough, apart from the kills that are given."""
    wanted = {"notary": KILLS, "partyb": KILLS, "bridge": KILLS}
    wanted |= {"postgres": KILLS_OF_POSTGRES} if database == "postgres" else {}
    made = [fault for part, count in {**wanted, **kills}.items() for fault in faults("kill", part, count)]
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


def test_only_missing_kills_are_made_once_there_are_enough_faults() -> None:
    files = [enough("h2", partyb=KILLS - 1), enough("postgres")]
    assert goals.next_piece(CORDA, PARTIES, files) == Piece("h2", "iou", seed=31, targets=PARTIES)
    files = [enough("h2"), enough("postgres", postgres=KILLS_OF_POSTGRES - 1, bridge=0)]
    piece = goals.next_piece(CORDA, PARTIES, files)
    assert piece == Piece("postgres", "iou", seed=31, targets=("bridge", "postgres"))
    assert campaign.command(piece)[-4:] == ["--kinds", "kill", "--targets", "bridge,postgres"]


def test_a_campaign_that_has_seen_enough_is_over() -> None:
    files = [enough("h2"), enough("postgres")]
    assert goals.next_piece(CORDA, PARTIES, files) is None
    table = {what: (wanted, found) for what, wanted, _, _, found in goals.rows(CORDA, files)}
    assert table["acknowledged flows"] == ("10,000", "10,000")
    assert table["kills of PostgreSQL"] == ("20", "20")
    assert table["kills of a party"] == ("20", "20")


def test_a_fault_that_was_not_made_does_not_count() -> None:
    late = replace_began(faults("kill", "notary", 3))
    assert goals.seen_on("h2", CORDA, [file_of("h2", *late)]).kills["notary"] == 0


def replace_began(made: tuple[FaultEntry, ...]) -> tuple[FaultEntry, ...]:
    return tuple(one.model_copy(update={"began_at": None}) for one in made)


def test_the_two_databases_together_see_what_is_promised() -> None:
    assert len(goals.DATABASES) * FLOWS >= 10_000
    assert len(goals.DATABASES) * FAULTS >= 200
    for part in ("notary", "party", "bridge", "postgres"):
        assert sum(goals.wanted_kills(database).get(part, 0) for database in goals.DATABASES) >= 20
