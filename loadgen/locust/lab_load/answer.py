"""Parses the bridge's answers to flow starts."""

import json
from dataclasses import dataclass
from typing import Any, TypedDict

from lab_workload.error_text import without_values

ERROR_TEXT_MAX = 500
"""Maximum length of an error in a row."""
ERROR_LABEL_MAX = 160
"""Maximum length of an error in Locust's table."""

PAUSE_SECONDS = 1.0
"""Pause of a user if there was no answer, or if the answer says that no flow ran."""
RETRY_AFTER_SECONDS_MAX = 60.0
_FLOW_RAN = frozenset({200, 502, 504})
"""HTTP statuses after which a user in closed load continues at once, because a flow ran or may have run."""

_PROBLEM_PREFIX = "urn:corda-lab:problem:"
_UNKNOWN_OUTCOMES = frozenset({"no-answer", "unreadable-answer", "outcome-unknown", "internal-error"})
"""Problems that do not say whether the flow ran. An answer with status 5xx that is not from the bridge is another."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one flow start, as the generator saw it."""

    status: int
    """HTTP status; 0 if there was no answer."""
    error: str | None = None
    """The problem's name and detail; None if the flow succeeded."""
    flow_id: str | None = None
    tx_id: str | None = None
    rpc_ms: float | None = None
    """Duration of the RPC call from the bridge to the node that starts the flow."""
    flow_ms: float | None = None
    """Time from the start of the flow to its result or its exception, as the bridge saw it."""
    received_at: float | None = None
    """When the request arrived at the bridge, in Unix seconds."""
    started_at: float | None = None
    """When the bridge began to start the flow, in Unix seconds."""
    pause_seconds: float = 0.0
    """Pause of the user before its next flow."""

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def leaves_unknown(self) -> bool:
        """Whether the answer does not say if the flow succeeded: it may still be running, or be on the ledger."""
        name = (self.error or "").partition(":")[0]
        return name in _UNKNOWN_OUTCOMES or name.startswith("http-5")

    @property
    def label(self) -> str:
        """The error without its values, so that equal errors are counted together."""
        return without_values(self.error or "")[:ERROR_LABEL_MAX]

    @property
    def kind(self) -> str:
        return f"{self.status} {without_values(self.error or '')}"


def read_answer(status: int, body: bytes, retry_after: str | None) -> Answer:
    content = _json_object(body)
    if status == 200 and content is not None and isinstance(content.get("flowId"), str):
        return Answer(status=status, flow_id=content["flowId"], tx_id=content.get("txId"), **_times(content))
    pause_seconds = 0.0 if status in _FLOW_RAN else PAUSE_SECONDS
    if status == 429:
        pause_seconds = _retry_after_seconds(retry_after)
    return Answer(
        status=status,
        error=_error_text(status, content),
        flow_id=(content or {}).get("flowId"),
        pause_seconds=pause_seconds,
        **_times(content or {}),
    )


def no_answer(reason: str) -> Answer:
    """Return an ``Answer`` for a request that may have been sent, but has no answer: connection lost, or timeout."""
    return Answer(status=0, error=f"no-answer: {reason}"[:ERROR_TEXT_MAX], pause_seconds=PAUSE_SECONDS)


def not_sent(reason: str) -> Answer:
    """Return an ``Answer`` for a request that never left the generator, because nothing accepted the connection."""
    return Answer(status=0, error=f"not-sent: {reason}"[:ERROR_TEXT_MAX], pause_seconds=PAUSE_SECONDS)


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(body)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _error_text(status: int, content: dict[str, Any] | None) -> str:
    if content is None or status == 200:
        return f"unreadable-answer: HTTP {status} without the expected content"
    slug = str(content.get("type", "")).removeprefix(_PROBLEM_PREFIX)
    detail = content.get("detail") or content.get("title") or ""
    return f"{slug or f'http-{status}'}: {detail}"[:ERROR_TEXT_MAX]


class _Times(TypedDict):
    """The times that the bridge states in an answer. Those of a flow that never ran are None."""

    rpc_ms: float | None
    flow_ms: float | None
    received_at: float | None
    started_at: float | None


def _times(content: dict[str, Any]) -> _Times:
    timings = content.get("timings")
    timings = timings if isinstance(timings, dict) else {}
    return _Times(
        rpc_ms=_number(timings.get("rpcMs")),
        flow_ms=_number(timings.get("flowMs")),
        received_at=_number(timings.get("receivedAt")),
        started_at=_number(timings.get("startedAt")),
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _retry_after_seconds(value: str | None) -> float:
    """Return the seconds in a ``Retry-After`` header. A date is ignored, because the bridge never sends one."""
    if value is None or not value.strip().isdecimal():
        return PAUSE_SECONDS
    return min(float(value), RETRY_AFTER_SECONDS_MAX)
