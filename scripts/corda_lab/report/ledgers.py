"""What the ledgers prove about a run, as the reports show it."""

from collections.abc import Mapping

from corda_lab.results.audits import Audit

SHOWN_MAX = 200
"""Violations that a report lists. All are in ``audit.json``."""
STATES = {"passed": "good", "violations": "bad", "cannot tell": "warning"}
COUNTED: Mapping[str, str] = {
    "nodes": "nodes whose ledgers were read",
    "transactions": "transactions recorded during the load",
    "acknowledged": "requests that were told of success",
    "acknowledged_transactions": "transactions that they were told of",
    "unknown_requests": "requests with an unknown outcome",
    "vault_states": "rows of vaults recorded or consumed during the load",
    "notary_entries": "states that the notary has seen consumed, ever",
}


def state(audit: Audit | None) -> str:
    """``good``, ``bad`` or ``warning``; empty without an audit."""
    return "" if audit is None else STATES[audit.verdict]


def detail(audit: Audit | None) -> str:
    if audit is None:
        return ""
    return "every transaction, state and value" if audit.verdict == "passed" else audit.summary


def count_rows(audit: Audit) -> list[tuple[str, str]]:
    return [(words, f"{audit.counts[name]:,}") for name, words in COUNTED.items() if name in audit.counts]


def step_words(audit: Audit | None) -> tuple[str, str]:
    if audit is None:
        return "", "not audited"
    return state(audit), {"passed": "✓ passed", "violations": f"✗ {audit.summary}"}.get(audit.verdict, audit.summary)
