"""Reads a transaction from the bytes that a node stores: what it consumes, what it makes, who signed it.

Source of the id: ``net.corda.core.transactions.WireTransaction`` and ``net.corda.core.crypto.MerkleTree``. It is the
root of a Merkle tree: a leaf is a component with a nonce, and each group of components has a tree of its own.
"""

import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from corda_lab.audit import amqp
from corda_lab.audit.amqp import Described, Record, UnreadableError, expect
from corda_lab.audit.model import Asset, Output, StateRef, Transaction

# Ordinals of net.corda.core.contracts.ComponentGroupEnum.
_INPUTS, _OUTPUTS, _TIME_WINDOW, _SIGNERS, _REFERENCES = 0, 1, 5, 6, 7
_READ = (_INPUTS, _OUTPUTS, _TIME_WINDOW, _SIGNERS, _REFERENCES)

WIRE_TRANSACTION = "net.corda.core.transactions.WireTransaction"
LAB_STATES = "org.cordalab.states."
"""The lab's own states belong to every party that they name, but for the issuer of an asset."""

HASH = "SHA-256"
"""The only hash function that is known here. Others can be chosen since Corda 4.7, and the lab chooses none."""
_ABSENT_GROUP = b"\xff" * 32
_PADDING = bytes(32)

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


