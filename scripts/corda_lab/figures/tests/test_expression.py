"""Expressions of numbers, names and four operations: values, and every text that is none."""

import pytest

from corda_lab.figures.statistic import EXPRESSION_CHARACTERS_MAX, NoStatistic, parse

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
        ("1 / 4 * n", 0.75),
        ("n * (10 / 4)", 7.5),
    ],
)
def test_the_value_is_that_of_arithmetic(text: str, value: float) -> None:
    assert parse(text).value(NAMES) == value


def test_names_are_listed_once_in_their_order() -> None:
    assert parse("b * (a - b) * set.c").names == ("b", "a", "set.c")


@pytest.mark.parametrize(
    "text", ["", "2 *", "* 2", "(n", "n)", "n n", "(" * 150 + "n", "n(2)", "n ** 2", "n.__class__()", "(n + 1).real"]
)
def test_what_cannot_be_read_is_no_expression(text: str) -> None:
    with pytest.raises(NoStatistic, match="is no expression"):
        parse(text)


@pytest.mark.parametrize("text", ["2 + n % 2", "open('x')", "[n][0]", "'n'", 'n"', "n, n", "n = 3", "{n}", "n;"])
def test_nothing_but_arithmetic_is_read(text: str) -> None:
    with pytest.raises(NoStatistic, match="may have only"):
        parse(text)


def test_a_text_that_is_too_long_is_not_read() -> None:
    with pytest.raises(NoStatistic, match=f"is longer than {EXPRESSION_CHARACTERS_MAX} characters"):
        parse("n" * (EXPRESSION_CHARACTERS_MAX + 1))


@pytest.mark.parametrize("text", ["n / (n - 3)", "n * huge"])
def test_an_expression_without_a_value_is_an_error(text: str) -> None:
    with pytest.raises(NoStatistic, match="divides by 0, or is too large"):
        parse(text).value({**NAMES, "huge": 1.7e308})
