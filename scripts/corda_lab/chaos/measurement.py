"""The file of ``lab chaos``: every trial, with its faults, the outcomes of its flows, and the audit, as models."""

from collections.abc import Iterable

from pydantic import Field

from corda_lab.bench.file import BenchFile, BenchPart
from corda_lab.chaos.stranded import StrandedTransaction
from corda_lab.chaos.verdict import AuditEntry, ViolationEntry, unexplained
from corda_lab.paths import RESULTS
from corda_lab.results.audits import ViolationKind
from corda_lab.steps.faults import FaultEntry

CHAOS = RESULTS / "chaos"
"""The folder of the files."""
KIND = "chaos"

LOST = (ViolationKind.MISSING_AT_PARTICIPANT, ViolationKind.ROW_WITHOUT_TRANSACTION)
"""Kinds of violations that say that an acknowledged transaction is lost."""
DOUBLED = (ViolationKind.DOUBLED, ViolationKind.FLOW_REPEATED, ViolationKind.CONSUMED_TWICE)
"""Kinds that say that something happened twice."""
VALUE = (ViolationKind.VALUE_NOT_CONSERVED,)
"""Kinds that say that value was made or destroyed."""


class ChaosTrial(BenchPart):
    """One load with faults, and what was found afterwards."""

    seed: int
    """The seed of the load and of its faults. With it and the same options, both are repeated."""
    run: str
    """The id of the run; empty if it did not begin."""
    stored: bool
    """Whether the run has its results. That of a killed generator has none, and is kept as unfinished."""
    reason: str | None = None
    """Why the run has no results."""
    faults: tuple[FaultEntry, ...] = ()
    outcomes: dict[str, int] = Field(default_factory=dict)
    """Rows by outcome."""
    resolved: dict[str, int] = Field(default_factory=dict)
    """Rows with an unknown outcome, by what became of them."""
    keeps_client_ids: bool = True
    """Whether the nodes could be asked what became of a flow (Corda ≥ 4.6)."""
    unexplained: int = 0
    """Rows of which the node that keeps client ids did not say what became of them."""
    unrecorded: int = 0
    """Flows on the ledger of which a killed generator wrote no row."""
    on_ledger: int | None = None
    """Transactions of this load in the vault with the most of them, of those where each success leaves states; None if
    the workload names none."""
    restarted: tuple[str, ...] = ()
    """The nodes that were started again because flows stayed in flight without that."""
    rest_seconds: float | None = None
    """Time from the end of the run until the lab was at rest."""
    audit: AuditEntry | None = None
    stranded: tuple[StrandedTransaction, ...] = ()
    """Transactions of violations of the audit of which the logs show that Corda has stranded them."""
    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """Why the trial failed. Empty if it passed."""

    @property
    def acknowledged(self) -> int:
        """Flows that the generator was told have succeeded."""
        return self.outcomes.get("ok", 0)

    @property
    def succeeded(self) -> int:
        """Flows that have succeeded, as far as anybody was told, at once or later."""
        return self.acknowledged + self.resolved.get("ok", 0) + self.unrecorded

    @property
    def made(self) -> tuple[FaultEntry, ...]:
        """The faults that took place."""
        return tuple(fault for fault in self.faults if fault.was_made)

    @property
    def stranded_ids(self) -> frozenset[str]:
        """The ids of the transactions that Corda has stranded."""
        return frozenset(one.transaction for one in self.stranded)

    @property
    def violations(self) -> tuple[ViolationEntry, ...]:
        """The violations of the audit, without those of transactions that Corda has stranded."""
        return unexplained(self.audit, self.stranded_ids) if self.audit else ()

    @property
    def violating_otherwise(self) -> int:
        """The number of violations of all other kinds."""
        every = {one.kind for one in self.violations}
        return self.violating(every - {*LOST, *DOUBLED, *VALUE})

    def violating(self, kinds: Iterable[str]) -> int:
        """The number of ids in violations of some kinds. One without ids counts as one."""
        chosen = set(kinds)
        return sum(max(1, len(one.ids)) for one in self.violations if one.kind in chosen)


def stranded_in(trials: Iterable[ChaosTrial]) -> frozenset[str]:
    """The ids of the transactions that Corda has stranded in any of some trials."""
    return frozenset(identity for trial in trials for identity in trial.stranded_ids)


class PieceAudit(AuditEntry):
    """The verdict on everything that all trials have recorded, after the last of them.

    What one trial was told of, and a later one lost, is only seen here.
    """

    trials: int
    """How many trials there were. Later ones are not in it, if the command was ended."""
    problems: tuple[str, ...] = ()
    """Why the trials together failed. Empty if they passed."""


class ChaosFile(BenchFile):
    """The content of the file."""

    workload: str
    users: int
    pacing_seconds: float
    trials: tuple[ChaosTrial, ...] = ()
    audit: PieceAudit | None = None
    """None in files from before there was one, and if no trial came to its own audit."""
    cuts_both_ways: bool = False
    """Whether a partition of one part lost what it sent and what was sent to it. In older files, which lack this, only
    what it sent was lost."""

    @property
    def violations(self) -> tuple[ViolationEntry, ...]:
        """The violations of the audit of all trials, without those of transactions that Corda has stranded."""
        return unexplained(self.audit, stranded_in(self.trials)) if self.audit else ()

    @property
    def confirmed(self) -> tuple[ChaosTrial, ...]:
        """The trials that were audited again together, without a problem; also those that had one of their own."""
        return () if self.audit is None or self.audit.problems else self.trials[: self.audit.trials]

    @property
    def has_passed(self) -> bool:
        """Whether all trials passed, each by itself and all together."""
        return len(self.confirmed) == len(self.trials) and not any(trial.problems for trial in self.trials)
