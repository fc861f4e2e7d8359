"""Proves from the ledgers of all nodes that a run lost nothing, doubled nothing and made no value."""

from corda_lab.audit.command import audit_lab, audit_load
from corda_lab.results.audits import Audit, Violation, ViolationKind

__all__ = ["Audit", "Violation", "ViolationKind", "audit_lab", "audit_load"]
