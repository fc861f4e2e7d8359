"""The x of an exponent: an expression of numbers, names, ``+ - * /`` and parentheses, and nothing else.

A name is that of a field of a sweep (``set.participants``) or its last part (``participants``).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

TEXT_MAX = 200
"""The most characters of an expression."""
DEPTH_MAX = 20
"""The deepest nesting of parentheses and signs."""

_TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|(?P<sign>[-+*/()]))")


class ExpressionError(ValueError):
    """The text is no such expression, or has no value. The message says why in one line."""


@dataclass(frozen=True)
class _Number:
    value: float


@dataclass(frozen=True)
class _Name:
    name: str


@dataclass(frozen=True)
class _Operation:
    sign: str
    left: "_Node"
    right: "_Node"


_Node = _Number | _Name | _Operation


@dataclass(frozen=True)
class Expression:
    """An expression that was read, and the names in it in their order."""

    text: str
    names: tuple[str, ...]
    root: _Node

    def value(self, names: Mapping[str, float]) -> float:
        """Return the value, given that of every name. Raises ExpressionError if a name is missing or it has none."""
        value = _value(self.root, names)
        if not math.isfinite(value):
            raise ExpressionError(f"{self.text} is too large")
        return value


def parse(text: str) -> Expression:
    """Read an expression. Raises ExpressionError."""
    if len(text) > TEXT_MAX:
        raise ExpressionError(f"is longer than {TEXT_MAX} characters")
    reader = _Reader(text)
    root = reader.sum(0)
    reader.end()
    return Expression(text, tuple(dict.fromkeys(reader.names)), root)


class _Reader:
    """Reads a text from left to right, by recursive descent."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.names: list[str] = []
        self._place = 0
        start = 0
        end = len(text.rstrip())
        while start < end:
            found = _TOKEN.match(text, start)
            if found is None:
                start += len(text[start:]) - len(text[start:].lstrip())
                raise ExpressionError(
                    f"{text[start]!r} at place {start + 1} is no number, name, + - * / or parenthesis"
                )
            self.tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
            start = found.end()

    def sum(self, depth: int) -> _Node:
        left = self._product(depth)
        while (sign := self._take("+", "-")) is not None:
            left = _Operation(sign, left, self._product(depth))
        return left

    def end(self) -> None:
        if self._place < len(self.tokens):
            raise ExpressionError(f"{self.tokens[self._place][1]!r} is not expected there")

    def _product(self, depth: int) -> _Node:
        left = self._factor(depth)
        while (sign := self._take("*", "/")) is not None:
            left = _Operation(sign, left, self._factor(depth))
        return left

    def _factor(self, depth: int) -> _Node:
        if depth > DEPTH_MAX:
            raise ExpressionError(f"is nested more than {DEPTH_MAX} levels deep")
        if self._take("-") is not None:
            return _Operation("-", _Number(0.0), self._factor(depth + 1))
        if self._take("(") is not None:
            inner = self.sum(depth + 1)
            if self._take(")") is None:
                raise ExpressionError("a parenthesis is not closed")
            return inner
        if self._place == len(self.tokens):
            raise ExpressionError("ends where a number or a name is expected")
        kind, text = self.tokens[self._place]
        if kind == "sign":
            raise ExpressionError(f"{text!r} stands where a number or a name is expected")
        self._place += 1
        if kind == "number":
            return _Number(float(text))
        self.names.append(text)
        return _Name(text)

    def _take(self, *signs: str) -> str | None:
        if self._place < len(self.tokens) and self.tokens[self._place] in [("sign", sign) for sign in signs]:
            self._place += 1
            return self.tokens[self._place - 1][1]
        return None


def _value(node: _Node, names: Mapping[str, float]) -> float:
    if isinstance(node, _Number):
        return node.value
    if isinstance(node, _Name):
        if node.name not in names:
            raise ExpressionError(f"{node.name} has no value")
        return names[node.name]
    left, right = _value(node.left, names), _value(node.right, names)
    match node.sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
    if right == 0:
        raise ExpressionError("divides by 0")
    return left / right
