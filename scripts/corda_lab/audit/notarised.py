"""Whether the notary's log and the ledgers of the parties agree, and no flow was left behind."""

from collections.abc import Iterator

from corda_lab.audit.tables import NotaryLog
from corda_lab.audit.view import View
from corda_lab.results.audits import Violation, ViolationKind


def entries_without_transaction(view: View, log: NotaryLog) -> Iterator[Violation]:
    """Transactions that the notary has committed and that no node has."""
    consumed: dict[str, list[str]] = {identity: [] for identity in log.transactions or ()}
    for state, consumer in (log.consumers or {}).items():
        consumed.setdefault(consumer, []).append(str(state))
    for identity in sorted(consumed.keys() - view.places.keys()):
        if view.scope.contains(log.committed_at.get(identity)):
            states = sorted(consumed[identity])
            what = f" and has {', '.join(states)} as consumed by it" if states else ""
            yield Violation(
                kind=ViolationKind.NOTARY_WITHOUT_TRANSACTION,
                ids=(identity, *states),
                text=f"the notary has committed transaction {identity}{what}, but no node has that transaction",
            )


def against_log(view: View, log: NotaryLog) -> Iterator[Violation]:
    """Transactions that consume states or have a time window, and that the notary has not committed as they are."""
    consumers = log.consumers
    if consumers is None:
        return
    for transaction in view.read:
        if not transaction.is_notarised:
            continue
        missing = [str(state) for state in transaction.inputs if state not in consumers]
        is_missing = log.transactions is not None and not transaction.inputs and transaction.id not in log.transactions
        if missing or is_missing:
            yield Violation(
                kind=ViolationKind.NOT_NOTARISED,
                ids=(transaction.id, *missing),
                text=f"transaction {transaction.id} is on the ledger, but the notary has not committed it",
            )
        for state in transaction.inputs:
            consumer = consumers.get(state, transaction.id)
            if consumer != transaction.id:
                yield Violation(
                    kind=ViolationKind.CONSUMED_TWICE,
                    ids=(str(state), transaction.id, consumer),
                    text=f"state {state} is consumed by transaction {transaction.id} on the ledger, "
                    f"and by {consumer} in the notary's log",
                )


def conflicts(view: View, log: NotaryLog) -> Iterator[Violation]:
    """States that members of a notary cluster have as consumed by different transactions."""
    for state, consumers in sorted(log.conflicts.items()):
        if view.judged & consumers or not view.places.keys() & consumers:
            yield Violation(
                kind=ViolationKind.CONSUMED_TWICE,
                ids=(str(state), *sorted(consumers)),
                text=f"members of the notary cluster have state {state} as consumed by different transactions: "
                f"{', '.join(sorted(consumers))}",
            )


def left_flows(view: View) -> Iterator[Violation]:
    """Flows that are still suspended or in the hospital."""
    kinds = {"suspended": ViolationKind.FLOW_SUSPENDED, "hospital": ViolationKind.FLOW_IN_HOSPITAL}
    where = {"suspended": "is suspended on", "hospital": "is in the hospital of"}
    for node in view.ledgers.nodes.values():
        for flow in node.flows:
            if kind := kinds.get(flow.status):
                called = f" ({flow.name})" if flow.name else ""
                started = f", started with client id {flow.client_id}" if flow.client_id else ""
                yield Violation(
                    kind=kind,
                    node=node.name,
                    ids=(flow.id, *((flow.client_id,) if flow.client_id else ())),
                    text=f"flow {flow.id}{called} {where[flow.status]} {node.name}{started}",
                )
