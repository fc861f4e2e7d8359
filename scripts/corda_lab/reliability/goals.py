"""How much the campaign of faults has to have seen, and what its next piece is.

The campaign is made of pieces, each on a new lab, which can be days apart. What counts are the stored trials of one
version of Corda, whoever made them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from corda_lab.chaos.measurement import ChaosFile, ChaosTrial
from corda_lab.steps.fault_schedule import PARTY

DATABASES = ("h2", "postgres")
FLOWS = 5000
FAULTS = 100
KILLS = 10
KILLS_OF_POSTGRES = 20
"""What each database has to have seen; kills are those of each part. Both together: 10,000 acknowledged flows across
200 faults, with 20 kills each of notary, party, bridge and PostgreSQL."""

PIECE_TRIALS = 4
"""Trials of a piece, some 30 minutes. An interrupted piece keeps the trials that it has made."""
PIECE_FAULTS = 8
SEED_FIRST = 1
WORKLOADS = ("iou", "cash-issue-and-pay")
"""The workloads of the pieces, in turn: one that only adds states, and one that makes value and hands it on."""

NOTARY, BRIDGE, POSTGRES = "notary", "bridge", "postgres"


@dataclass(frozen=True)
class Seen:
    """What the stored trials on one database come to. ``kills`` are by part, those of all parties as ``party``."""

    flows: int = 0
    faults: int = 0
    kills: Mapping[str, int] = field(default_factory=dict)
    trials: Mapping[str, int] = field(default_factory=dict)
    """By workload."""
    seed_max: int = 0

    @property
    def next_workload(self) -> str:
        """The workload with the fewest trials."""
        return min(WORKLOADS, key=lambda name: self.trials.get(name, 0))


@dataclass(frozen=True)
class Piece:
    """A call of ``lab chaos``: so many trials from a seed on, with kills of these targets only if there are any."""

    database: str
    workload: str
    seed: int
    targets: tuple[str, ...] = ()
    trials: int = PIECE_TRIALS


def wanted_kills(database: str) -> dict[str, int]:
    """The kills that a database has to have seen, by part."""
    own = {POSTGRES: KILLS_OF_POSTGRES} if database == POSTGRES else {}
    return {NOTARY: KILLS, PARTY: KILLS, BRIDGE: KILLS, **own}


def seen_on(database: str, corda: str, files: Sequence[ChaosFile]) -> Seen:
    """What the stored trials of a version of Corda on a database come to."""
    own = [file for file in files if (file.environment.versions.corda, file.database) == (corda, database)]
    trials = [trial for file in own for trial in file.trials]
    kills = {part: sum(_kills(trial, part) for trial in trials) for part in wanted_kills(database)}
    return Seen(
        flows=sum(trial.acknowledged for trial in trials),
        faults=sum(len(trial.made) for trial in trials),
        kills=kills,
        trials={name: sum(len(file.trials) for file in own if file.workload == name) for name in WORKLOADS},
        seed_max=max((trial.seed for trial in trials), default=0),
    )


def _kills(trial: ChaosTrial, part: str) -> int:
    killed = [fault.target for fault in trial.made if fault.kind == "kill"]
    return sum(target == part or (part == PARTY and target.startswith(PARTY)) for target in killed)


def missing_kills(database: str, seen: Seen) -> list[str]:
    """The parts that were killed too rarely."""
    return [part for part, wanted in wanted_kills(database).items() if seen.kills.get(part, 0) < wanted]


def next_piece(corda: str, parties: Sequence[str], files: Sequence[ChaosFile]) -> Piece | None:
    """The next piece of the campaign, on the database that has fewer faults; None if both have seen enough.

    Faults are drawn from all that there are. Once there are enough of them, only kills that are still missing are made.
    ``parties`` are the services of the parties.
    """
    open_to = []
    for database in DATABASES:
        seen = seen_on(database, corda, files)
        missing = missing_kills(database, seen)
        if seen.faults < FAULTS or seen.flows < FLOWS:
            open_to.append((seen.faults, Piece(database, seen.next_workload, max(SEED_FIRST, seen.seed_max + 1))))
        elif missing:
            targets = [target for part in missing for target in (parties if part == PARTY else [part])]
            open_to.append((seen.faults, Piece(database, seen.next_workload, seen.seed_max + 1, tuple(targets))))
    return min(open_to, key=lambda one: one[0])[1] if open_to else None


def rows(corda: str, files: Sequence[ChaosFile]) -> Iterator[tuple[str, ...]]:
    """What was wanted and what was seen, by database and together, as rows of a table with the titles ``TITLES``."""
    seen = {database: seen_on(database, corda, files) for database in DATABASES}
    flows, faults = [one.flows for one in seen.values()], [one.faults for one in seen.values()]
    yield ("acknowledged flows", f"{len(seen) * FLOWS:,}", *(f"{count:,}" for count in (*flows, sum(flows))))
    yield ("faults", f"{len(seen) * FAULTS:,}", *(f"{count:,}" for count in (*faults, sum(faults))))
    for part in wanted_kills(POSTGRES):
        wanted = sum(wanted_kills(database).get(part, 0) for database in DATABASES)
        counts = [one.kills.get(part) for one in seen.values()]
        cells = ["–" if count is None else str(count) for count in counts]
        yield (f"kills of {NAMES[part]}", str(wanted), *cells, str(sum(filter(None, counts))))


NAMES = {NOTARY: "the notary", PARTY: "a party", BRIDGE: "the bridge", POSTGRES: "PostgreSQL"}
TITLES = ("", "wanted", "H2", "PostgreSQL", "both")
