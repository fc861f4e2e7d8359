"""What the audit of the ledgers says after a load with faults, in the form in which campaigns store it."""

from collections.abc import Callable
from typing import Literal

import polars as pl
from pydantic import Field

from corda_lab.bench.file import BenchPart
from corda_lab.runs.running import RunningLab

AUDIT_SECONDS_MAX = 180.0
"""Time limit of an audit. A campaign's ledgers grow from trial to trial."""

Verdict = Literal["passed", "violations", "cannot tell"]


class ViolationEntry(BenchPart):
    """One violation: its kind, the node, the ids that it is about, and a sentence."""

    kind: str
    node: str | None = None
    ids: tuple[str, ...] = ()
    text: str = ""


class AuditEntry(BenchPart):
    """The verdict of one audit, with what it counted and every violation."""

    verdict: Verdict
    counts: dict[str, int] = Field(default_factory=dict)
    violations: tuple[ViolationEntry, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why it cannot tell."""
    seconds: float = 0.0


Auditor = Callable[[RunningLab, pl.DataFrame], AuditEntry]
"""Audits the ledgers of a lab at rest after a trial, with the rows of its load and their resolutions."""


def audited(lab: RunningLab, rows: pl.DataFrame) -> AuditEntry:
    """Audit the ledgers of the running lab. Without any row, they are audited as a whole. Raises LabError."""
    from corda_lab.audit import audit_lab, audit_load

    # Also of a stored run, everything since its begin: nodes may have gone on with flows until all faults were settled.
    if rows.height:
        found = audit_load(lab.compose, rows, deadline_seconds=AUDIT_SECONDS_MAX)
    else:
        found = audit_lab(lab.settings, deadline_seconds=AUDIT_SECONDS_MAX)
    violations = tuple(
        ViolationEntry(kind=str(one.kind), node=one.node, ids=tuple(one.ids), text=one.text) for one in found.violations
    )
    return AuditEntry(
        verdict=found.verdict,
        counts=dict(found.counts),
        violations=violations,
        reasons=tuple(found.reasons),
        seconds=round(found.seconds, 1),
    )
