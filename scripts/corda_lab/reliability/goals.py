"""How much the campaign of faults has to have seen, which trials count, and what its next piece is.

The campaign is made of pieces, each on a new lab, which can be days apart. What counts are the stored trials of one
version of Corda, whoever made them.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from corda_lab.chaos.measurement import ChaosFile, ChaosTrial
from corda_lab.chaos.vaults import MISSING
from corda_lab.results.audits import CHECKS
from corda_lab.steps.faults import BRIDGE, GENERATOR, KINDS, PARTY, POSTGRES, PROMETHEUS, FaultEntry, FaultKind
from corda_lab.text.words import plural

DATABASES = ("h2", "postgres")
FLOWS = 5000
FAULTS = 100
KILLS = 10
KILLS_OF_POSTGRES = 20
KIND = 5
"""What each database has to have seen; kills are those of each part, and ``KIND`` the faults of each kind. Both
together: 10,000 acknowledged flows across 200 faults, with 20 kills each of notary, party, bridge and PostgreSQL."""
PARTITION: FaultKind = "partition"
PAIR = "partition of a pair"
"""How a partition between two parts is counted: apart from that of one part from all others."""
ASIDE = (GENERATOR, PROMETHEUS)
"""Targets whose faults do not count: they are no part of what records transactions."""

CHECKS_MIN = 2
"""The oldest version of the checks whose verdict counts.

