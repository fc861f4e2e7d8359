"""What an audit judges: the ledgers as small tables of plain values, however they were read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

FlowStatus = Literal["suspended", "hospital", "ended"]
"""ended: the node keeps only the outcome, for a caller that asks by client id."""

RequestStatus = Literal["acknowledged", "unknown", "failed", "other"]
"""acknowledged: the caller was told of success, or the node said so later. unknown: nobody could tell. failed: it was
started, and ended with an exception; what it had recorded by then stays."""


class StateRef(NamedTuple):
    """The name of a state: the transaction that made it, and its place among the outputs."""

    transaction: str
    place: int

    def __str__(self) -> str:
        return f"{self.transaction}({self.place})"


class Asset(NamedTuple):
    """What can be added up: the class of the state, its issuer (an X.500 name or a key), its product or currency."""

    state_class: str
    issuer: str
    product: str

    def __str__(self) -> str:
        return f"{self.product} of {self.issuer} ({self.state_class.rpartition('.')[2]})"


class Output(NamedTuple):
    """An output of a transaction. ``holders`` are the nodes of the network that it belongs to, as far as it says so.

    ``owner`` is the node that holds the value; None if no node of the network does, or if the state has no value.
    """

    state_class: str
    holders: frozenset[str] = frozenset()
    asset: Asset | None = None
    quantity: int = 0
    owner: str | None = None


class Transaction(NamedTuple):
    """A transaction, as its own bytes say. ``signers`` are the nodes, and ``issuers`` the names of the signing parties.

    ``is_notarised`` says whether it needs the notary: it consumes states or has a time window. ``has_own_id`` says
    whether its bytes have this id; None if their hash function is not known.
    """

    id: str
    inputs: tuple[StateRef, ...]
    outputs: tuple[Output, ...]
    signers: frozenset[str] = frozenset()
    signing_parties: frozenset[str] = frozenset()
    references: tuple[StateRef, ...] = ()
    is_notarised: bool = False
    has_own_id: bool | None = None


class Recorded(NamedTuple):
    """A transaction in the store of a node: the flow that recorded it, and when (unix seconds); None if unknown."""

    flow_id: str | None = None
    at: float | None = None


class VaultState(NamedTuple):
    """A row of a vault. Times are in unix seconds. ``participants`` are nodes, as the vault has them.

    ``is_relevant`` says whether the state concerns the node, which may also record states that it only observes.
    """

    state_class: str
    is_consumed: bool
    recorded_at: float | None = None
    consumed_at: float | None = None
    participants: frozenset[str] = frozenset()
    is_relevant: bool = True


class Flow(NamedTuple):
    """A flow of which a node has a checkpoint."""

    id: str
    status: FlowStatus
    name: str | None = None
    client_id: str | None = None


@dataclass(frozen=True)
class NodeLedger:
    """Everything that a node has stored: its transactions by id, its vault by state, and its flows."""

    name: str
    transactions: Mapping[str, Recorded] = field(default_factory=dict)
    vault: Mapping[StateRef, VaultState] = field(default_factory=dict)
    flows: tuple[Flow, ...] = ()
    is_notary: bool = False


@dataclass(frozen=True)
class NotaryLog:
    """What the notary has committed: the consumer of every state, and every transaction, with the time if it has one.

    ``transactions`` is None if this notary keeps no list of transactions, and ``consumers`` if it stores them in a form
    that is not read, as a Raft cluster does. ``conflicts`` are the states whose consumer is not the same at all members
    of a cluster.
    """

    consumers: Mapping[StateRef, str] | None = field(default_factory=dict)
    transactions: frozenset[str] | None = None
    committed_at: Mapping[str, float] = field(default_factory=dict)
    conflicts: Mapping[StateRef, frozenset[str]] = field(default_factory=dict)


class Request(NamedTuple):
    """A row of a run. ``flow_id`` and ``transaction`` are those that the caller was told of, or the node said later.

    ``part`` is the kind of request in its workload, and ``load`` the number of its load: requests of one kind in one
    load are alike. ``names_states`` says whether the workload names states that a success makes or consumes.
    """

    client_id: str
    node: str
    status: RequestStatus
    flow_id: str | None = None
    transaction: str | None = None
    part: str = ""
    load: int = 1
    names_states: bool = False


class Window(NamedTuple):
    """A time span, in unix seconds. ``until`` is None for one that has not ended."""

    since: float
    until: float | None = None

    def contains(self, at: float) -> bool:
        return self.since <= at and (self.until is None or at <= self.until)


@dataclass(frozen=True)
class Scope:
    """Which part of the ledgers is judged. Without windows it is the whole."""

    windows: tuple[Window, ...] = ()

    def contains(self, at: float | None) -> bool:
        """Whether what was recorded at this time is judged. What has no time is."""
        return at is None or not self.windows or any(window.contains(at) for window in self.windows)


@dataclass(frozen=True)
class Ledgers:
    """The ledgers of a network at rest: every node, the bytes of the transactions in scope, and the notary's log.

    ``transactions`` also has earlier ones whose outputs those in scope consume. ``log`` is None if it was not read.
    ``notary_verifies`` says whether the notary verifies transactions, for which it stores their backchains.
    """

    nodes: Mapping[str, NodeLedger]
    transactions: Mapping[str, Transaction] = field(default_factory=dict)
    log: NotaryLog | None = None
    notary_verifies: bool = False


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
        found: dict[str, set[str]] = {}
        for request in self.requests:
            if request.transaction and request.status == "acknowledged":
                found.setdefault(request.transaction, set()).add(request.node)
        return found

    def output(self, state: StateRef) -> Output | None:
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
        return tuple(StateRef(transaction.id, index) for index in range(len(transaction.outputs)))

    def vault_rows(self) -> Iterator[tuple[str, StateRef, VaultState]]:
        """Every row of every vault that was recorded or consumed in scope, with its node."""
        for node in self.ledgers.nodes.values():
            for state, row in node.vault.items():
                if self.scope.contains(row.recorded_at) or (row.is_consumed and self.scope.contains(row.consumed_at)):
                    yield node.name, state, row
