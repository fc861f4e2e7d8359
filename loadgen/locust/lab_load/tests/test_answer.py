"""How answers of the bridge become outcomes."""

import json
from typing import Any

import pytest

from lab_load.answer import ERROR_TEXT_MAX, PAUSE_SECONDS, Answer, no_answer, not_sent, read_answer


def body(content: Any) -> bytes:
    return json.dumps(content).encode()


def problem(slug: str, detail: str) -> bytes:
    return body({"type": f"urn:corda-lab:problem:{slug}", "title": "A title", "detail": detail})


def test_a_success_carries_ids_and_the_bridge_s_times() -> None:
    content = {"flowId": "f", "clientId": "c", "result": 1, "txId": "t", "timings": {"rpcMs": 2, "flowMs": 30.5}}

    answer = read_answer(200, body(content), None)

    assert (answer.ok, answer.flow_id, answer.tx_id) == (True, "f", "t")
    assert (answer.rpc_ms, answer.flow_ms, answer.pause_seconds) == (2.0, 30.5, 0.0)


def test_the_bridge_says_when_it_received_the_request_and_began_to_start_the_flow() -> None:
    timings = {"receivedAt": 1795786323.123456, "startedAt": 1795786323.123871, "rpcMs": None, "flowMs": 30.5}

    for status in (200, 502):
        answer = read_answer(status, body({"flowId": "f", "timings": timings}), None)
        assert (answer.received_at, answer.started_at) == (1795786323.123456, 1795786323.123871)
        assert (answer.rpc_ms, answer.flow_ms) == (None, 30.5)


@pytest.mark.parametrize(
    ("status", "pause_seconds"),
    [(502, 0.0), (504, 0.0), (400, PAUSE_SECONDS), (404, PAUSE_SECONDS), (503, PAUSE_SECONDS)],
)
def test_a_user_pauses_after_an_answer_that_says_that_no_flow_ran(status: int, pause_seconds: float) -> None:
    answer = read_answer(status, problem("some-slug", "why"), None)

    assert (answer.status, answer.error, answer.pause_seconds) == (status, "some-slug: why", pause_seconds)


@pytest.mark.parametrize(
    ("header", "pause_seconds"),
    [("3", 3.0), ("0", 0.0), (None, 1.0), ("soon", 1.0), ("-1", 1.0), ("nan", 1.0), ("99999", 60.0)],
)
def test_retry_after_is_kept_within_bounds(header: str | None, pause_seconds: float) -> None:
    assert read_answer(429, problem("too-many-outstanding-flows", ""), header).pause_seconds == pause_seconds


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'{"result": 1}', b'{"flowId": 7}', b"\xff"])
def test_a_success_that_cannot_be_read_is_an_error(content: bytes) -> None:
    assert read_answer(200, content, None).error == "unreadable-answer: HTTP 200 without the expected content"


@pytest.mark.parametrize(
    ("answer", "is_unknown"),
    [
        (read_answer(200, body({"flowId": "f"}), None), False),
        (read_answer(502, problem("flow-failed", "why"), None), False),
        (read_answer(503, problem("node-unavailable", "why"), None), False),
        (read_answer(503, problem("overloaded", "… Nothing was started."), "1"), False),
        (not_sent("Connection refused"), False),
        (no_answer("timed out"), True),
        (read_answer(200, b"", None), True),
        (read_answer(502, b"<html>", None), True),
        (read_answer(500, problem("internal-error", "why"), None), True),
        (read_answer(504, problem("outcome-unknown", "why"), None), True),
        (read_answer(504, problem("outcome-unknown", "The flow has completed, but … no memory …"), None), True),
    ],
)
def test_an_answer_that_does_not_say_whether_the_flow_ran_leaves_the_outcome_unknown(
    answer: Answer, is_unknown: bool
) -> None:
    assert answer.leaves_unknown == is_unknown


def test_an_error_s_text_is_bounded() -> None:
    assert len(read_answer(502, problem("flow-failed", "x" * 9999), None).error or "") == ERROR_TEXT_MAX
