"""Transactions that Corda wrote are read as they are, and anything else is refused."""

import base64
from pathlib import Path

import pytest

from corda_lab.audit.amqp import MAGIC, Record, UnreadableError, load
from corda_lab.audit.model import Asset, StateRef, Transaction
from corda_lab.audit.transactions import People, read_transaction, short_key
from support.ledgers import with_quantity

RECORDED = Path(__file__).parent / "recorded" / "transactions.txt"
LINES = [line.split() for line in RECORDED.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
KEYS = {name: key for kind, name, key, *_ in LINES if kind == "key"}
BYTES = {name: (identity, base64.b64decode(rest[0])) for kind, name, identity, *rest in LINES if kind == "transaction"}
PARTY_A = "O=PartyA, L=London, C=GB"
PEOPLE = People(
    nodes={KEYS["PartyA"]: "PartyA", KEYS["PartyB"]: "PartyB", KEYS["fresh"]: "PartyB"},
    names={KEYS["PartyA"]: PARTY_A, KEYS["PartyB"]: "O=PartyB, L=New York, C=US"},
)
CASH = "org.cordalab.states.CashState"


def read(name: str) -> Transaction:
    identity, data = BYTES[name]
    return read_transaction(identity, data, PEOPLE)


def test_an_issue_of_cash_has_its_value_and_is_not_notarised() -> None:
    """Issuer and owner are the same object, so the second is a reference to the first."""
    issue = read("cash-issue")
    [coin] = issue.outputs
    assert (coin.state_class, coin.quantity, coin.owner) == (CASH, 10_000, "PartyA")
    assert coin.asset == Asset(CASH, PARTY_A, "GBP")
    assert coin.holders == {"PartyA"}
    assert issue.inputs == ()
    assert not issue.is_notarised
    assert issue.signers == {"PartyA"}
    assert issue.signing_parties == {PARTY_A}


def test_a_payment_names_what_it_consumes_and_who_gets_what() -> None:
    payment = read("cash-pay")
    assert payment.inputs == (StateRef(BYTES["cash-issue"][0], 0),)
    assert payment.is_notarised
    assert [(coin.owner, coin.quantity) for coin in payment.outputs] == [("PartyB", 7500), ("PartyA", 2500)]


def test_a_payment_to_a_key_without_a_name_belongs_to_the_node_that_has_the_key() -> None:
    payment = read("cash-pay-anonymous")
    assert payment.inputs == (StateRef(BYTES["cash-pay"][0], 1),)
    assert [coin.owner for coin in payment.outputs] == ["PartyB"]


def test_a_promise_belongs_to_both_parties_and_has_no_value() -> None:
    [promise] = read("iou").outputs
    assert promise.holders == {"PartyA", "PartyB"}
    assert (promise.asset, promise.quantity, promise.owner) == (None, 0, None)


def test_cash_of_the_finance_cordapp_has_its_value() -> None:
    [coin] = read("finance-issue").outputs
    assert coin.asset == Asset("net.corda.finance.contracts.asset.Cash$State", PARTY_A, "GBP")
    assert (coin.quantity, coin.owner) == (10_000, "PartyA")


def test_a_transaction_from_the_database_of_a_node_is_read() -> None:
    promise = read("iou-of-a-node")
    assert [one.state_class for one in promise.outputs] == ["org.cordalab.states.IouState"]
    # Its network has other keys.
    assert len(promise.signing_parties) == 2
    assert promise.signers == frozenset()


@pytest.mark.parametrize("name", BYTES)
def test_a_transaction_has_the_id_of_its_bytes(name: str) -> None:
    assert read(name).has_own_id is True
    _, data = BYTES[name]
    assert read_transaction("0" * 64, data, PEOPLE).has_own_id is False


def test_a_transaction_that_somebody_changed_has_another_id() -> None:
    """The payee gets more than the payment consumes. Everything else is as Corda wrote it."""
    identity, data = BYTES["cash-pay"]
    forged = read_transaction(identity, with_quantity(data, 7500, 7600), PEOPLE)
    assert [coin.quantity for coin in forged.outputs] == [7600, 2500]
    assert forged.inputs == read("cash-pay").inputs
    assert forged.has_own_id is False


def test_a_key_has_the_name_that_corda_gives_it() -> None:
    assert set(read("iou").signing_parties) == {PARTY_A, "O=PartyB, L=New York, C=US"}
    assert short_key(b"").startswith("DL")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"corda",
        MAGIC,
        MAGIC + b"\x07",
        MAGIC + b"\x02\x09rest",
        MAGIC + b"\x00\x00\x80\xc5b\x00\x00\x00\x00\x00\x01\xd0\xff\xff\xff\xff\xff\xff\xff\xff",
        MAGIC + b"\x00" + b"\x00" * 5000,
        BYTES["cash-pay"][1][:-40],
        BYTES["cash-pay"][1][:9] + BYTES["cash-pay"][1][20:],
    ],
    ids=["empty", "short", "magic", "section", "encoding", "huge-list", "deep", "cut", "damaged"],
)
def test_bytes_that_are_no_transaction_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableError):
        read_transaction("X", data, PEOPLE)


def test_an_object_that_is_no_transaction_is_refused() -> None:
    signed = load(BYTES["iou"][1])
    assert isinstance(signed, Record)
    bits = signed.fields["txBits"]
    assert isinstance(bits, Record)
    unsigned = bits.fields["bytes"]
    assert isinstance(unsigned, bytes)
    with pytest.raises(UnreadableError, match="bytes is missing"):
        read_transaction("X", unsigned, PEOPLE)