@lru_cache(maxsize=100_000)
def short_key(encoded: bytes) -> str:
    """The name that Corda gives to a public key: ``DL`` and the SHA-256 of its encoded form in base 58."""
    digest = hashlib.sha256(encoded).digest()
    number, text = int.from_bytes(digest, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        text = _ALPHABET[rest] + text
    return "DL" + _ALPHABET[0] * (len(digest) - len(digest.lstrip(b"\0"))) + text


@dataclass(frozen=True)
class People:
    """Whose keys are whose, by short key: the nodes of the lab, and the X.500 names of all parties."""

    nodes: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def name(self, key: str) -> str:
        """The X.500 name of the owner of a key; the key itself if it is not known."""
        return self.names.get(key, key)


def read_transaction(identity: str, data: bytes, people: People) -> Transaction:
    """Read a transaction from the bytes that a node stores. Raises UnreadableError, also for unusual kinds.

    Those are changes of notary and explicit upgrades of contracts, which the lab never makes.
    """
    signed = expect(Record, amqp.load(data))
    wire = expect(Record, amqp.load(_bytes(signed.fields.get("txBits"))))
    if wire.class_name != WIRE_TRANSACTION:
        raise UnreadableError(f"{wire.class_name} is no usual transaction")
    components = _components(wire)
    groups = {ordinal: [amqp.load(each) for each in components.get(ordinal, ())] for ordinal in _READ}
    inputs, references = (tuple(map(_state_ref, groups[ordinal])) for ordinal in (_INPUTS, _REFERENCES))
    signers = (expect(Described, key).value for command in groups[_SIGNERS] for key in expect(list, command))
    keys = {short_key(_bytes(signer)) for signer in signers}
    return Transaction(
        id=identity,
        inputs=inputs,
        outputs=tuple(_output(expect(Record, each), people) for each in groups[_OUTPUTS]),
        signers=frozenset(people.nodes[key] for key in keys if key in people.nodes),
        signing_parties=frozenset(map(people.name, keys)),
        references=references,
        is_notarised=bool(inputs or references or groups[_TIME_WINDOW]),
        has_own_id=_has_id(wire, components, identity),
    )


def _components(wire: Record) -> dict[int, list[bytes]]:
    """The serialised components by the ordinal of their group."""
    components: dict[int, list[bytes]] = {}
    for each in wire.get("componentGroups", list):
        group = expect(Record, each)
        ordinal = group.get("groupIndex", int)
        if ordinal < 0:
            raise UnreadableError(f"a group of components has the ordinal {ordinal}")
        components[ordinal] = [_bytes(component) for component in group.get("components", list)]
    return components


def _has_id(wire: Record, components: Mapping[int, list[bytes]], expected: str) -> bool | None:
    """Whether a transaction has this id; None if its hash function is not known."""
    service = wire.fields.get("digestService")
    if isinstance(service, Record) and service.fields.get("hashAlgorithm") != HASH:
        return None
    return identity_of(components, _bytes(wire.fields.get("privacySalt"))) == expected


def _output(state: Record, people: People) -> Output:
    """An output, from its ``TransactionState``."""
    data = state.get("data", Record)
    owner = _party_key(data.fields.get("owner"))
    keys: list[str | None] = [owner]
    if data.class_name.startswith(LAB_STATES):
        keys += [_party_key(value) for name, value in data.fields.items() if name != "issuer"]
    asset, quantity = _value(data, people) or (None, 0)
    return Output(
        state_class=data.class_name,
        holders=frozenset(people.nodes[key] for key in keys if key is not None and key in people.nodes),
        asset=asset,
        quantity=quantity,
        owner=people.nodes.get(owner) if owner and asset else None,
    )


def _value(data: Record, people: People) -> tuple[Asset, int] | None:
    """What a state is worth, and how much of it; None for a state without a value.

    A state has a value if it has an issuer, a product and a quantity, as the lab's assets do, or an amount of something
    issued, as R3's cash does.
    """
    fields = data.fields
    quantity, issuer, product = fields.get("quantity"), fields.get("issuer"), fields.get("product")
    amount = fields.get("amount")
    if isinstance(amount, Record):
        quantity = amount.fields.get("quantity")
        token = amount.fields.get("token")
        if isinstance(token, Record):
            issuer, product = token.fields.get("issuer"), token.fields.get("product")
            if isinstance(issuer, Record) and "party" in issuer.fields:
                issuer = issuer.fields["party"]
    key = _party_key(issuer)
    if key is None or product is None or not isinstance(quantity, int):
        return None
    text = product.value if isinstance(product, Described) else product
    return Asset(data.class_name, people.name(key), str(text)), quantity


def _party_key(value: object) -> str | None:
    key = value.fields.get("owningKey") if isinstance(value, Record) else None
    return short_key(key.value) if isinstance(key, Described) and isinstance(key.value, bytes) else None


def _state_ref(value: object) -> StateRef:
    ref = expect(Record, value)
    return StateRef(_bytes(ref.fields.get("txhash")).hex().upper(), ref.get("index", int))


def _bytes(value: object) -> bytes:
    """The content of an object that wraps bytes, such as a hash."""
    return expect(bytes, value.fields.get("bytes") if isinstance(value, Record) else value)


def identity_of(groups: Mapping[int, Sequence[bytes]], salt: bytes) -> str:
    """Return the id of a transaction. ``groups`` has the serialised components by the ordinal of their group.

    Raises ValueError without any component.
    """
    roots = {ordinal: _root(_leaves(ordinal, components, salt)) for ordinal, components in groups.items()}
    return _root(roots.get(ordinal, _ABSENT_GROUP) for ordinal in range(max(roots) + 1)).hex().upper()


def _leaves(ordinal: int, components: Sequence[bytes], salt: bytes) -> Iterable[bytes]:
    for place, component in enumerate(components):
        nonce = _twice(_twice(salt + struct.pack(">II", ordinal, place)) + component)
        yield _twice(nonce + component)


def _root(leaves: Iterable[bytes]) -> bytes:
    """The root of a tree whose leaves are padded to a power of two."""
    level = list(leaves)
    if not level:
        raise ValueError("a tree without leaves")
    level += [_PADDING] * ((1 << (len(level) - 1).bit_length()) - len(level))
    while len(level) > 1:
        level = [hashlib.sha256(left + right).digest() for left, right in zip(level[::2], level[1::2], strict=True)]
    return level[0]


def _twice(data: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(data).digest()).digest()
