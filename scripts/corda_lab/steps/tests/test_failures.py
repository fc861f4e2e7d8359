"""Failed requests by kind."""

from corda_lab.steps.entry import FailureKind
from corda_lab.steps.rows import error_words, further, grouped_errors


def kind(status: int, error: str, count: int, first_at: float = 0.0) -> FailureKind:
    return FailureKind(status=status, error=error, count=count, first_at=first_at)


def test_requests_with_a_value_each_are_one_kind_with_the_first_as_its_example() -> None:
    each = [kind(400, f'invalid-argument: args.iouValue is "x{n}"', 1, first_at=200.0 - n) for n in range(140)]
    (found,) = grouped_errors(each)
    assert (found.count, found.first_at) == (140, 61.0)
    assert error_words(found) == '140 × 400 invalid-argument: args.iouValue is "…"'
    assert found.example == 'invalid-argument: args.iouValue is "x139"'


def test_another_status_or_another_message_is_another_kind_and_the_most_frequent_comes_first() -> None:
    found = grouped_errors(
        [kind(502, "flow-failed: refused", 1), kind(502, "flow-failed: spent", 7), kind(504, "flow-failed: refused", 2)]
    )
    assert [(one.status, one.count, one.example) for one in found] == [(502, 7, None), (504, 2, None), (502, 1, None)]


def test_what_is_grouped_already_stays_as_it_is() -> None:
    once = grouped_errors([kind(502, "flow-failed: state 17 is spent", 3), kind(0, "no-answer: refused", 1)])
    assert grouped_errors(once) == once


def test_an_answer_that_never_came_has_no_status() -> None:
    assert error_words(kind(0, "no-answer: cut off", 1200)) == "1,200 × no answer no-answer: cut off"


def test_kinds_that_are_not_shown_are_counted() -> None:
    kinds = [kind(502, f"flow-failed: {letter}", 1) for letter in "abcde"]
    assert [further(kinds[:3]), further(kinds[:4]), further(kinds)] == [
        "",
        "and 1 more kind of error",
        "and 2 more kinds of error",
    ]