Every trial also compares the vaults of all nodes with what its requests were told, which finds the loss, the doubling
and the value that later versions look for on the ledger.
"""

PIECE_TRIALS = 4
"""The most trials of a piece, some 30 minutes. An interrupted piece keeps the trials that it has made."""
PIECE_FAULTS = 8
SEED_FIRST = 1
WORKLOADS = ("iou", "cash-issue-and-pay")
"""The workloads of the pieces, in turn: one that only adds states, and one that makes value and hands it on."""

NOTARY = "notary"

FAILED = "failed"
OLDER = "audited by an older version of the checks, which looked for too little"
ALONE = "not audited together with the others of their piece, or that audit did not pass"
UNCOUNTED = "with another number of transactions in the vaults than of flows that succeeded"
REPEATED = "with the workload and the seed of another one on the same database"
"""Why trials do not count."""


@dataclass(frozen=True)
class Seen:
    """What the stored trials on one database come to. ``kills`` are by part, those of all parties as ``party``.

    All but ``made`` and ``seed_max`` is of the trials that count.
    """

    counted: int = 0
    newest: int = 0
    """Those that were audited by the checks of today."""
    newest_flows: int = 0
    made: int = 0
    flows: int = 0
    faults: int = 0
    aside: int = 0
    """Faults on the generator and on Prometheus."""
    kills: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    trials: Mapping[str, int] = field(default_factory=dict)
    """By workload; also those that do not count, so that none is made again and again."""
    seed_max: int = 0

    @property
    def next_workload(self) -> str:
        """The workload with the fewest trials."""
        return min(WORKLOADS, key=lambda name: self.trials.get(name, 0))


@dataclass(frozen=True)
class Piece:
    """A call of ``lab chaos``: so many trials from a seed on, with only these kinds and targets if there are any."""

    database: str
    workload: str
    seed: int
    kinds: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    trials: int = PIECE_TRIALS


def wanted_kills(database: str) -> dict[str, int]:
    """The kills that a database has to have seen, by part."""
    own = {POSTGRES: KILLS_OF_POSTGRES} if database == POSTGRES else {}
    return {NOTARY: KILLS, PARTY: KILLS, BRIDGE: KILLS, **own}


def why_not(file: ChaosFile, place: int) -> str | None:
    """Why the trial at a place of its file does not count; None if it does, unless another one has its seed."""
    trial = file.trials[place]
    if trial.problems:
        return FAILED
    if trial.audit is None or trial.audit.checks < CHECKS_MIN:
        return OLDER
    if file.audit is None or file.audit.checks < CHECKS_MIN or place >= len(file.confirmed):
        return ALONE
    return None if trial.on_ledger == trial.succeeded else UNCOUNTED


@dataclass(frozen=True)
class Sorted:
    """A trial, with its file and why it does not count; None if it does."""

    file: ChaosFile
    trial: ChaosTrial
    why: str | None

    @property
    def is_counted(self) -> bool:
        """Whether the trial counts."""
        return self.why is None

    @property
    def one_way(self) -> tuple[FaultEntry, ...]:
        """The partitions that do not count, because the part still heard the others."""
        return tuple(one for one in self.trial.made if kind_of(one) == PARTITION and not self.file.cuts_both_ways)

    @property
    def faults(self) -> tuple[FaultEntry, ...]:
        """The faults that took place and count."""
        return tuple(fault for fault in self.trial.made if fault not in self.one_way)


def kind_of(fault: FaultEntry) -> str:
    """As what a fault is counted."""
    return PAIR if fault.kind == PARTITION and "-" in fault.target else str(fault.kind)


def sorted_out(corda: str, database: str, files: Sequence[ChaosFile]) -> Iterator[Sorted]:
    """The trials of a version of Corda on a database; oldest first."""
    seen: set[tuple[str, int]] = set()
    for file in sorted(_own(corda, database, files), key=lambda one: one.id):
        for place, trial in enumerate(file.trials):
            why = why_not(file, place)
            if why is None and (file.workload, trial.seed) in seen:
                why = REPEATED
            if why is None:
                seen.add((file.workload, trial.seed))
            yield Sorted(file, trial, why)


def _own(corda: str, database: str, files: Sequence[ChaosFile]) -> list[ChaosFile]:
    return [file for file in files if (file.environment.versions.corda, file.database) == (corda, database)]


def seen_on(database: str, corda: str, files: Sequence[ChaosFile]) -> Seen:
    """What the stored trials of a version of Corda on a database come to."""
    own = _own(corda, database, files)
    counting = [one for one in sorted_out(corda, database, files) if one.is_counted]
    trials = [one.trial for one in counting]
    newest = [one for one in trials if one.audit is not None and one.audit.checks == CHECKS]
    made = [fault for one in counting for fault in one.faults]
    faults = [fault for fault in made if fault.target not in ASIDE]
    every = [trial for file in own for trial in file.trials]
    return Seen(
        counted=len(trials),
        newest=len(newest),
        newest_flows=sum(trial.acknowledged for trial in newest),
        made=len(every),
        flows=sum(trial.acknowledged for trial in trials),
        faults=len(faults),
        aside=len(made) - len(faults),
        kills={part: _kills(faults, part) for part in wanted_kills(database)},
        kinds=Counter(map(kind_of, faults)),
        trials={name: sum(len(file.trials) for file in own if file.workload == name) for name in WORKLOADS},
        seed_max=max((trial.seed for trial in every), default=0),
    )


def _kills(faults: Sequence[FaultEntry], part: str) -> int:
    killed = [fault.target for fault in faults if fault.kind == "kill"]
    return sum(target == part or (part == PARTY and target.startswith(PARTY)) for target in killed)


def missing_kills(database: str, seen: Seen) -> dict[str, int]:
    """The parts that were killed too rarely, with the kills that they lack."""
    lacking = {part: wanted - seen.kills.get(part, 0) for part, wanted in wanted_kills(database).items()}
    return {part: count for part, count in lacking.items() if count > 0}


def missing_kinds(seen: Seen) -> dict[str, int]:
    """The kinds of faults that were seen too rarely, with the faults that they lack.

    The labs of the campaign can have all of them.
    """
    lacking = {kind: max(0, KIND - seen.kinds.get(kind, 0)) for kind in (*KINDS, PAIR)}
    # Which partitions are of a pair is drawn.
    lacking[PARTITION] += lacking.pop(PAIR)
    return {str(kind): count for kind, count in lacking.items() if count > 0}


def next_piece(corda: str, parties: Sequence[str], files: Sequence[ChaosFile]) -> Piece | None:
    """The next piece of the campaign, on the database that has fewer faults; None if both have seen enough.

    ``parties`` are the services of the parties.
    """
    seen = {database: seen_on(database, corda, files) for database in DATABASES}
    open_to = [(one.faults, piece) for database, one in seen.items() if (piece := _next_on(database, parties, one))]
    return min(open_to, key=lambda one: one[0])[1] if open_to else None


def _next_on(database: str, parties: Sequence[str], seen: Seen) -> Piece | None:
    """The next piece on a database; None if it has seen enough.

    The first half of the faults is drawn from all that there are. Then what is still missing is made, first of the
    kinds, then of the kills; what is left of the other half is drawn from all again.
    """
    begun = (database, seen.next_workload, max(SEED_FIRST, seen.seed_max + 1))
    parts = list(wanted_kills(database))
    if seen.faults >= FAULTS // 2:
        if kinds := missing_kinds(seen):
            return Piece(*begun, kinds=(*kinds,), targets=_targets(parts, parties), trials=_trials_for(kinds))
        if killed := missing_kills(database, seen):
            return Piece(*begun, kinds=("kill",), targets=_targets([*killed], parties), trials=_trials_for(killed))
    return Piece(*begun) if seen.faults < FAULTS or seen.flows < FLOWS else None


def _trials_for(lacking: Mapping[str, int]) -> int:
    """The trials of a piece for faults that are lacking.

    It has twice as many faults as are lacking, because what is drawn does not hit each kind and part equally often.
    """
    return min(PIECE_TRIALS, math.ceil(2 * sum(lacking.values()) / PIECE_FAULTS))


def _targets(parts: Sequence[str], parties: Sequence[str]) -> tuple[str, ...]:
    return tuple(target for part in parts for target in (parties if part == PARTY else [part]))


def rows(corda: str, files: Sequence[ChaosFile]) -> Iterator[tuple[str, ...]]:
    """What was wanted and what was seen, by database and together, as rows of a table with the titles ``TITLES``."""
    seen = [seen_on(database, corda, files) for database in DATABASES]

    def row(what: str, wanted: int | None, counts: Sequence[int | None]) -> tuple[str, ...]:
        cells = (NONE if count is None else f"{count:,}" for count in (wanted, *counts))
        return (what, *cells, f"{sum(filter(None, counts)):,}")

    yield row("trials that count", None, [one.counted for one in seen])
    yield row("acknowledged flows", len(seen) * FLOWS, [one.flows for one in seen])
    yield row("faults", len(seen) * FAULTS, [one.faults for one in seen])
    for part in wanted_kills(POSTGRES):
        wanted = sum(wanted_kills(database).get(part, 0) for database in DATABASES)
        yield row(f"kills of {NAMES[part]}", wanted, [one.kills.get(part) for one in seen])
    for kind in (*KINDS, PAIR):
        if kind != "kill":
            yield row(f"of the kind {kind}", len(seen) * KIND, [one.kinds.get(kind, 0) for one in seen])
    yield row("trials that count and were audited by the newest checks", None, [one.newest for one in seen])
    yield row("acknowledged flows of these", None, [one.newest_flows for one in seen])
    yield row("besides, on the generator or Prometheus", None, [one.aside for one in seen])


def contradictions(corda: str, files: Sequence[ChaosFile]) -> Iterator[str]:
    """What contradicts the campaign, also of trials that do not count.

    That is a violation, a transaction that only the nodes' own count of their vaults misses, and a flow that nobody can
    explain. A trial of which nothing is known contradicts nothing; it only does not count. Nor does a transaction that
    Corda has stranded: its caller was told that the flow failed.
    """
    for file in sorted((one for one in files if one.environment.versions.corda == corda), key=lambda one: one.id):
        for trial in file.trials:
            where = f"{file.id}, seed {trial.seed}"
            yield from (f"{where}: {one.text or one.kind}" for one in trial.violations)
            yield from (f"{where}: {problem}" for problem in trial.problems if problem.startswith(MISSING))
            if trial.unexplained:
                yield f"{where}: {plural(trial.unexplained, 'flow')} of which nobody can tell what became of them"
        yield from (f"{file.id}, all trials: {one.text or one.kind}" for one in file.violations)


def asked_for(piece: Piece, corda: str, files: Sequence[ChaosFile]) -> int:
    """The faults of the kinds and on the targets of a piece that were made in trials that count, on its database."""
    counting = [one for one in sorted_out(corda, piece.database, files) if one.is_counted]
    # The target of a fault of a link is both of its ends.
    return sum(
        fault.kind in piece.kinds and set(fault.target.split("-")) <= {*piece.targets}
        for one in counting
        for fault in one.faults
    )


def left_out(corda: str, files: Sequence[ChaosFile]) -> Iterator[str]:
    """The trials that do not count, by the reason, and the faults of others that do not, as lines."""
    found = [one for database in DATABASES for one in sorted_out(corda, database, files)]
    for why, count in sorted(Counter(one.why for one in found if one.why is not None).items()):
        yield f"{plural(count, 'trial')} {why}"
    if one_way := sum(len(one.one_way) for one in found if one.is_counted):
        yield f"{plural(one_way, 'partition')} of one part in other trials, because the part still heard the others"


NAMES = {NOTARY: "the notary", PARTY: "a party", BRIDGE: "the bridge", POSTGRES: "PostgreSQL"}
NONE = "–"
TITLES = ("", "wanted", "H2", "PostgreSQL", "both")
