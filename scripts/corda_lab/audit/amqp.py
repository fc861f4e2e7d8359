"""Reads what Corda has serialised: AMQP 1.0 values behind a magic number, described by a schema of their own.

Only reading, and only what ledgers contain: an object is an envelope of its value, its schema and its transforms.
Source of the form: ``net.corda.serialization.internal.amqp`` of Corda 3.3 to 4.10, and the AMQP 1.0 specification, part
1. ``cramjam`` expands Snappy, in which nodes store transactions.
"""

import struct
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

MAGIC = b"corda\x01\x00"
DEPTH_MAX = 200
"""How deep values may be nested. Deeper ones are no transaction of Corda."""
SIZE_MAX = 64 * 1024**2
"""Bytes of an expanded transaction. Its attachments are not part of it, and a network allows 10 MB by default."""

_DATA, _ENCODED = 0, 2
_DEFLATE, _SNAPPY = 0, 1
_COMPOSITE, _RESTRICTED, _REFERENCE = (0xC562_0000_0000_0000 + code for code in (5, 6, 8))

Kind = TypeVar("Kind")


class UnreadableError(Exception):
    """The bytes are not what Corda writes, or not in a form that is known here."""


def expect(kind: type[Kind], value: object) -> Kind:
    """A value that has to be of a type. Raises UnreadableError."""
    if not isinstance(value, kind):
        raise UnreadableError(f"{kind.__name__} is missing; there is {type(value).__name__}")
    return value


class Described(NamedTuple):
    """A value with its type: a number of Corda's own, or the fingerprint of a type in the schema."""

    descriptor: object
    value: object


class Record(NamedTuple):
    """An object: the class that wrote it, and its properties."""

    class_name: str
    fields: Mapping[str, object]

    def get(self, name: str, kind: type[Kind]) -> Kind:
        """A property that has to be of a type. Raises UnreadableError."""
        return expect(kind, self.fields.get(name))


class _Type(NamedTuple):
    name: str
    fields: tuple[str, ...] | None
    """None if a value of this type is no object, such as a list."""


def load(data: bytes) -> object:
    """Return the object that was serialised. Raises UnreadableError.

    It is None, a boolean, number, text or bytes, a list, the pairs of a map, a ``Described`` or a ``Record``.
    """
    try:
        raw = expanded(data)
        # An envelope is a described list of the value, its schema and its transforms, which are described lists too.
        envelope = _Reader(raw, 1)
        envelope.enter()
        value = envelope.at
        envelope.at = schema = envelope.enter()
        return _Reader(raw, value, _types(raw[schema : envelope.enter()])).value()
    except (IndexError, struct.error, ValueError, TypeError, zlib.error, RecursionError) as error:
        raise UnreadableError(f"{type(error).__name__}: {error}") from None


def expanded(data: bytes) -> bytes:
    """The bytes from the section on that has the envelope, without compression."""
    if not data.startswith(MAGIC):
        raise UnreadableError("it does not begin as Corda's serialised objects do")
    section = data[len(MAGIC) :]
    if section[0] == _ENCODED:
        encoding, packed = section[1], section[2:]
        if encoding == _SNAPPY:
            # Imported here, because every verb that runs a load imports this module, and only an audit expands.
            import cramjam

            try:
                section = bytes(cramjam.snappy.decompress(packed))
            except cramjam.DecompressionError as error:
                raise UnreadableError(str(error)) from None
        elif encoding == _DEFLATE:
            section = zlib.decompressobj().decompress(packed, SIZE_MAX)
        else:
            raise UnreadableError(f"its encoding {encoding} is not known")
    if not section or section[0] != _DATA:
        raise UnreadableError("it has no section with data")
    return section


_FIXED: Mapping[int, struct.Struct] = {
    code: struct.Struct(form)
    for code, form in {
        0x50: ">B", 0x51: ">b", 0x52: ">B", 0x53: ">B", 0x54: ">b", 0x55: ">b", 0x56: ">?",
        0x60: ">H", 0x61: ">h", 0x70: ">I", 0x71: ">i", 0x72: ">f", 0x73: ">I",
        0x80: ">Q", 0x81: ">q", 0x82: ">d", 0x83: ">q", 0x98: ">16s",
    }.items()
}  # fmt: skip
_CONSTANT: Mapping[int, object] = {0x40: None, 0x41: True, 0x42: False, 0x43: 0, 0x44: 0}
_ONE, _FOUR, _TWO_FOURS = struct.Struct(">B"), struct.Struct(">I"), struct.Struct(">II")
_BYTES: Mapping[int, tuple[struct.Struct, bool]] = {
    0xA0: (_ONE, False), 0xA1: (_ONE, True), 0xA3: (_ONE, True),
    0xB0: (_FOUR, False), 0xB1: (_FOUR, True), 0xB3: (_FOUR, True),
}  # fmt: skip
"""Variable width: how its length is written, and whether it is text."""


