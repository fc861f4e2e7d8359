"""Whether every transaction is where it belongs, exactly once, and every row of the run has its transaction.

Also whether the notary's log and the ledgers of the parties agree, and no flow was left behind.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from corda_lab.audit.tables import NotaryLog, StateRef, Transaction, View
from corda_lab.results.audits import Violation, ViolationKind


def missing_at_participants(view: View) -> Iterator[Violation]:
    """Transactions and states that a node should have and does not."""
    for transaction in view.read:
        has = view.places[transaction.id]
        for node in sorted(view.concerned(transaction) - has):
            yield Violation(
                kind=ViolationKind.MISSING_AT_PARTICIPANT,
                node=node,
                ids=(transaction.id,),
                text=f"{node} takes part in transaction {transaction.id} and does not have it; "
                f"{_names(has)} {'has' if len(has) == 1 else 'have'} it",
            )
        for state in view.outputs(transaction):
            for node in sorted(view.holders(state) & has):
                if state not in view.ledgers.nodes[node].vault:
                    yield Violation(
                        kind=ViolationKind.MISSING_AT_PARTICIPANT,
                        node=node,
                        ids=(transaction.id, str(state)),
                        text=f"state {state} belongs to {node}, whose vault does not have it",
                    )


def at_other_parties(view: View) -> Iterator[Violation]:
    """Transactions that a node has and that are none of its business.

    A node may also have what its own transactions descend from: to verify them, it fetches their backchains. A
    validating notary does the same for what it notarises, of which it stores only the backchain.
    """
    for node in view.ledgers.nodes.values():
        if any(view.scope.contains(one.at) and each not in view.known for each, one in node.transactions.items()):
            # What could not be read may descend from anything.
            continue
        allowed = _with_backchains(view, [one.id for one in view.known.values() if node.name in view.concerned(one)])
        if node.is_notary and view.ledgers.notary_verifies:
            allowed |= _with_backchains(view, [each for one in view.known.values() for each in _parents(one)])
        for identity, recorded in node.transactions.items():
            if identity in view.known and identity not in allowed and view.scope.contains(recorded.at):
                yield Violation(
                    kind=ViolationKind.AT_ANOTHER_PARTY,
                    node=node.name,
                    ids=(identity,),
                    text=f"{node.name} has transaction {identity}, in which it takes no part, "
                    "and none of its own descends from it",
                )


def _with_backchains(view: View, own: list[str]) -> set[str]:
    """These transactions and all that they descend from, as far as their bytes were read."""
    found: set[str] = set()
    left = list(own)
    while left:
        identity = left.pop()
        if identity not in found:
            found.add(identity)
            if transaction := view.known.get(identity):
                left += _parents(transaction)
    return found


def _parents(transaction: Transaction) -> list[str]:
    return [state.transaction for state in (*transaction.inputs, *transaction.references)]


def rows_without_transaction(view: View) -> Iterator[Violation]:
    """Acknowledged requests whose transaction no node has, or not the node that was asked, or is older than the run."""
    since = min((window.since for window in view.loads.windows), default=None)
    for request in view.requests:
        identity = request.transaction
        if request.status != "acknowledged" or identity is None:
            continue
        has = view.places.get(identity, frozenset())
        if not has:
            yield Violation(
                kind=ViolationKind.ROW_WITHOUT_TRANSACTION,
                node=request.node,
                ids=(identity, request.client_id),
                text=f"request {request.client_id} was told of transaction {identity}, which no node has",
            )
        elif since is not None and (at := view.recorded_at(identity, request.node)) is not None and at < since:
            yield Violation(
                kind=ViolationKind.ROW_WITHOUT_TRANSACTION,
                node=request.node,
                ids=(identity, request.client_id),
                text=f"request {request.client_id} was told of transaction {identity}, which is older than the load",
            )
        elif identity not in view.known and request.node not in has and request.node in view.ledgers.nodes:
            # What was read is judged by its bytes.
            yield Violation(
                kind=ViolationKind.MISSING_AT_PARTICIPANT,
                node=request.node,
                ids=(identity, request.client_id),
                text=f"{request.node} told request {request.client_id} of transaction {identity} and does not have it",
            )


def doubled_rows(view: View) -> Iterator[Violation]:
    """Transactions that several requests were told of, and client ids that several requests have."""
    by_transaction: dict[str, set[str]] = {}
    for request in view.requests:
        if request.transaction and request.status == "acknowledged":
            by_transaction.setdefault(request.transaction, set()).add(request.client_id)
    for identity, clients in sorted(by_transaction.items()):
        if len(clients) > 1:
            yield Violation(
                kind=ViolationKind.DOUBLED,
                ids=(identity, *sorted(clients)),
                text=f"{len(clients)} requests were told of the same transaction {identity}",
            )
    for client, count in sorted(Counter(request.client_id for request in view.requests).items()):
        if count > 1:
            yield Violation(
                kind=ViolationKind.DOUBLED, ids=(client,), text=f"{count} requests have the client id {client}"
            )


def unexplained(view: View) -> dict[str, frozenset[str]]:
    """Transactions of the time of the loads that no request accounts for, by the flow that made them.

    A request accounts for the transaction that it was told of, and for all that its flow recorded. Who receives a
    transaction records it in a flow of its own, so one node's flow is enough. A flow that no store names stands for
    itself under the id of its transaction.
    """
    told = {request.transaction for request in view.requests if request.transaction}
    flows = {request.flow_id for request in view.requests if request.flow_id}
    for node in view.ledgers.nodes.values():
        flows |= {
            recorded.flow_id
            for identity, recorded in node.transactions.items()
            if identity in told and recorded.flow_id
        }
    found: dict[str, set[str]] = {}
    for identity in view.recorded_within(view.loads) - told:
        recorded = {name: view.ledgers.nodes[name].transactions[identity] for name in view.places[identity]}
        if any(one.flow_id in flows for one in recorded.values()):
            continue
        if not all(view.loads.contains(one.at) for one in recorded.values()):
            # Older, and only fetched now as the backchain of another.
            continue
        first = min(recorded.values(), key=lambda one: (one.at is None, one.at or 0.0))
        found.setdefault(first.flow_id or identity, set()).add(identity)
    return {flow: frozenset(identities) for flow, identities in found.items()}


def doubled_flows(view: View) -> Iterator[Violation]:
    """Flows that made transactions in a window of the run without a request of the run that accounts for them."""
    nameless = [one for one in view.requests if one.status in ("unknown", "failed") and one.flow_id is None]
    left = sorted(unexplained(view).items())
    # A request whose flow nobody knows may have started any of them; what exceeds their number is nobody's.
    for flow, identities in left[len(nameless) :]:
        yield Violation(
            kind=ViolationKind.DOUBLED,
            ids=(*sorted(identities), *((flow,) if flow not in identities else ())),
            text=f"{_plural_transactions(len(identities))} {_names(identities)} made during the run by flow {flow}, "
            "which no request of the run started: one was executed again under another client id, or another "
            "client used the lab",
        )


def vaults_without_transaction(view: View) -> Iterator[Violation]:
    missing: dict[tuple[str, str], list[StateRef]] = {}
    for node, state, _ in view.vault_rows():
        if state.transaction not in view.ledgers.nodes[node].transactions:
            missing.setdefault((node, state.transaction), []).append(state)
    for (node, identity), found in sorted(missing.items()):
        states = [str(state) for state in sorted(found)]
        yield Violation(
            kind=ViolationKind.VAULT_WITHOUT_TRANSACTION,
            node=node,
            ids=(identity, *states),
            text=f"the vault of {node} has {', '.join(states)}, but {node} does not have the transaction",
        )


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


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _plural_transactions(count: int) -> str:
    return "transaction" if count == 1 else f"{count} transactions"
