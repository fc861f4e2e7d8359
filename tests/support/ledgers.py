"""A small network whose ledgers agree, in which a test plants what an audit must find."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from corda_lab.audit import amqp
from corda_lab.audit.model import (
    Asset,
    Flow,
    Ledgers,
    NodeLedger,
    NotaryLog,
    Output,
    Recorded,
    Request,
    StateRef,
    Transaction,
    VaultState,
)

CASH = "org.cordalab.states.CashState"
IOU = "org.cordalab.states.IouState"
A, B, C, NOTARY = "PartyA", "PartyB", "PartyC", "Notary"
GBP = Asset(CASH, "O=PartyA, L=London, C=GB", "GBP")
BEGAN = 1_000.0
"""When the load of the run began. The set-up was before."""

COIN, ISSUE, PAYMENT, PROMISE = "C0", "C1", "C2", "C3"
"""The set-up's coin; then what the run made: an issue, its payment together with the coin's, and an IOU."""
FLOW_PAY, FLOW_IOU = "flow-pay", "flow-iou"


def cash(quantity: int, owner: str) -> Output:
    return Output(CASH, frozenset({owner}), GBP, quantity, owner)


TRANSACTIONS = (
    Transaction(COIN, (), (cash(50, A),), frozenset({A}), frozenset({GBP.issuer})),
    Transaction(ISSUE, (), (cash(100, A),), frozenset({A}), frozenset({GBP.issuer})),
    Transaction(
        PAYMENT,
        (StateRef(COIN, 0), StateRef(ISSUE, 0)),
        (cash(120, B), cash(30, A)),
        frozenset({A}),
        frozenset({GBP.issuer}),
        is_notarised=True,
    ),
    Transaction(PROMISE, (), (Output(IOU, frozenset({A, B})),), frozenset({A, B})),
)

REQUESTS = (
    Request("run-1", A, "acknowledged", FLOW_PAY, PAYMENT, "pay"),
    Request("run-2", A, "acknowledged", FLOW_IOU, PROMISE, "iou"),
    Request("run-3", A, "other", "flow-refused", part="iou"),
)


def consistent() -> Ledgers:
    """PartyA spends a coin of the set-up and one that it issues, pays PartyB, and owes it an IOU. PartyC looks on."""
    mine = frozenset({A})
    a = NodeLedger(
        A,
        {
            COIN: Recorded("flow-setup", BEGAN - 5),
            ISSUE: Recorded(FLOW_PAY, BEGAN + 1),
            PAYMENT: Recorded(FLOW_PAY, BEGAN + 2),
            PROMISE: Recorded(FLOW_IOU, BEGAN + 3),
        },
        {
            StateRef(COIN, 0): VaultState(CASH, True, BEGAN - 5, BEGAN + 2, mine),
            StateRef(ISSUE, 0): VaultState(CASH, True, BEGAN + 1, BEGAN + 2, mine),
            StateRef(PAYMENT, 1): VaultState(CASH, False, BEGAN + 2, None, mine),
            StateRef(PROMISE, 0): VaultState(IOU, False, BEGAN + 3, None, frozenset({A, B})),
        },
        (Flow("flow-kept", "ended", "Iou", "run-2"),),
    )
    # PartyB fetched the backchain of its payment, with the coin of the set-up.
    received = {identity: Recorded("flow-receive", BEGAN + 2) for identity in (COIN, ISSUE, PAYMENT)}
    b = NodeLedger(
        B,
        {**received, PROMISE: Recorded("flow-sign", BEGAN + 3)},
        {
            StateRef(PAYMENT, 0): VaultState(CASH, False, BEGAN + 2, None, frozenset({B})),
            StateRef(PROMISE, 0): VaultState(IOU, False, BEGAN + 3, None, frozenset({A, B})),
        },
    )
    log = NotaryLog({StateRef(COIN, 0): PAYMENT, StateRef(ISSUE, 0): PAYMENT}, frozenset({PAYMENT}))
    nodes = {A: a, B: b, C: NodeLedger(C), NOTARY: NodeLedger(NOTARY, is_notary=True)}
    return Ledgers(nodes, {one.id: one for one in TRANSACTIONS}, log)


def with_node(ledgers: Ledgers, changed: NodeLedger) -> Ledgers:
    """The same ledgers with one node changed."""
    return replace(ledgers, nodes={**ledgers.nodes, changed.name: changed})


def with_transactions(ledgers: Ledgers, changed: Iterable[Transaction]) -> Ledgers:
    """The same ledgers with further or other transactions."""
    return replace(ledgers, transactions={**ledgers.transactions, **{one.id: one for one in changed}})


def with_flows(ledgers: Ledgers, numbers: Sequence[int]) -> tuple[Ledgers, tuple[Request, ...]]:
    """The same ledgers after further flows of PartyA, each of which made so many IOUs, and their requests.

    Each request was told of the last IOU of its flow. PartyB recorded them a little later, by flows of its own.
    """
    made: dict[str, str] = {}
    requests = []
    for flow, number in enumerate(numbers):
        ids = [f"I{flow}-{place}" for place in range(number)]
        made |= dict.fromkeys(ids, f"flow-{flow}")
        requests.append(Request(f"run-f{flow}", A, "acknowledged", f"flow-{flow}", ids[-1] if ids else None, "more"))
    for name, later in ((A, 0.0), (B, 0.25)):
        node = ledgers.nodes[name]
        at = BEGAN + 5 + later
        recorded = {one: Recorded(flow if name == A else f"sign-{one}", at) for one, flow in made.items()}
        row = VaultState(IOU, False, at, None, frozenset({A, B}))
        ledgers = with_node(
            ledgers,
            replace(
                node,
                transactions={**node.transactions, **recorded},
                vault={**node.vault, **{StateRef(one, 0): row for one in made}},
            ),
        )
    promise = TRANSACTIONS[3]
    return with_transactions(ledgers, [promise._replace(id=one) for one in made]), (*REQUESTS, *requests)


def with_quantity(data: bytes, before: int, after: int) -> bytes:
    """The bytes of a transaction after somebody has changed a quantity in it, from 128 on. Nodes read them as before.

    They are no longer compressed. Raises ValueError unless the quantity is there once.
    """
    old, new = (b"\x81" + quantity.to_bytes(8, "big") for quantity in (before, after))
    expanded = amqp.expanded(data)
    if expanded.count(old) != 1:
        raise ValueError(f"the quantity {before} is {expanded.count(old)} times in the transaction")
    return amqp.MAGIC + expanded.replace(old, new)
