"""What several checks need of the ledgers, worked out once."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from corda_lab.audit.tables import Ledgers, Output, Request, Scope, StateRef, Transaction, VaultState


class View:
    """The ledgers, the requests and the scope of an audit, with what follows from them.

    ``loads`` is when the flows of the requests recorded transactions; what is in scope may be more.
    """

    def __init__(
        self, ledgers: Ledgers, requests: tuple[Request, ...], scope: Scope, loads: Scope | None = None
    ) -> None:
        self.ledgers = ledgers
        self.requests = requests
        self.scope = scope
        self.loads = loads or scope
        self._concerned: dict[str, frozenset[str]] = {}

    @property
    def known(self) -> Mapping[str, Transaction]:
        """The transactions whose bytes were read, by id."""
        return self.ledgers.transactions

    @cached_property
    def places(self) -> dict[str, frozenset[str]]:
        """The nodes whose store has a transaction, by id; of every transaction."""
        found: dict[str, set[str]] = {}
        for node in self.ledgers.nodes.values():
            for identity in node.transactions:
                found.setdefault(identity, set()).add(node.name)
        return {identity: frozenset(nodes) for identity, nodes in found.items()}

    def recorded_at(self, identity: str, node: str) -> float | None:
        """When a node recorded a transaction, in unix seconds; None if it does not have it or does not say."""
        found = self.ledgers.nodes.get(node)
        recorded = found.transactions.get(identity) if found else None
        return recorded.at if recorded else None

    @cached_property
    def judged(self) -> frozenset[str]:
        """The transactions in scope: those that some node recorded in a window."""
        return self.recorded_within(self.scope)

    def recorded_within(self, scope: Scope) -> frozenset[str]:
        """The transactions that some node recorded in a window."""
        return frozenset(
            identity
            for node in self.ledgers.nodes.values()
            for identity, recorded in node.transactions.items()
            if scope.contains(recorded.at)
        )

    @cached_property
    def read(self) -> tuple[Transaction, ...]:
        """The transactions in scope whose bytes were read, in the order of their ids."""
        return tuple(self.known[identity] for identity in sorted(self.judged) if identity in self.known)

    @cached_property
    def unowned(self) -> tuple[StateRef, ...]:
        """The states made in scope that belong to no node of the network, as far as their bytes tell."""
        return tuple(
            state
            for transaction in self.read
            for state, output in zip(self.outputs(transaction), transaction.outputs, strict=True)
            if not output.holders
        )

    @cached_property
    def consumers(self) -> dict[StateRef, tuple[str, ...]]:
        """The transactions that consume a state, as their bytes say. One that no node has is not among them."""
        found: dict[StateRef, set[str]] = {}
        for transaction in self.known.values():
            if transaction.id in self.places:
                for state in transaction.inputs:
                    found.setdefault(state, set()).add(transaction.id)
        return {state: tuple(sorted(identities)) for state, identities in found.items()}

    @cached_property
    def participants(self) -> dict[StateRef, frozenset[str]]:
        """The nodes that a state belongs to, as the vaults of all nodes have it."""
        found: dict[StateRef, frozenset[str]] = {}
        for node in self.ledgers.nodes.values():
            for state, row in node.vault.items():
                found[state] = found.get(state, frozenset()) | row.participants
        return found

    @cached_property
    def made_by_flows(self) -> dict[tuple[str, str], frozenset[str]]:
        """The transactions that a flow made, by its node and its id: those that no node has recorded earlier.

        The others of a flow are backchains that it fetched. Whoever makes a transaction records it before it hands it
        on. If only other nodes say when they recorded a transaction, a node is not the first.
        """
        found: dict[tuple[str, str], set[str]] = {}
        for identity, names in self.places.items():
            recorded = {name: self.ledgers.nodes[name].transactions[identity] for name in names}
            known = [one.at for one in recorded.values() if one.at is not None]
            first = min(known, default=None)
            for name, one in recorded.items():
                if one.flow_id is not None and one.at == first:
                    found.setdefault((name, one.flow_id), set()).add(identity)
        return {flow: frozenset(identities) for flow, identities in found.items()}

    @cached_property
    def starters(self) -> dict[str, set[str]]:
        """The nodes whose acknowledged requests named a transaction, by its id."""
        found: dict[str, set[str]] = {}
        for request in self.requests:
            if request.transaction and request.status == "acknowledged":
                found.setdefault(request.transaction, set()).add(request.node)
        return found

    def output(self, state: StateRef) -> Output | None:
        """The output that a state is; None if the bytes of its transaction were not read."""
        transaction = self.known.get(state.transaction)
        if transaction is None or not 0 <= state.place < len(transaction.outputs):
            return None
        return transaction.outputs[state.place]

    def holders(self, state: StateRef) -> frozenset[str]:
        """The nodes of the network that a state belongs to, as far as its bytes or any vault tell."""
        output = self.output(state)
        found = (output.holders if output else frozenset()) | self.participants.get(state, frozenset())
        return found & self.ledgers.nodes.keys()

    def concerned(self, transaction: Transaction) -> frozenset[str]:
        """The nodes that must have a transaction: who holds what it consumes or makes, who signed or started it."""
        if (known := self._concerned.get(transaction.id)) is not None:
            return known
        found = set(transaction.signers) | self.starters.get(transaction.id, set())
        for state in (*transaction.inputs, *self.outputs(transaction)):
            found |= self.holders(state)
        concerned = frozenset(found & self.ledgers.nodes.keys())
        self._concerned[transaction.id] = concerned
        return concerned

    @staticmethod
    def outputs(transaction: Transaction) -> tuple[StateRef, ...]:
        """The names of all outputs of a transaction."""
        return tuple(StateRef(transaction.id, index) for index in range(len(transaction.outputs)))

    def vault_rows(self) -> Iterator[tuple[str, StateRef, VaultState]]:
        """Every row of every vault that was recorded or consumed in scope, with its node."""
        for node in self.ledgers.nodes.values():
            for state, row in node.vault.items():
                if self.scope.contains(row.recorded_at) or (row.is_consumed and self.scope.contains(row.consumed_at)):
                    yield node.name, state, row
