"""What the audit of the ledgers says after a load with faults, in the form in which campaigns store it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import polars as pl
from pydantic import Field

from corda_lab.audit import audit_lab, audit_load, audit_loads
from corda_lab.audit.requests import Load, load_of
from corda_lab.bench.file import BenchPart
from corda_lab.results.audits import CHECKS, Audit, Verdict, ViolationKind, unknown_outcomes
from corda_lab.runs.running import RunningLab
from corda_lab.steps.plan import Subject

AUDIT_SECONDS_MAX = 180.0
"""Time limit of an audit. A campaign's ledgers grow from trial to trial."""
PIECE_SECONDS_MAX = 600.0
"""Time limit of the audit of all trials together."""


class ViolationEntry(BenchPart):
    """One violation: its kind, the node, the ids that it is about, and a sentence."""

    kind: str
    node: str | None = None
    ids: tuple[str, ...] = ()
    text: str = ""


class AuditEntry(BenchPart):
    """The verdict of one audit, with what it counted and every violation."""

    verdict: Verdict
    checks: int = 0
    """The version of the checks that were made (``results.audits.CHECKS``); 0 in files from before there were any."""
    counts: dict[str, int] = Field(default_factory=dict)
    violations: tuple[ViolationEntry, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why it cannot tell."""
    seconds: float = 0.0

    @classmethod
    def of(cls, audit: Audit) -> "AuditEntry":
        """What an audit of now has found."""
        return cls(
            verdict=audit.verdict,
            checks=CHECKS,
            counts=dict(audit.counts),
            violations=tuple(
                ViolationEntry(kind=str(one.kind), node=one.node, ids=tuple(one.ids), text=one.text)
                for one in audit.violations
            ),
            reasons=tuple(audit.reasons),
            seconds=round(audit.seconds, 1),
        )


@dataclass(frozen=True)
class EndedLoad:
    """A load of a lab that is at rest again since ``at_rest`` (unix seconds), with the resolutions in its rows.

    ``slack_seconds`` is by how much the clock of a node may be behind that of the rows.
    """

    rows: pl.DataFrame
    subject: Subject
    at_rest: float
    slack_seconds: float = 0.0

    @property
    def stateful(self) -> frozenset[str]:
        """The parts of its workload that name states."""
        return frozenset(part.name for _, part in self.subject.starts if part.changes)


class Auditor(Protocol):
    """Audits the ledgers of a lab at rest."""

    def after_trial(self, lab: RunningLab, ended: EndedLoad) -> AuditEntry:
        """Audit what a load has recorded. Raises LabError."""

    def of_all(self, lab: RunningLab) -> AuditEntry:
        """Audit everything since the first load, with the requests of all of them. Raises LabError."""


class LedgerAuditor:
    """Audits the ledgers of the nodes, and keeps the requests of all loads for the audit of all of them."""

    def __init__(self) -> None:
        self._loads: list[Load] = []

    def after_trial(self, lab: RunningLab, ended: EndedLoad) -> AuditEntry:
        """Audit what a load has recorded. Without any row, the whole ledgers. Raises LabError."""
        number = len(self._loads) + 1
        stateful, slack = ended.stateful, ended.slack_seconds
        if load := load_of(ended.rows, at_rest=ended.at_rest, stateful=stateful, number=number, slack_seconds=slack):
            self._loads.append(load)
            # Also of a stored run, everything since its begin: nodes may have gone on with flows until all faults were
            # settled.
            return AuditEntry.of(
                audit_load(
                    lab.compose,
                    ended.rows,
                    deadline_seconds=AUDIT_SECONDS_MAX,
                    stateful=stateful,
                    slack_seconds=slack,
                )
            )
        return AuditEntry.of(audit_lab(lab.compose, deadline_seconds=AUDIT_SECONDS_MAX))

    def of_all(self, lab: RunningLab) -> AuditEntry:
        """Audit everything since the first load, with the requests of all of them. Raises LabError."""
        if not self._loads:
            return AuditEntry(verdict="cannot tell", checks=CHECKS, reasons=("no load has a request",))
        return AuditEntry.of(audit_loads(lab.compose, tuple(self._loads), deadline_seconds=PIECE_SECONDS_MAX))


def is_notary_alone(one: ViolationEntry) -> bool:
    """Whether a violation is a transaction that only the notary has. Its id is the first one."""
    return one.kind == ViolationKind.NOTARY_WITHOUT_TRANSACTION and bool(one.ids)


def unexplained(audit: AuditEntry, stranded: Collection[str]) -> tuple[ViolationEntry, ...]:
    """The violations of an audit, without those of transactions that Corda has stranded."""
    return tuple(one for one in audit.violations if not (is_notary_alone(one) and one.ids[0] in stranded))


def audit_problems(audit: AuditEntry | None, *, keeps_client_ids: bool, stranded: Collection[str] = ()) -> list[str]:
    """What the audit found. One that cannot tell is a problem as well; a transaction that Corda has stranded is none.

    Nodes without client ids cannot say what became of a request, so unknown outcomes are no problem there. A violation
    does not hide what else the audit cannot tell.
    """
    if audit is None:
        return ["the ledgers were not audited"]
    expected = None if keeps_client_ids else unknown_outcomes(audit.counts.get("unknown_requests", 0))
    reasons = [reason for reason in audit.reasons if reason != expected]
    untold = [f"the audit cannot tell: {'; '.join(reasons)}"] if reasons else []
    return [*(one.text or one.kind for one in unexplained(audit, stranded)), *untold]
