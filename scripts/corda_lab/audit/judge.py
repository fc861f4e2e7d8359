"""Judges ledgers: pure, from tables to violations, so that each kind can be tested without a node."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from corda_lab.audit import placement, repeats, value
from corda_lab.audit.tables import Ledgers, Request, Scope, View
from corda_lab.results.audits import Violation, unknown_outcomes
from corda_lab.text.words import plural


@dataclass(frozen=True)
class Judgement:
    """What follows from the ledgers: violations in the order of their kinds, counts, and what could not be told."""

    violations: tuple[Violation, ...]
    counts: dict[str, int]
    reasons: tuple[str, ...]


def judge(ledgers: Ledgers, requests: Iterable[Request] | None, scope: Scope, loads: Scope | None = None) -> Judgement:
    """Judge the ledgers of a network at rest. Without a run, ``requests`` is None and nothing is asked about rows.

    ``loads`` is when the flows of the requests ran, if ``scope`` is more than that.
    """
    rows = tuple(requests or ())
    view = View(ledgers, rows, scope, loads)
    found = dict.fromkeys(_violations(view, of_run=requests is not None))
    return Judgement(tuple(sorted(found, key=_order)), _counts(view), tuple(_reasons(view)))


def _order(one: Violation) -> tuple[str, str, tuple[str, ...]]:
    return one.kind.value, one.node or "", one.ids


def _violations(view: View, *, of_run: bool) -> Iterator[Violation]:
    yield from placement.missing_at_participants(view)
    yield from placement.at_other_parties(view)
    yield from placement.vaults_without_transaction(view)
    yield from value.changed_bytes(view)
    yield from value.consumed_twice(view)
    yield from value.made_from_nothing(view)
    yield from value.vaults_against_ledger(view)
    yield from value.vaults_differ(view)
    yield from placement.left_flows(view)
    if view.ledgers.log is not None:
        yield from placement.entries_without_transaction(view, view.ledgers.log)
        yield from placement.against_log(view, view.ledgers.log)
        yield from placement.conflicts(view, view.ledgers.log)
    if of_run:
        yield from placement.rows_without_transaction(view)
        yield from placement.doubled_rows(view)
        yield from placement.doubled_flows(view)
        yield from repeats.repeated_flows(view)


def _counts(view: View) -> dict[str, int]:
    log = view.ledgers.log
    return {
        "nodes": len(view.ledgers.nodes),
        "transactions": len(view.judged),
        "acknowledged": sum(one.status == "acknowledged" for one in view.requests),
        "acknowledged_transactions": len(view.starters),
        "unknown_requests": sum(one.status == "unknown" for one in view.requests),
        "vault_states": sum(1 for _ in view.vault_rows()),
        "notary_entries": len(log.consumers or log.transactions or ()) if log else 0,
    }


def _reasons(view: View) -> Iterator[str]:
    """What these tables do not tell."""
    if unread := len(view.judged) - len(view.read):
        yield f"{plural(unread, 'transaction')} could not be read"
    if value.has_unknown_ids(view):
        yield "no transaction has the id of its bytes: this version of Corda makes ids in a way that is not known here"
    if unread := value.unread_inputs(view):
        yield f"{plural(unread, 'transaction')} consume states whose own transaction could not be read"
    if view.ledgers.log is None:
        yield "the notary's log was not read"
    elif view.ledgers.log.consumers is None and any(one.inputs for one in view.read):
        yield "this kind of notary stores the states that it has seen consumed in a form that is not read"
    if unknown := sum(one.status == "unknown" for one in view.requests):
        yield unknown_outcomes(unknown)
    yield from repeats.reasons(view)
