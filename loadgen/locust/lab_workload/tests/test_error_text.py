"""What is a value in an error message, and what is not."""

import pytest

from lab_workload.error_text import without_values


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            'invalid-argument: args.iouValue must be a whole number, but is "x17" (not an int: "x17")',
            'invalid-argument: args.iouValue must be a whole number, but is "…" (not an int: "…")',
        ),
        (
            'invalid-argument: args.amount must be an amount, but is {"quantity":57,"token":"GBP"}',
            'invalid-argument: args.amount must be an amount, but is {"…":…,"…":"…"}',
        ),
        (
            "flow-failed: run-1-0a1b2c3d-17: flow 9b2f6f4e-2f0b-4d4b-8d3a-0b8f5a3f9e11, transaction " + "DEADBEEF" * 8,
            "flow-failed: …: flow …, transaction …",
        ),
        (
            "flow-failed: 300.5 s after 2026-11-22T12:51:59.123Z, 172.18.0.5:10004 gave Session@1b2c3d",
            "flow-failed: … s after …, … gave Session@…",
        ),
        ("flow-failed: coin-17 is spent, state_3 too", "flow-failed: coin-… is spent, state_… too"),
    ],
)
def test_values_are_taken_out(message: str, expected: str) -> None:
    assert without_values(message) == expected


@pytest.mark.parametrize(
    "message",
    [
        "http-500: the answer could not be read",
        "flow-failed: it wasn't signed, and PartyB didn't say why",
        "flow-failed: SHA256withECDSA on H2 is not there: net.corda.core.flows.FlowException",
        "",
    ],
)
def test_names_and_words_stay(message: str) -> None:
    assert without_values(message) == message


def test_a_message_without_values_has_none_to_take_out() -> None:
    once = without_values("flow-failed: 'a 17' at 2026-11-22T12:51:59Z")

    assert without_values(once) == once
