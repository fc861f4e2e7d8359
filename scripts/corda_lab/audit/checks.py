"""Judges ledgers: pure, from tables to violations, so that each kind can be tested without a node.

``docs/audit.md`` defines the kinds.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from corda_lab.audit.model import (
    Asset,
    Ledgers,
    NotaryLog,
    Output,
    Recorded,
    Request,
    Scope,
    StateRef,
    View,
)
from corda_lab.results.audits import Audit, Violation, unknown_outcomes, verdict_of
from corda_lab.results.audits import ViolationKind as Kind
from corda_lab.text.words import plural

VIOLATIONS_MAX = 10_000
"""Violations in one audit. More say nothing new."""
FLOWS_MIN = 5
"""With fewer acknowledged flows of a kind, none of them stands out."""
EXCEPTIONS_SHARE_MAX = 0.1
"""The share of flows of a kind, or one of them, that may have made another number than the others. If there are more,
flows of this kind differ by nature, and no number says anything."""


def judge(ledgers: Ledgers, requests: Collection[Request] | None, scope: Scope, unread: Iterable[str] = ()) -> Audit:
    """Judge the ledgers of a network at rest. Without a run, ``requests`` is None and nothing is asked about rows.

    ``unread`` says what could not be read.
    """
    view = View(ledgers, requests or (), scope)
    distinct = dict.fromkeys(_violations(view, of_run=requests is not None))
    violations = sorted(distinct, key=lambda one: (one.kind.value, one.node or "", one.ids))
    reasons = [*_reasons(view), *unread]
    if len(violations) > VIOLATIONS_MAX:
        reasons.append(f"of {plural(len(violations), 'violation')}, the first {VIOLATIONS_MAX:,} are listed")
    return Audit(
        verdict=verdict_of(violations, reasons),
        counts={**_counts(view), "violations": len(violations)},
        violations=tuple(violations[:VIOLATIONS_MAX]),
        reasons=tuple(reasons),
    )


def _violations(view: View, *, of_run: bool) -> Iterator[Violation]:
    yield from missing_at_participants(view)
    yield from at_other_parties(view)
    yield from vaults_without_transaction(view)
    yield from changed_bytes(view)
    yield from consumed_twice(view)
    yield from made_from_nothing(view)
    yield from vaults_against_ledger(view)
    yield from vaults_differ(view)
    yield from left_flows(view)
    if view.ledgers.log is not None:
        yield from entries_without_transaction(view, view.ledgers.log)
        yield from against_log(view, view.ledgers.log)
        yield from conflicts(view, view.ledgers.log)
    if of_run:
        yield from rows_without_transaction(view)
        yield from doubled_rows(view)
        yield from doubled_flows(view)
        yield from repeated_flows(view)


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
    if has_unknown_ids(view):
        yield "no transaction has the id of its bytes: this version of Corda makes ids in a way that is not known here"
    if unread := sum(any(view.output(state) is None for state in one.inputs) for one in view.read):
        yield f"{plural(unread, 'transaction')} consume states whose own transaction could not be read"
    if view.ledgers.log is None:
        yield "the notary's log was not read"
    elif view.ledgers.log.consumers is None and any(one.inputs for one in view.read):
        yield "this kind of notary stores the states that it has seen consumed in a form that is not read"
    if unknown := sum(one.status == "unknown" for one in view.requests):
        yield unknown_outcomes(unknown)
    yield from _reasons_of_flows(view)


def _violation(kind: Kind, node: str | None, ids: Iterable[str], text: str) -> Violation:
    return Violation(kind=kind, node=node, ids=tuple(ids), text=text)


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


# Whether every transaction is where it belongs, exactly once.


def missing_at_participants(view: View) -> Iterator[Violation]:
    """Transactions and states that a node should have and does not."""
    for transaction in view.read:
        has = view.places[transaction.id]
        for node in sorted(view.concerned[transaction.id] - has):
            text = f"{node} takes part in transaction {transaction.id} and does not have it; "
            text += f"{_names(has)} {'has' if len(has) == 1 else 'have'} it"
            yield _violation(Kind.MISSING_AT_PARTICIPANT, node, [transaction.id], text)
        for state in transaction.states:
            for node in sorted(view.holders(state) & has):
                if state not in view.ledgers.nodes[node].vault:
                    text = f"state {state} belongs to {node}, whose vault does not have it"
                    yield _violation(Kind.MISSING_AT_PARTICIPANT, node, [transaction.id, str(state)], text)


def at_other_parties(view: View) -> Iterator[Violation]:
    """Transactions that a node has and that are none of its business.

    A node may also have what its own transactions descend from: to verify them, it fetches their backchains. A
    validating notary does the same for what it notarises, of which it stores only the backchain.
    """
    for node in view.ledgers.nodes.values():
        if any(view.scope.contains(one.at) and each not in view.known for each, one in node.transactions.items()):
            # What could not be read may descend from anything.
            continue
        own = [each for each, nodes in view.concerned.items() if node.name in nodes | view.known[each].signers]
        allowed = _with_backchains(view, own)
        if node.is_notary and view.ledgers.notary_verifies:
            allowed |= _with_backchains(view, [each for one in view.known.values() for each in one.parents])
        for identity, recorded in node.transactions.items():
            if identity in view.known and identity not in allowed and view.scope.contains(recorded.at):
                text = f"{node.name} has transaction {identity}, in which it takes no part, "
                text += "and none of its own descends from it"
                yield _violation(Kind.AT_ANOTHER_PARTY, node.name, [identity], text)


def _with_backchains(view: View, left: list[str]) -> set[str]:
    """These transactions and all that they descend from, as far as their bytes were read. Empties the list."""
    visited: set[str] = set()
    while left:
        identity = left.pop()
        if identity not in visited:
            visited.add(identity)
            if transaction := view.known.get(identity):
                left += transaction.parents
    return visited


def vaults_without_transaction(view: View) -> Iterator[Violation]:
    missing: dict[tuple[str, str], list[StateRef]] = {}
    for node, state, _ in view.vault_rows():
        if state.transaction not in view.ledgers.nodes[node].transactions:
            missing.setdefault((node, state.transaction), []).append(state)
    for (node, identity), refs in sorted(missing.items()):
        states = [str(state) for state in sorted(refs)]
        text = f"the vault of {node} has {', '.join(states)}, but {node} does not have the transaction"
        yield _violation(Kind.VAULT_WITHOUT_TRANSACTION, node, [identity, *states], text)


def left_flows(view: View) -> Iterator[Violation]:
    kinds = {
        "suspended": (Kind.FLOW_SUSPENDED, "is suspended on"),
        "hospital": (Kind.FLOW_IN_HOSPITAL, "is in the hospital of"),
    }
    for node in view.ledgers.nodes.values():
        for flow in node.flows:
            if flow.status in kinds:
                kind, where = kinds[flow.status]
                text = f"flow {flow.id}{f' ({flow.name})' if flow.name else ''} {where} {node.name}"
                text += f", started with client id {flow.client_id}" if flow.client_id else ""
                yield _violation(kind, node.name, filter(None, (flow.id, flow.client_id)), text)


# Whether states were consumed once, value was conserved, and the vaults agree with the ledger and with each other.


def changed_bytes(view: View) -> Iterator[Violation]:
    """Transactions whose bytes have another id than that under which they are stored."""
    if not has_unknown_ids(view):
        for one in view.read:
            if one.has_own_id is False:
                text = f"the bytes of transaction {one.id} are those of a transaction with another id"
                yield _violation(Kind.ID_DIFFERS, None, [one.id], text)


def has_unknown_ids(view: View) -> bool:
    """Whether no transaction has the id of its bytes: not all were changed, but their ids are made in another way."""
    return bool(view.read) and all(one.has_own_id is False for one in view.read)


def consumed_twice(view: View) -> Iterator[Violation]:
    for state, consumers in sorted(view.consumers.items()):
        if len(consumers) > 1 and view.judged & set(consumers):
            text = f"state {state} is consumed by {len(consumers)} transactions: {', '.join(consumers)}"
            yield _violation(Kind.CONSUMED_TWICE, None, [str(state), *consumers], text)


def made_from_nothing(view: View) -> Iterator[Violation]:
    """Transactions whose outputs are worth more or less than their inputs, and issues that the issuer did not sign.

    R3's cash may also leave the ledger, which its issuer signs.
    """
    for transaction in view.read:
        consumed = [view.output(state) for state in transaction.inputs]
        if None in consumed:
            continue
        before, after = _sums(filter(None, consumed)), _sums(transaction.outputs)
        for asset in sorted(before.keys() | after.keys()):
            change = after[asset] - before[asset]
            if change == 0 or ((asset not in before or change < 0) and asset.issuer in transaction.signing_parties):
                continue
            text = f"transaction {transaction.id} turns {before[asset]} into {after[asset]} {asset}"
            ids = [transaction.id, *map(str, transaction.inputs)]
            yield _violation(Kind.VALUE_NOT_CONSERVED, None, ids, text)


def _sums(outputs: Iterable[Output]) -> Counter[Asset]:
    sums: Counter[Asset] = Counter()
    for output in outputs:
        if output.asset:
            sums[output.asset] += output.quantity
    return sums


def vaults_against_ledger(view: View) -> Iterator[Violation]:
    """States whose consumed flag in a vault contradicts the ledger, and states of others that a vault has as its own.

    Of states with a value, one violation per node, issuer and product says what the vault has too much or too little.
    """
    wrong: dict[tuple[str, Asset], list[tuple[StateRef, int]]] = {}
    for state in sorted({state for one in view.read for state in (*one.inputs, *one.states)}):
        consumer = next(iter(view.consumers.get(state, ())), None)
        output = view.output(state)
        for name in sorted(view.holders(state)):
            node = view.ledgers.nodes[name]
            row = node.vault.get(state)
            if row is None or state.transaction not in node.transactions:
                continue
            should = consumer in node.transactions
            if row.is_consumed == should:
                continue
            if row.is_consumed and not view.scope.contains(row.consumed_at):
                # Consumed by a later transaction, which is not in scope and was not read.
                continue
            if output is not None and output.asset is not None:
                change = output.quantity if should else -output.quantity
                wrong.setdefault((name, output.asset), []).append((state, change))
            else:
                text = f"the vault of {name} has state {state} as {'' if row.is_consumed else 'un'}consumed, but "
                text += f"transaction {consumer} consumes it" if consumer else "no transaction consumes it"
                yield _violation(Kind.VAULTS_DIFFER, name, filter(None, (str(state), consumer)), text)
    for name, state, row in view.vault_rows():
        output = view.output(state)
        if output is None or output.owner is None or output.asset is None or name in view.holders(state):
            continue
        if row.is_relevant and not row.is_consumed:
            wrong.setdefault((name, output.asset), []).append((state, output.quantity))
    for (name, asset), states in sorted(wrong.items()):
        total = sum(change for _, change in states)
        refs = [str(state) for state, _ in states]
        text = f"the vault of {name} has {abs(total)} {'more' if total >= 0 else 'less'} of {asset} than the ledger "
        yield _violation(Kind.VALUE_NOT_CONSERVED, name, refs, f"{text}gives it: {', '.join(refs)}")


def vaults_differ(view: View) -> Iterator[Violation]:
    """States that several nodes hold and have differently: another class, or consumed at one and not at the other."""
    for state in dict.fromkeys(state for _, state, _ in view.vault_rows()):
        rows = {
            name: f"{row.state_class} {'consumed' if row.is_consumed else 'unconsumed'}"
            for name in sorted(view.holders(state))
            if (row := view.ledgers.nodes[name].vault.get(state)) is not None
        }
        if len(set(rows.values())) > 1:
            versions = "; ".join(f"{name}: {row}" for name, row in rows.items())
            yield _violation(Kind.VAULTS_DIFFER, None, [str(state)], f"the vaults differ on state {state}: {versions}")


# Whether the notary's log and the ledgers of the parties agree.


def entries_without_transaction(view: View, log: NotaryLog) -> Iterator[Violation]:
    """Transactions that the notary has committed and that no node has."""
    consumed: dict[str, list[str]] = {identity: [] for identity in log.transactions or ()}
    for state, consumer in (log.consumers or {}).items():
        consumed.setdefault(consumer, []).append(str(state))
    for identity in sorted(consumed.keys() - view.places.keys()):
        if view.scope.contains(log.committed_at.get(identity)):
            states = sorted(consumed[identity])
            what = f" and has {', '.join(states)} as consumed by it" if states else ""
            text = f"the notary has committed transaction {identity}{what}, but no node has that transaction"
            yield _violation(Kind.NOTARY_WITHOUT_TRANSACTION, None, [identity, *states], text)


def against_log(view: View, log: NotaryLog) -> Iterator[Violation]:
    """Transactions that consume states or have a time window, and that the notary has not committed as they are."""
    consumers = log.consumers
    if consumers is None:
        return
    for one in view.read:
        if not one.is_notarised:
            continue
        missing = [str(state) for state in one.inputs if state not in consumers]
        is_missing = log.transactions is not None and not one.inputs and one.id not in log.transactions
        if missing or is_missing:
            text = f"transaction {one.id} is on the ledger, but the notary has not committed it"
            yield _violation(Kind.NOT_NOTARISED, None, [one.id, *missing], text)
        for state in one.inputs:
            consumer = consumers.get(state, one.id)
            if consumer != one.id:
                text = f"state {state} is consumed by transaction {one.id} on the ledger, "
                text += f"and by {consumer} in the notary's log"
                yield _violation(Kind.CONSUMED_TWICE, None, [str(state), one.id, consumer], text)


def conflicts(view: View, log: NotaryLog) -> Iterator[Violation]:
    """States that members of a notary cluster have as consumed by different transactions."""
    for state, consumers in sorted(log.conflicts.items()):
        if view.judged & consumers or not view.places.keys() & consumers:
            text = f"members of the notary cluster have state {state} as consumed by different transactions: "
            ids = [str(state), *sorted(consumers)]
            yield _violation(Kind.CONSUMED_TWICE, None, ids, text + _names(consumers))


# Whether every row of the run has its transaction, and every transaction its row.


def rows_without_transaction(view: View) -> Iterator[Violation]:
    """Acknowledged requests whose transaction no node has, or not the node that was asked, or is older than the run."""
    since = view.scope.span.since if view.scope.span else None
    for request in view.requests:
        identity, node = request.transaction, request.node
        if request.status != "acknowledged" or identity is None:
            continue
        recorded = view.recorded(identity)
        at = recorded.get(node, Recorded()).at
        kind, what = Kind.ROW_WITHOUT_TRANSACTION, f"request {request.client_id} was told of transaction {identity}"
        if not recorded:
            yield _violation(kind, node, [identity, request.client_id], f"{what}, which no node has")
        elif since is not None and at is not None and at < since:
            yield _violation(kind, node, [identity, request.client_id], f"{what}, which is older than the load")
        elif identity not in view.known and node not in recorded and node in view.ledgers.nodes:
            # What was read is judged by its bytes.
            text = f"{node} told request {request.client_id} of transaction {identity} and does not have it"
            yield _violation(Kind.MISSING_AT_PARTICIPANT, node, [identity, request.client_id], text)


def doubled_rows(view: View) -> Iterator[Violation]:
    """Transactions that several requests were told of, and client ids that several requests have."""
    clients_of: dict[str, set[str]] = {}
    for request in view.requests:
        if request.transaction and request.status == "acknowledged":
            clients_of.setdefault(request.transaction, set()).add(request.client_id)
    for identity, clients in sorted(clients_of.items()):
        if len(clients) > 1:
            text = f"{len(clients)} requests were told of the same transaction {identity}"
            yield _violation(Kind.DOUBLED, None, [identity, *sorted(clients)], text)
    for client, count in sorted(Counter(request.client_id for request in view.requests).items()):
        if count > 1:
            yield _violation(Kind.DOUBLED, None, [client], f"{count} requests have the client id {client}")


def unexplained(view: View) -> dict[str, frozenset[str]]:
    """Transactions of the time of the loads that no request accounts for, by the flow that made them.

    A request accounts for the transaction that it was told of, and for all that its flow recorded. Who receives a
    transaction records it in a flow of its own, so one node's flow is enough. A flow that no store names stands for
    itself under the id of its transaction.
    """
    known = {request.transaction for request in view.requests if request.transaction}
    flows = {request.flow_id for request in view.requests if request.flow_id}
    flows |= {one.flow_id for identity in known for one in view.recorded(identity).values() if one.flow_id}
    made: dict[str, set[str]] = {}
    for identity in view.judged - known:
        recorded = view.recorded(identity).values()
        if any(one.flow_id in flows for one in recorded):
            continue
        if not all(view.scope.contains(one.at) for one in recorded):
            # Older, and only fetched now as the backchain of another.
            continue
        first = min(recorded, key=lambda one: (one.at is None, one.at or 0.0))
        made.setdefault(first.flow_id or identity, set()).add(identity)
    return {flow: frozenset(identities) for flow, identities in sorted(made.items())}


def doubled_flows(view: View) -> Iterator[Violation]:
    """Flows that made transactions in a window of the run without a request of the run that accounts for them."""
    nameless = sum(one.status in ("unknown", "failed") and one.flow_id is None for one in view.requests)
    # A request whose flow nobody knows may have started any of them; what exceeds their number is nobody's.
    for flow, identities in list(unexplained(view).items())[nameless:]:
        ids = sorted(identities)
        what = f"transaction {ids[0]}" if len(ids) == 1 else f"{len(ids)} transactions {', '.join(ids)}"
        text = f"{what} made during the run by flow {flow}, which no request of the run started: "
        text += "one was executed again under another client id, or another client used the lab"
        yield _violation(Kind.DOUBLED, None, dict.fromkeys([*ids, flow]), text)


# Whether a flow did something again. One that goes on from a checkpoint after a kill of its node keeps its id and its
# client id. If it makes a transaction again, that has another id, and a request accounts for both. Only the number of
# them tells: it recorded more than the other flows of its kind.

FlowKey = tuple[str, str]
"""A node, and the id of a flow on it."""


@dataclass(frozen=True)
class FlowKind:
    """The flows of one kind of request in one load, with the transactions that each of them made."""

    name: str
    made: Mapping[FlowKey, frozenset[str]]
    numbers: Counter[int]
    """The acknowledged flows, by the number of transactions that they made."""

    @property
    def usual(self) -> int | None:
        """The number of transactions that a flow of this kind makes; None if there are too few flows, or it varies."""
        flows = self.numbers.total()
        number, alike = max(self.numbers.items(), key=lambda one: (one[1], -one[0]), default=(0, 0))
        is_usual = flows - alike <= max(1, EXCEPTIONS_SHARE_MAX * flows)
        return number if flows >= FLOWS_MIN and is_usual else None

    @property
    def varies(self) -> bool:
        """Whether there are enough flows, and they differ by nature."""
        return self.numbers.total() >= FLOWS_MIN and self.usual is None


def kinds_of(view: View) -> dict[tuple[int, str], FlowKind]:
    """The kinds of flows, by load and part of the workload."""
    flows_of: dict[tuple[int, str], dict[FlowKey, bool]] = {}
    for request in view.requests:
        flow_id = request.flow_id
        if not flow_id and request.transaction is not None:
            # Without an answer, it is the one that recorded its transaction.
            flow_id = view.recorded(request.transaction).get(request.node, Recorded()).flow_id
        if flow_id:
            flows, flow = flows_of.setdefault((request.load, request.part), {}), (request.node, flow_id)
            flows[flow] = flows.get(flow, False) or request.status == "acknowledged"
    kinds = {}
    for (load, part), flows in flows_of.items():
        made = {flow: view.made_by_flows.get(flow, frozenset()) for flow in flows}
        numbers = Counter(len(made[flow]) for flow, is_acknowledged in flows.items() if is_acknowledged)
        kinds[load, part] = FlowKind(part, made, numbers)
    return kinds


def repeated_flows(view: View) -> Iterator[Violation]:
    kinds = kinds_of(view).values()
    for kind in kinds:
        if usual := kind.usual:
            for (node, flow), made in sorted(kind.made.items()):
                if len(made) > usual:
                    yield _repeated(node, flow, made, usual, f"the others of {kind.name}" if kind.name else "others")
    # A flow of which nobody knows the request, such as one without an answer.
    if usual := max((kind.usual or 0 for kind in kinds), default=0):
        for flow, made in unexplained(view).items():
            if len(made) > usual and not any(kind.varies for kind in kinds):
                yield _repeated(None, flow, made, usual, "others")


def _repeated(node: str | None, flow: str, made: frozenset[str], usual: int, others: str) -> Violation:
    text = f"flow {flow} made {plural(len(made), 'transaction')} ({_names(made)}), and {others} made {usual} each: "
    text += "it went on from an older checkpoint, and did again what it had done"
    return _violation(Kind.FLOW_REPEATED, node, [*sorted(made), flow], text)


def _reasons_of_flows(view: View) -> Iterator[str]:
    """What the numbers of transactions do not tell, and which acknowledged flows cannot be found on the ledger."""
    kinds = kinds_of(view)
    for kind in kinds.values():
        if kind.varies:
            numbers = ", ".join(f"{flows:,} made {number}" for number, flows in sorted(kind.numbers.items()))
            yield (
                f"the acknowledged flows{f' of {kind.name}' if kind.name else ''} made different numbers of "
                f"transactions ({numbers}), so one that did something again does not stand out"
            )
    # Without the id of a transaction, the id of the flow finds those that it has recorded, if they are all there.
    nameless = 0
    for request in view.requests:
        if request.status == "acknowledged" and request.transaction is None and request.names_states:
            kind_of_it = kinds.get((request.load, request.part))
            usual = (kind_of_it.usual if kind_of_it else None) or 1
            nameless += len(view.made_by_flows.get((request.node, request.flow_id or ""), ())) < usual
    if nameless:
        yield (
            f"{plural(nameless, 'acknowledged flow')} told no id of a transaction, and the ledger has too few under "
            "the id of the flow, so nobody can look for what was acknowledged"
        )
