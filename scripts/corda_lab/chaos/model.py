"""A trial of ``lab chaos``: one run with faults, and what was lost, doubled or made by them.

It is stored as ``chaos.json`` in the folder of its run.
"""

from collections.abc import Collection, Iterable
from pathlib import Path

from pydantic import Field

from corda_lab.results import folders
from corda_lab.results.audits import Audit, Violation, ViolationKind
from corda_lab.steps.faults import GENERATOR, FaultEntry, Part
from corda_lab.text.words import plural

TRIAL = "chaos.json"
LOST = (ViolationKind.MISSING_AT_PARTICIPANT, ViolationKind.ROW_WITHOUT_TRANSACTION)
"""Kinds of violations that say that an acknowledged transaction is lost."""
DOUBLED = (ViolationKind.DOUBLED, ViolationKind.FLOW_REPEATED, ViolationKind.CONSUMED_TWICE)
"""Kinds that say that something happened twice."""
VALUE = (ViolationKind.VALUE_NOT_CONSERVED,)
"""Kinds that say that value was made or destroyed."""
NOT_HEALED = "it was made, and nothing says that it was healed"


class StrandedTransaction(Part):
    """A transaction that only the notary has, with what shows that its flow ended before it was recorded."""

    transaction: str
    node: str
    """The node on which its flow ran."""
    flow: str
    client_id: str
    told: str
    """What the caller of the flow was told."""
    log: tuple[str, ...]
    """What the nodes have logged of it, in order of time: ``14:34:08.060 PartyA: Notary responded (…)``."""


class Trial(Part):
    """One load with faults, and what was found afterwards."""

    seed: int
    """The seed of the load and of its faults."""
    run: str = ""
    """The id of the run; empty if it did not begin."""
    reason: str | None = None
    """Why the run has no results. That of a killed generator has none, and is kept as unfinished."""
    faults: tuple[FaultEntry, ...] = ()
    outcomes: dict[str, int] = Field(default_factory=dict)
    """Rows by outcome."""
    resolved: dict[str, int] = Field(default_factory=dict)
    """Rows with an unknown outcome, by what became of them."""
    unexplained: int = 0
    """Flows of which the node did not say what became of them."""
    unrecorded: int = 0
    """Flows on the ledger of which a killed generator wrote no row."""
    restarted: tuple[str, ...] = ()
    """The nodes that were started again because flows stayed in flight without that."""
    audit: Audit | None = None
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
    def made(self) -> tuple[FaultEntry, ...]:
        return tuple(fault for fault in self.faults if fault.was_made)

    @property
    def stranded_ids(self) -> frozenset[str]:
        return frozenset(one.transaction for one in self.stranded)

    def violating(self, kinds: Iterable[ViolationKind]) -> int:
        """The number of ids in violations of some kinds. One without ids counts as one."""
        chosen = set(kinds)
        violations = unexplained(self.audit, self.stranded_ids) if self.audit else ()
        return sum(max(1, len(one.ids)) for one in violations if one.kind in chosen)


def store(folder: Path, trial: Trial) -> None:
    try:
        folders.write_json(folder / TRIAL, trial.model_dump(mode="json"))
    except OSError as error:
        raise folders.unwritable(folder, error) from None


def is_notary_alone(one: Violation) -> bool:
    """Whether a violation is a transaction that only the notary has. Its id is the first one."""
    return one.kind is ViolationKind.NOTARY_WITHOUT_TRANSACTION and bool(one.ids)


def unexplained(audit: Audit, stranded: Collection[str]) -> tuple[Violation, ...]:
    """The violations of an audit, without those of transactions that Corda has stranded."""
    return tuple(one for one in audit.violations if not (is_notary_alone(one) and one.ids[0] in stranded))


def audit_problems(audit: Audit | None, stranded: Collection[str]) -> list[str]:
    """What an audit found. One that cannot tell is a problem as well; a transaction that Corda has stranded is none."""
    if audit is None:
        return ["the ledgers were not audited"]
    untold = [f"the audit cannot tell: {'; '.join(audit.reasons)}"] if audit.reasons else []
    return [*(one.text for one in unexplained(audit, stranded)), *untold]


def problems_of(trial: Trial) -> list[str]:
    found = [
        f"{one.name}: {one.problem or NOT_HEALED}"
        for one in trial.faults
        if one.is_left or (one.was_made and (one.problem or one.healed_at is None))
    ]
    ended = [fault for fault in trial.made if fault.ends_load]
    if trial.reason is not None and not ended:
        found.append(f"the run has no results: {trial.reason}")
    if trial.reason is None and any(fault.kind == "kill" and fault.target == GENERATOR for fault in ended):
        found.append("the run looks complete, although its generator was killed")
    if trial.unexplained:
        found.append(f"{plural(trial.unexplained, 'flow')} of which nobody can tell what became of them")
    return [*found, *audit_problems(trial.audit, trial.stranded_ids)]
