"""The id of a transaction, from its bytes: the root of a Merkle tree of all that it consists of.

Source: ``net.corda.core.transactions.WireTransaction`` and ``net.corda.core.crypto.MerkleTree`` of Corda 3.3 to 4.10. A
leaf is a component with a nonce, and each group of components has a tree of its own.
"""

import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence

HASH = "SHA-256"
"""The only hash function that is known here. Others can be chosen since Corda 4.7, and the lab chooses none."""
_ABSENT_GROUP = b"\xff" * 32
_PADDING = bytes(32)


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
