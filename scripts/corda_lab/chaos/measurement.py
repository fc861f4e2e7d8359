"""The file of ``lab chaos``: every trial, with its faults, the outcomes of its flows, and the audit, as models."""

from collections.abc import Iterable

from pydantic import Field

from corda_lab.bench.file import BenchFile, BenchPart
from corda_lab.chaos.verdict import AuditEntry
from corda_lab.paths import RESULTS
from corda_lab.steps.faults import FaultEntry

CHAOS = RESULTS / "chaos"
"""The folder of the files."""
KIND = "chaos"

LOST = ("missing_at_participant", "row_without_transaction")
"""Kinds of violations that say that an acknowledged transaction is lost."""
DOUBLED = ("doubled", "consumed_twice")
"""Kinds that say that something happened twice."""
VALUE = ("value_not_conserved",)
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
    """Transactions of this load in the vault with the most of them; None if the workload names no states."""
    restarted: tuple[str, ...] = ()
    """The nodes that were started again because flows stayed in flight without that."""
    rest_seconds: float | None = None
    """Time from the end of the run until the lab was at rest."""
    audit: AuditEntry | None = None
    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """Why the trial failed. Empty if it passed."""

    @property
    def acknowledged(self) -> int:
        """Flows that the generator was told have succeeded."""
        return self.outcomes.get("ok", 0)

    @property
    def made(self) -> tuple[FaultEntry, ...]:
        """The faults that took place."""
        return tuple(fault for fault in self.faults if fault.was_made)

    @property
    def violating_otherwise(self) -> int:
        """The number of violations of all other kinds."""
        every = {one.kind for one in self.audit.violations} if self.audit else set()
        return self.violating(every - {*LOST, *DOUBLED, *VALUE})

    def violating(self, kinds: Iterable[str]) -> int:
        """The number of ids in violations of some kinds. One without ids counts as one."""
        chosen = set(kinds)
        found = self.audit.violations if self.audit else ()
        return sum(max(1, len(one.ids)) for one in found if one.kind in chosen)


class ChaosFile(BenchFile):
    """The content of the file."""

    workload: str
    users: int
    pacing_seconds: float
    trials: tuple[ChaosTrial, ...] = ()

    @property
    def database(self) -> str:
        """The database of the nodes: ``h2`` or ``postgres``."""
        return self.environment.shape.get("DATABASE") or "h2"
