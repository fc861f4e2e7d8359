"""What an audit judges: the ledgers as small tables of plain values, however they were read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

FlowStatus = Literal["suspended", "hospital", "ended", "left"]
"""ended: the node keeps only the outcome, for a caller that asks by client id. left: a checkpoint of Corda 3, of a flow
that is suspended or that failed."""

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

    ``is_relevant`` says whether the state concerns the node; None if this version of Corda does not store it. A node
    may also record states that it only observes.
    """

    state_class: str
    is_consumed: bool
    recorded_at: float | None = None
    consumed_at: float | None = None
    participants: frozenset[str] = frozenset()
    is_relevant: bool | None = True


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
    ``lists_participants`` is False if the vaults do not say to whom a state belongs. ``notary_verifies`` says whether
    the notary verifies transactions, for which it stores their backchains.
    """

    nodes: Mapping[str, NodeLedger]
    transactions: Mapping[str, Transaction] = field(default_factory=dict)
    log: NotaryLog | None = None
    lists_participants: bool = True
    notary_verifies: bool = False
