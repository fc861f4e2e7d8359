"""The x of an exponent: an expression of numbers, names, ``+ - * /`` and parentheses, and nothing else.

A name is that of a field of a sweep (``set.participants``) or its last part (``participants``).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

TEXT_MAX = 200
"""The most characters of an expression."""

_ALLOWED = re.compile(r"[\w.\s+*/()-]*")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*")
_SIZES = {"k": 1024, "m": 1024**2, "g": 1024**3}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmg])b?", re.IGNORECASE)


class ExpressionError(ValueError):
    """The text is no such expression, or has no value. The message says why in one line."""


@dataclass(frozen=True)
class Expression:
    """An expression that was read, and the names in it in their order."""

    text: str
    names: tuple[str, ...]
    computed: pl.Expr

    def value(self, names: Mapping[str, float]) -> float:
        """Return the value, given that of every name. Raises ExpressionError if it has none."""
        row = pl.DataFrame({name: [float(names[name])] for name in self.names})
        value = float(row.select(self.computed.cast(pl.Float64)).item())
        if not math.isfinite(value):
            raise ExpressionError(f"{self.text} divides by 0, or is too large")
        return value


def parse(text: str) -> Expression:
    """Read an expression. Raises ExpressionError."""
    if len(text) > TEXT_MAX:
        raise ExpressionError(f"is longer than {TEXT_MAX} characters")
    if not _ALLOWED.fullmatch(text):
        raise ExpressionError("may have only numbers, names, + - * / and parentheses")
    try:
        # A name is quoted, because it may have a dot. In parentheses, a second name is no alias of the first.
        computed = pl.sql_expr("(" + _NAME.sub(r'"\g<0>"', text) + ")")
    except pl.exceptions.PolarsError:
        raise ExpressionError("is no expression") from None
    return Expression(text, tuple(dict.fromkeys(_NAME.findall(text))), computed)


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
