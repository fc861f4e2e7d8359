"""Expressions of numbers, names and four operations: values, and every text that is none."""

import ast
import operator
import random

import pytest

from corda_lab.figures.expression import DEPTH_MAX, TEXT_MAX, ExpressionError, parse

NAMES = {"participants": 8.0, "set.backchainSize": 10.0, "n": 3.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("participants", 8),
        ("participants * (participants - 2) * set.backchainSize", 480),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("20 - 3 - 4", 13),
        ("64 / 4 / 2", 8),
        ("-n + 1", -2),
        ("2 * -n", -6),
        ("- - n", 3),
        ("1.5*n", 4.5),
    ],
)
def test_the_value_is_that_of_arithmetic(text: str, value: float) -> None:
    assert parse(text).value(NAMES) == value


def arithmetic(node: ast.expr) -> float:
    """The value of an expression as Python reads it."""
    operations = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
    match node:
        case ast.Constant(value=float(value) | int(value)):
            return float(value)
        case ast.Name(id=name):
            return NAMES[name]
        case ast.BinOp(left=left, op=op, right=right):
            return float(operations[type(op)](arithmetic(left), arithmetic(right)))
        case ast.UnaryOp(operand=operand):
            return -arithmetic(operand)
    raise AssertionError(ast.dump(node))


def any_text(source: random.Random, depth: int) -> str:
    """A random expression without division by what may be 0."""
    if depth == 0 or source.random() < 0.3:
        return source.choice(["n", "participants", "7", "0.25"])
    left, right = any_text(source, depth - 1), any_text(source, depth - 1)
    sign = source.choice("+-*")
    return source.choice([f"{left} {sign} {right}", f"({left}{sign}{right})", f"-{left}", f"{left} / 4"])


@pytest.mark.parametrize("seed", range(50))
def test_precedence_is_that_of_python(seed: int) -> None:
    text = any_text(random.Random(seed), 4)
    assert parse(text).value(NAMES) == pytest.approx(arithmetic(ast.parse(text, mode="eval").body)), text


def test_names_are_listed_once_in_their_order() -> None:
    assert parse("b * (a - b) * set.c").names == ("b", "a", "set.c")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "ends where a number or a name is expected"),
        ("2 *", "ends where a number or a name is expected"),
        ("* 2", "'*' stands where a number or a name is expected"),
        ("(n", "a parenthesis is not closed"),
        ("n)", "')' is not expected there"),
        ("n n", "'n' is not expected there"),
        ("n ** 2", "'*' stands where a number or a name is expected"),
        ("n % 2", "'%' at place 3 is no number, name, + - * / or parenthesis"),
        ("open('x')", '"\'" at place 6 is no number, name, + - * / or parenthesis'),
        ("n.__class__()", "'(' is not expected there"),
        ("1e9", "'e9' is not expected there"),
        ("n" * (TEXT_MAX + 1), f"is longer than {TEXT_MAX} characters"),
        ("(" * (DEPTH_MAX + 2) + "n", f"is nested more than {DEPTH_MAX} levels deep"),
        ("-" * (DEPTH_MAX + 2) + "n", f"is nested more than {DEPTH_MAX} levels deep"),
    ],
)
def test_what_is_no_expression_says_why(text: str, why: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("text", "why"),
    [("n / (n - 3)", "divides by 0"), ("other", "other has no value"), ("n * huge", "n * huge is too large")],
)
def test_an_expression_without_a_value_says_why(text: str, why: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text).value({**NAMES, "huge": 1.7e308})
    assert str(caught.value) == why
