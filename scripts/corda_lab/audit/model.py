"""What an audit judges: the ledgers as small tables of plain values, however they were read. Times are unix seconds."""

from collections.abc import Collection, Iterator, Mapping
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
    """A transaction, as its own bytes say."""

    id: str
    inputs: tuple[StateRef, ...]
    outputs: tuple[Output, ...]
    signers: frozenset[str] = frozenset()
    """The nodes that sign."""
    signing_parties: frozenset[str] = frozenset()
    """The names of all parties that sign."""
    references: tuple[StateRef, ...] = ()
    is_notarised: bool = False
    """Whether it needs the notary: it consumes states or has a time window."""
    has_own_id: bool | None = None
    """Whether its bytes have this id; None if their hash function is not known."""

    @property
    def parents(self) -> set[str]:
        return {state.transaction for state in (*self.inputs, *self.references)}

    @property
    def states(self) -> tuple[StateRef, ...]:
        """The names of its outputs."""
        return tuple(StateRef(self.id, place) for place in range(len(self.outputs)))


class Recorded(NamedTuple):
    """A transaction in the store of a node: the flow that recorded it, and when; None if unknown."""

    flow_id: str | None = None
    at: float | None = None


class VaultState(NamedTuple):
    """A row of a vault. ``participants`` are nodes, as the vault has them."""

    state_class: str
    is_consumed: bool
    recorded_at: float | None = None
    consumed_at: float | None = None
    participants: frozenset[str] = frozenset()
    is_relevant: bool = True
    """False for a state that the node only observes."""


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
    """What the notary has committed."""

    consumers: Mapping[StateRef, str] | None = field(default_factory=dict)
    """The consumer of every state; None if this notary stores them in a form that is not read, as Raft does."""
    transactions: frozenset[str] | None = None
    """None if this notary keeps no list of transactions."""
    committed_at: Mapping[str, float] = field(default_factory=dict)
    """By transaction, of those that have a time."""
    conflicts: Mapping[StateRef, frozenset[str]] = field(default_factory=dict)
    """The states whose consumer is not the same at all members of a cluster."""


class Request(NamedTuple):
    """A row of a run. ``flow_id`` and ``transaction`` are those that the caller was told of, or the node said later."""

    client_id: str
    node: str
    status: RequestStatus
    flow_id: str | None = None
    transaction: str | None = None
    part: str = ""
    """The kind of request in its workload. Requests of one kind in one load are alike."""
    load: int = 1
    """The number of its load, if several are audited together."""
    names_states: bool = False
    """Whether the workload names states that a success makes or consumes."""


class Window(NamedTuple):
    """``until`` is None for one that has not ended."""

    since: float
    until: float | None = None

    def contains(self, at: float) -> bool:
        return self.since <= at and (self.until is None or at <= self.until)


class Load(NamedTuple):
    """One load: when its flows recorded transactions, and its requests."""

    window: Window
    requests: tuple[Request, ...]


@dataclass(frozen=True)
class Scope:
    """Which part of the ledgers is judged. Without windows it is the whole."""

    windows: tuple[Window, ...] = ()

    def contains(self, at: float | None) -> bool:
        """Whether what was recorded at this time is judged. What has no time is."""
        return at is None or not self.windows or any(window.contains(at) for window in self.windows)

    @property
    def span(self) -> Window | None:
        """The one window around all of them; None for the whole."""
        ends = [window.until for window in self.windows]
        until = None if None in ends else max(filter(None, ends), default=None)
        return Window(min(window.since for window in self.windows), until) if self.windows else None


@dataclass(frozen=True)
class Ledgers:
    """The ledgers of a network at rest."""

    nodes: Mapping[str, NodeLedger]
    transactions: Mapping[str, Transaction] = field(default_factory=dict)
    """The transactions in scope whose bytes were read, and earlier ones whose outputs those consume."""
    log: NotaryLog | None = None
    """None if it was not read."""
    notary_verifies: bool = False
    """Whether the notary verifies transactions, for which it stores their backchains."""


