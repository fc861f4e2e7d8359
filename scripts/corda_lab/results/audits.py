"""The audit of a step: what the ledgers prove about its transactions. It is stored as ``audit.json``."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from corda_lab.results import folders
from corda_lab.text.words import plural

AUDIT_FILE = "audit.json"

Verdict = Literal["passed", "violations", "cannot tell"]
"""cannot tell: nothing wrong was found, but something could not be read or asked."""


class ViolationKind(StrEnum):
    """The ways in which a ledger can be wrong. ``docs/audit.md`` defines each."""

    MISSING_AT_PARTICIPANT = "missing_at_participant"
    AT_ANOTHER_PARTY = "at_another_party"
    DOUBLED = "doubled"
    FLOW_REPEATED = "flow_repeated"
    CONSUMED_TWICE = "consumed_twice"
    VALUE_NOT_CONSERVED = "value_not_conserved"
    VAULT_WITHOUT_TRANSACTION = "vault_without_transaction"
    NOTARY_WITHOUT_TRANSACTION = "notary_without_transaction"
    NOT_NOTARISED = "not_notarised"
    FLOW_SUSPENDED = "flow_suspended"
    FLOW_IN_HOSPITAL = "flow_in_hospital"
    ROW_WITHOUT_TRANSACTION = "row_without_transaction"
    ID_DIFFERS = "id_differs"
    VAULTS_DIFFER = "vaults_differ"


class Violation(BaseModel):
    """One thing that is wrong, with the node where it was seen (None: no single one) and the ids that show it."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    kind: ViolationKind
    node: str | None = None
    ids: tuple[str, ...] = ()
    text: str


class Audit(BaseModel):
    """What the ledgers prove. ``reasons`` say what could not be told, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    verdict: Verdict
    counts: Mapping[str, int] = Field(default_factory=dict)
    violations: tuple[Violation, ...] = ()
    reasons: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def by_kind(self) -> dict[ViolationKind, int]:
        """The number of violations of each kind that occurs, in the order of the kinds."""
        kinds = [one.kind for one in self.violations]
        return {kind: kinds.count(kind) for kind in ViolationKind if kind in kinds}

    @property
    def kinds(self) -> str:
        """The violations by kind: ``2 doubled, 1 flow_suspended``."""
        return ", ".join(f"{count:,} {kind}" for kind, count in self.by_kind.items())

    @property
    def summary(self) -> str:
        """The verdict in one line: ``passed: 812 transactions on 4 nodes``."""
        if self.verdict == "violations":
            return f"violations: {self.kinds}"
        if self.verdict == "cannot tell":
            return f"cannot tell: {self.reasons[0]}" + (f", and {len(self.reasons) - 1} more" * (len(self.reasons) > 1))
        transactions = plural(self.counts.get("transactions", 0), "transaction")
        return f"passed: {transactions} on {plural(self.counts.get('nodes', 0), 'node')}"


def unknown_outcomes(count: int) -> str:
    """The reason of an audit that cannot tell because nobody knows what became of some requests."""
    return f"the outcome of {plural(count, 'request')} is not known"


def verdict_of(violations: Iterable[Violation], reasons: Iterable[str]) -> Verdict:
    if any(True for _ in violations):
        return "violations"
    return "cannot tell" if any(True for _ in reasons) else "passed"


def read(run: Path) -> dict[int, Audit]:
    """Return the audits of a run by the index of the step; empty if it has none. Raises LabError if one is damaged."""
    paths = sorted(run.glob(f"steps/[0-9]*/{AUDIT_FILE}"))
    return {int(path.parent.name.partition("-")[0]): folders.read_model(path, Audit) for path in paths}
