"""The x of an exponent: an expression of numbers, names, ``+ - * /`` and parentheses, and nothing else.

A name is that of a field of a sweep (``set.participants``) or its last part (``participants``).
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

TEXT_MAX = 200
"""The most characters of an expression."""

_SIZES = {"k": 1024, "m": 1024**2, "g": 1024**3}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmg])b?", re.IGNORECASE)

_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class ExpressionError(ValueError):
    """The text is no such expression, or has no value. The message says why in one line."""


@dataclass(frozen=True)
class Expression:
    """An expression that was read, and the names in it in their order."""

    text: str
    names: tuple[str, ...]
    root: ast.expr

    def value(self, names: Mapping[str, float]) -> float:
        """Return the value, given that of every name. Raises ExpressionError if a name is missing or it has none."""
        try:
            value = _value(self.root, names)
        except ZeroDivisionError:
            raise ExpressionError("divides by 0") from None
        except KeyError as error:
            raise ExpressionError(f"{error.args[0]} has no value") from None
        if not math.isfinite(value):
            raise ExpressionError(f"{self.text} is too large")
        return value


def parse(text: str) -> Expression:
    """Read an expression. Raises ExpressionError."""
    if len(text) > TEXT_MAX:
        raise ExpressionError(f"is longer than {TEXT_MAX} characters")
    try:
        root = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, MemoryError, RecursionError):
        raise ExpressionError("is no expression") from None
    return Expression(text, tuple(dict.fromkeys(_names(root))), root)


def _names(node: ast.expr) -> Iterator[str]:
    """Yield the names of an expression. Raises ExpressionError if it has anything else but numbers and ``+ - * /``."""
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return
        case ast.Name() | ast.Attribute() if _is_name(node):
            yield ast.unparse(node)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from _names(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATIONS:
            yield from _names(left)
            yield from _names(right)
        case _:
            raise ExpressionError(f"{ast.unparse(node)} is no number, name, + - * / or parenthesis")


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_name(node.value))


def _value(node: ast.expr, names: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=sign, right=right):
            return _OPERATIONS[type(sign)](_value(left, names), _value(right, names))
    return names[ast.unparse(node)]


def number_of(value: object) -> float | None:
    """Return a value as a number: ``8``, ``"0.5"``, or a size such as ``512m`` in bytes; None if it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, str):
        return None
    if size := _SIZE.fullmatch(value.strip()):
        return float(size[1]) * _SIZES[size[2].lower()]
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
