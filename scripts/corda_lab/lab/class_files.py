"""Finds the contracts and flows in a CorDapp, and the Java that it needs, by reading its class files."""

import struct
import zipfile
from collections.abc import Mapping

CLASS_BYTES_MAX = 16 * 1024**2

CONTRACT_INTERFACES = frozenset(
    f"net/corda/core/contracts/{name}"
    for name in ("Contract", "UpgradedContract", "UpgradedContractWithLegacyConstraint")
)
"""The interfaces of a contract, by their names in class files."""

FLOW_CLASSES = frozenset({"net/corda/core/flows/FlowLogic"})
"""The superclass of a flow."""

_CLASS_MAGIC = 0xCAFEBABE

_JAVA_1 = 44
"""What the version of a class file is above that of Java: 52 is Java 8."""

_CONSTANT_BYTES = {
    **dict.fromkeys((3, 4, 9, 10, 11, 12, 17, 18), 4),
    **dict.fromkeys((5, 6), 8),
    **dict.fromkeys((7, 8, 16, 19, 20), 2),
    15: 3,
}
"""Bytes after the tag of each kind of constant pool entry (JVM specification, section 4.4)."""

_TEXT_TAG, _CLASS_TAG = 1, 7

_WIDE_TAGS = {5, 6}
"""Tags of 8-byte numbers, which take two entries of the pool."""


def parents_in(archive: zipfile.ZipFile) -> dict[str, frozenset[str]]:
    """Return the superclass and the interfaces of each class by its name (``com/example/IouContract``)."""
    return {
        info.filename.removesuffix(".class"): class_parents(archive.read(info))
        for info in archive.infolist()
        if info.filename.endswith(".class") and info.file_size <= CLASS_BYTES_MAX
    }


def classes_below(tops: frozenset[str], parents: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the classes that extend or implement one of ``tops``, directly or by a class in the same jar."""
    below = set(tops)
    while more := {name for name, above in parents.items() if name not in below and below & above}:
        below |= more
    return frozenset(below & set(parents))


def java_needed(archive: zipfile.ZipFile) -> int:
    """Return the lowest version of Java that loads every class; 0 without classes.

    Classes in ``META-INF/`` and ``module-info`` are for newer versions, which look for them themselves.
    """
    needed = 0
    for info in archive.infolist():
        name = info.filename
        if name.endswith(".class") and not name.startswith("META-INF/") and not name.endswith("module-info.class"):
            with archive.open(info) as stream:
                head = stream.read(8)
            if len(head) == 8 and struct.unpack(">I", head[:4])[0] == _CLASS_MAGIC:
                needed = max(needed, struct.unpack(">H", head[6:])[0] - _JAVA_1)
    return needed


def class_parents(content: bytes) -> frozenset[str]:
    """Return the superclass and the direct interfaces of a class file; empty if it cannot be parsed."""
    try:
        if struct.unpack_from(">I", content)[0] != _CLASS_MAGIC:
            return frozenset()
        texts: dict[int, str] = {}
        classes: dict[int, int] = {}
        count, at, index = struct.unpack_from(">H", content, 8)[0], 10, 1
        while index < count:
            tag = content[at]
            if tag == _TEXT_TAG:
                length = struct.unpack_from(">H", content, at + 1)[0]
                texts[index] = content[at + 3 : at + 3 + length].decode("utf-8", errors="replace")
                at += 3 + length
            else:
                if tag == _CLASS_TAG:
                    classes[index] = struct.unpack_from(">H", content, at + 1)[0]
                at += 1 + _CONSTANT_BYTES[tag]
            index += 2 if tag in _WIDE_TAGS else 1
        above, number = struct.unpack_from(">HH", content, at + 4)
        own = struct.unpack_from(f">{number}H", content, at + 8)
        return frozenset(texts[classes[parent]] for parent in (above, *own) if parent)
    except (struct.error, IndexError, KeyError):
        return frozenset()
