"""Whether states were consumed once, value was conserved, and the vaults agree with the ledger and with each other.

Also whether the bytes that say all this are those of their transactions.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from corda_lab.audit.tables import Asset, Output, StateRef, Transaction, View
from corda_lab.results.audits import Violation, ViolationKind


def consumed_twice(view: View) -> Iterator[Violation]:
    for state, consumers in sorted(view.consumers.items()):
        if len(consumers) > 1 and view.judged & set(consumers):
            yield Violation(
                kind=ViolationKind.CONSUMED_TWICE,
                ids=(str(state), *consumers),
                text=f"state {state} is consumed by {len(consumers)} transactions: {', '.join(consumers)}",
            )


def _sums(outputs: Iterable[Output]) -> Counter[Asset]:
    found: Counter[Asset] = Counter()
    for output in outputs:
        if output.asset:
            found[output.asset] += output.quantity
    return found


def made_from_nothing(view: View) -> Iterator[Violation]:
    """Transactions whose outputs are worth more or less than their inputs, and issues that the issuer did not sign.

    R3's cash may also leave the ledger, which its issuer signs.
    """
    for transaction in view.read:
        consumed = [view.output(state) for state in transaction.inputs]
        if None in consumed:
            continue
        before = _sums(output for output in consumed if output is not None)
        after = _sums(transaction.outputs)
        for asset in sorted(before.keys() | after.keys()):
            change = after[asset] - before[asset]
            if change == 0 or ((asset not in before or change < 0) and asset.issuer in transaction.signing_parties):
                continue
            yield Violation(
                kind=ViolationKind.VALUE_NOT_CONSERVED,
                ids=(transaction.id, *map(str, transaction.inputs)),
                text=f"transaction {transaction.id} turns {before[asset]} into {after[asset]} {asset}",
            )


def changed_bytes(view: View) -> Iterator[Violation]:
    """Transactions whose bytes have another id than that under which they are stored."""
    if has_unknown_ids(view):
        return
    for transaction in view.read:
        if transaction.has_own_id is False:
            yield Violation(
                kind=ViolationKind.ID_DIFFERS,
                ids=(transaction.id,),
                text=f"the bytes of transaction {transaction.id} are those of a transaction with another id",
            )


def has_unknown_ids(view: View) -> bool:
    """Whether no transaction has the id of its bytes: not all were changed, but their ids are made in another way."""
    return bool(view.read) and all(one.has_own_id is False for one in view.read)


def unread_inputs(view: View) -> int:
    return sum(any(view.output(state) is None for state in one.inputs) for one in view.read)


def _touched(view: View) -> Iterator[tuple[StateRef, Transaction | None]]:
    """Every state that a transaction in scope makes or consumes, each once, with its consumer if there is one."""
    states = {state for one in view.read for state in (*one.inputs, *view.outputs(one))}
    for state in sorted(states):
        consumers = view.consumers.get(state, ())
        yield state, view.known[consumers[0]] if consumers else None


def vaults_against_ledger(view: View) -> Iterator[Violation]:
    """States that a vault has as unconsumed although the ledger consumes them or gives them to others, or the reverse.

    Of states with a value, one violation per node, issuer and product says what the vault has too much or too little.
    """
    wrong: dict[tuple[str, Asset], list[tuple[StateRef, int]]] = {}
    for state, consumer in _touched(view):
        output = view.output(state)
        for name in sorted(view.holders(state)):
            node = view.ledgers.nodes[name]
            row = node.vault.get(state)
            if row is None or state.transaction not in node.transactions:
                continue
            should = consumer is not None and consumer.id in node.transactions
            if row.is_consumed == should:
                continue
            if row.is_consumed and not view.scope.contains(row.consumed_at):
                # Consumed by a later transaction, which is not in scope and was not read.
                continue
            if output is not None and output.asset is not None:
                change = output.quantity if should else -output.quantity
                wrong.setdefault((name, output.asset), []).append((state, change))
            else:
                yield _status_differs(name, state, consumer, row.is_consumed)
    for name, state, output in _of_others(view):
        if output.asset is not None:
            wrong.setdefault((name, output.asset), []).append((state, output.quantity))
    for (name, asset), states in sorted(wrong.items()):
        total = sum(change for _, change in states)
        yield Violation(
            kind=ViolationKind.VALUE_NOT_CONSERVED,
            node=name,
            ids=tuple(str(state) for state, _ in states),
            text=f"the vault of {name} has {abs(total)} {'more' if total >= 0 else 'less'} of {asset} than the ledger "
            f"gives it: {', '.join(str(state) for state, _ in states)}",
        )


def _of_others(view: View) -> Iterator[tuple[str, StateRef, Output]]:
    """Unconsumed states in the vault of a node whose value, by its bytes, another node of the network has."""
    for name, state, row in view.vault_rows():
        output = view.output(state)
        if output is None or output.owner is None or name in view.holders(state):
            continue
        if row.is_relevant and not row.is_consumed:
            yield name, state, output


def _status_differs(node: str, state: StateRef, consumer: Transaction | None, is_consumed: bool) -> Violation:
    seen = "consumed" if is_consumed else "unconsumed"
    truth = f"transaction {consumer.id} consumes it" if consumer else "no transaction consumes it"
    return Violation(
        kind=ViolationKind.VAULTS_DIFFER,
        node=node,
        ids=(str(state), *((consumer.id,) if consumer else ())),
        text=f"the vault of {node} has state {state} as {seen}, but {truth}",
    )


def vaults_differ(view: View) -> Iterator[Violation]:
    """States that several nodes hold and have differently: another class, or consumed at one and not at the other."""
    seen: set[StateRef] = set()
    for _, state, _ in view.vault_rows():
        if state in seen:
            continue
        seen.add(state)
        rows = {
            name: (row.state_class, "consumed" if row.is_consumed else "unconsumed")
            for name in view.holders(state)
            if (row := view.ledgers.nodes[name].vault.get(state)) is not None
        }
        if len(set(rows.values())) > 1:
            told = "; ".join(f"{name}: {' '.join(row)}" for name, row in sorted(rows.items()))
            yield Violation(
                kind=ViolationKind.VAULTS_DIFFER,
                ids=(str(state),),
                text=f"the vaults differ on state {state}: {told}",
            )
