"""When all requests of a process count as failed in the same way."""

from lab_load.answer import Answer
from lab_load.same_failure import SameFailure
from lab_workload.load import SAME_FAILURE_REQUESTS_MIN

FIRST = range(1, SAME_FAILURE_REQUESTS_MIN + 1)


def refused(value: object, status: int = 400) -> Answer:
    return Answer(status, error=f"invalid-argument: args.iouValue is '{value}'")


def test_the_same_failure_with_a_value_each_is_one() -> None:
    watched = SameFailure()
    for ordinal in FIRST:
        assert watched.kind is None
        watched.note(ordinal, refused(ordinal))

    assert watched.kind == "400 invalid-argument: args.iouValue is '…'"


def test_a_single_success_says_that_it_is_not_so() -> None:
    watched = SameFailure()
    for ordinal in FIRST:
        watched.note(ordinal, refused(ordinal))
    watched.note(len(FIRST) + 1, None)
    for ordinal in range(100, 200):
        watched.note(ordinal, refused(ordinal))

    assert watched.kind is None


def test_two_failures_are_not_the_same() -> None:
    by_text, by_status = SameFailure(), SameFailure()
    for ordinal in FIRST:
        by_text.note(ordinal, refused(ordinal) if ordinal % 2 else Answer(400, error="invalid-argument: too long"))
        by_status.note(ordinal, refused(ordinal, status=400 + ordinal % 2))

    assert (by_text.kind, by_status.kind) == (None, None)


def test_refusals_say_nothing_while_the_first_requests_are_in_flight() -> None:
    watched = SameFailure()
    for ordinal in range(len(FIRST) + 1, 500):
        watched.note(ordinal, refused(ordinal, status=429))

    assert watched.kind is None