class View:
    """The ledgers, the requests and the scope of an audit, with what follows from them."""

    def __init__(self, ledgers: Ledgers, requests: Collection[Request], scope: Scope) -> None:
        self.ledgers = ledgers
        self.known = ledgers.transactions
        self.requests = requests
        self.scope = scope

    @cached_property
    def places(self) -> dict[str, frozenset[str]]:
        """The nodes whose store has a transaction, by id; of every transaction."""
        nodes_of: dict[str, set[str]] = {}
        for node in self.ledgers.nodes.values():
            for identity in node.transactions:
                nodes_of.setdefault(identity, set()).add(node.name)
        return {identity: frozenset(nodes) for identity, nodes in nodes_of.items()}

    def recorded(self, identity: str) -> dict[str, Recorded]:
        """How each node that has a transaction recorded it."""
        return {name: self.ledgers.nodes[name].transactions[identity] for name in self.places.get(identity, ())}

    @cached_property
    def judged(self) -> frozenset[str]:
        """The transactions in scope: those that some node recorded in a window."""
        return frozenset(
            identity
            for node in self.ledgers.nodes.values()
            for identity, recorded in node.transactions.items()
            if self.scope.contains(recorded.at)
        )

    @cached_property
    def read(self) -> tuple[Transaction, ...]:
        """The transactions in scope whose bytes were read, in the order of their ids."""
        return tuple(self.known[identity] for identity in sorted(self.judged) if identity in self.known)

    @cached_property
    def consumers(self) -> dict[StateRef, tuple[str, ...]]:
        """The transactions that consume a state, as their bytes say. One that no node has is not among them."""
        consumers_of: dict[StateRef, set[str]] = {}
        for transaction in self.known.values():
            if transaction.id in self.places:
                for state in transaction.inputs:
                    consumers_of.setdefault(state, set()).add(transaction.id)
        return {state: tuple(sorted(identities)) for state, identities in consumers_of.items()}

    @cached_property
    def participants(self) -> dict[StateRef, frozenset[str]]:
        """The nodes that a state belongs to, as the vaults of all nodes have it."""
        nodes_of: dict[StateRef, frozenset[str]] = {}
        for node in self.ledgers.nodes.values():
            for state, row in node.vault.items():
                nodes_of[state] = nodes_of.get(state, frozenset()) | row.participants
        return nodes_of

    @cached_property
    def made_by_flows(self) -> dict[tuple[str, str], frozenset[str]]:
        """The transactions that a flow made, by its node and its id: those that no node has recorded earlier.

        The others of a flow are backchains that it fetched. Whoever makes a transaction records it before it hands it
        on. If only other nodes say when they recorded a transaction, a node is not the first.
        """
        made: dict[tuple[str, str], set[str]] = {}
        for identity in self.places:
            recorded = self.recorded(identity)
            first = min((one.at for one in recorded.values() if one.at is not None), default=None)
            for name, one in recorded.items():
                if one.flow_id is not None and one.at == first:
                    made.setdefault((name, one.flow_id), set()).add(identity)
        return {flow: frozenset(identities) for flow, identities in made.items()}

    @cached_property
    def starters(self) -> dict[str, set[str]]:
        """The nodes whose requests were told of a transaction, by its id."""
        nodes_of: dict[str, set[str]] = {}
        for request in self.requests:
            if request.transaction and request.status == "acknowledged":
                nodes_of.setdefault(request.transaction, set()).add(request.node)
        return nodes_of

    def output(self, state: StateRef) -> Output | None:
        transaction = self.known.get(state.transaction)
        if transaction is None or not 0 <= state.place < len(transaction.outputs):
            return None
        return transaction.outputs[state.place]

    def holders(self, state: StateRef) -> frozenset[str]:
        """The nodes of the network that a state belongs to, as far as its bytes or any vault tell."""
        output = self.output(state)
        nodes = (output.holders if output else frozenset()) | self.participants.get(state, frozenset())
        return nodes & self.ledgers.nodes.keys()

    @cached_property
    def concerned(self) -> dict[str, frozenset[str]]:
        """The nodes that must have a transaction: who holds what it consumes or makes, and who started it.

        Who signs need not have it: an oracle signs what it is shown, and records nothing.
        """
        nodes_of: dict[str, frozenset[str]] = {}
        for one in self.known.values():
            holders = (self.holders(state) for state in (*one.inputs, *one.states))
            nodes = frozenset(self.starters.get(one.id, ())).union(*holders)
            nodes_of[one.id] = nodes & self.ledgers.nodes.keys()
        return nodes_of

    def vault_rows(self) -> Iterator[tuple[str, StateRef, VaultState]]:
        """Every row of every vault that was recorded or consumed in scope, with its node."""
        for node in self.ledgers.nodes.values():
            for state, row in node.vault.items():
                if self.scope.contains(row.recorded_at) or (row.is_consumed and self.scope.contains(row.consumed_at)):
                    yield node.name, state, row