class _Reader:
    """Reads one value after the other, as objects of the types in a schema.

    An object that was written before is written as a reference: its number in the order in which objects ended.
    """

    def __init__(self, data: bytes, at: int, types: Mapping[str, _Type] | None = None) -> None:
        self.data = data
        self.at = at
        self.types = types or {}
        self.objects: list[object] = []
        self.depth = 0

    def enter(self) -> int:
        """Go to the first value of a described list. Returns where the list ends."""
        if self.data[self.at] != 0x00:
            raise UnreadableError(f"{self.data[self.at]:#x} instead of a described value at {self.at}")
        self.at += 1
        self.value()
        _, end = self._compound()
        return end

    def _compound(self) -> tuple[int, int]:
        """Go behind the head of a list or map. Returns its number of values, and where it ends."""
        code = self.data[self.at]
        at = self.at + 1
        if code == 0x45:
            self.at = at
            return 0, at
        if code in (0xC0, 0xC1):
            size, count, head = self.data[at], self.data[at + 1], 1
        elif code in (0xD0, 0xD1):
            size, count = _TWO_FOURS.unpack_from(self.data, at)
            head = 4
        else:
            raise UnreadableError(f"{code:#x} at {self.at} is no list")
        self.at = at + 2 * head
        return count, at + head + size

    def value(self) -> object:
        code = self.data[self.at]
        if code in _CONSTANT:
            self.at += 1
            return _CONSTANT[code]
        if fixed := _FIXED.get(code):
            [value] = fixed.unpack_from(self.data, self.at + 1)
            self.at += 1 + fixed.size
            return value
        if variable := _BYTES.get(code):
            head, is_text = variable
            [length] = head.unpack_from(self.data, self.at + 1)
            begin = self.at + 1 + head.size
            self.at = begin + length
            if self.at > len(self.data):
                raise UnreadableError("it ends within a value")
            content = self.data[begin : self.at]
            return content.decode() if is_text else content
        return self._nested(code)

    def _nested(self, code: int) -> object:
        if self.depth >= DEPTH_MAX:
            raise UnreadableError("its values are nested too deeply")
        self.depth += 1
        if code == 0x00:
            self.at += 1
            nested = self._object(self.value(), self.value())
        else:
            count, _ = self._compound()
            # A value takes at least one byte.
            if count > len(self.data):
                raise UnreadableError("it announces more values than it has bytes")
            values = [self.value() for _ in range(count)]
            nested = values if code not in (0xC1, 0xD1) else list(zip(values[::2], values[1::2], strict=True))
        self.depth -= 1
        return nested

    def _object(self, descriptor: object, value: object) -> object:
        if descriptor == _REFERENCE:
            number = expect(int, value)
            if not 0 <= number < len(self.objects):
                raise UnreadableError("it refers to an object that it does not have")
            return self.objects[number]
        kind = self.types.get(descriptor) if isinstance(descriptor, str) else None
        if kind is None:
            # A class with a serialiser of its own, such as a key: its value is text, bytes or an object.
            value = Described(descriptor, value)
        elif kind.fields is not None:
            value = Record(kind.name, dict(zip(kind.fields, expect(list, value), strict=True)))
        self.objects.append(value)
        return value


@lru_cache(maxsize=1_000)
def _types(schema: bytes) -> Mapping[str, _Type]:
    """The types of a schema. They are remembered: every kind of object has one, and it is half of the bytes."""
    types = expect(list, expect(Described, _Reader(schema, 0).value()).value)[0]
    return dict(map(_type, expect(list, types)))


def _type(raw: object) -> tuple[str, _Type]:
    """A type of a schema, by its fingerprint."""
    if not isinstance(raw, Described) or raw.descriptor not in (_COMPOSITE, _RESTRICTED):
        raise UnreadableError("its schema has a type of an unknown kind")

    def first_of(value: object) -> str:
        return str(expect(list, expect(Described, value).value)[0])

    values = expect(list, raw.value)
    if raw.descriptor == _RESTRICTED:
        return first_of(values[4]), _Type(str(values[0]), None)
    return first_of(values[3]), _Type(str(values[0]), tuple(map(first_of, expect(list, values[4]))))
