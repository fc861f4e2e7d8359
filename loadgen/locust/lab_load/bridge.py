"""What the load generator asks the bridge and how it reads the answers."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

from lab_load.errors import LoadError
from lab_load.names import did_you_mean

ASK_TIMEOUT_SECONDS = 15.0
BODY_BYTES_MAX = 16 * 1024 * 1024
ERROR_TEXT_MAX = 500
"""Characters of an error that a row keeps."""
ERROR_LABEL_MAX = 160
"""Characters of an error that Locust's table keeps."""

PAUSE_SECONDS = 1.0
"""How long a user waits after an answer that says that no flow ran, or after none."""
RETRY_AFTER_SECONDS_MAX = 60.0
_FLOW_RAN = frozenset({200, 502, 504})
"""Answers after which a closed user goes on at once: a flow ran, or may have."""

_PROBLEM_PREFIX = "urn:corda-lab:problem:"
_IDENTIFIER = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[0-9a-fA-F]{16,}|\S*-[0-9a-f]{8}-\d+")
"""UUIDs, hashes and our client ids: what would make every error a kind of its own."""


class BridgeError(LoadError):
    """The bridge does not answer, or says no, before a run has begun."""


@dataclass(frozen=True)
class Party:
    """A node as the network map has it."""

    name: str
    x500_name: str


@dataclass(frozen=True, slots=True)
class Answer:
    """How one flow start ended, as far as the generator can tell."""

    status: int
    """HTTP status; 0 when there was no answer."""
    error: str | None = None
    """None when the flow ended well, else the problem's slug and detail."""
    flow_id: str | None = None
    tx_id: str | None = None
    rpc_ms: float | None = None
    """Time of the start-flow call between bridge and node."""
    flow_ms: float | None = None
    """Time from the start of the flow to its result, seen by the bridge."""
    pause_seconds: float = 0.0
    """How long the user should wait before its next flow."""

    @property
    def ok(self) -> bool:
        """Whether the flow ended well."""
        return self.error is None

    @property
    def label(self) -> str:
        """The error without identifiers, so that equal errors count as one."""
        return _IDENTIFIER.sub("…", self.error or "")[:ERROR_LABEL_MAX]


class Bridge:
    """The bridge's read-only questions, asked once before a run."""

    def __init__(self, url: str) -> None:
        self._url = url
        # The lab's own network is never behind the proxy that the environment may name.
        self._opener = build_opener(ProxyHandler({}))

    def parties(self, node: str) -> list[Party]:
        """Every party that ``node`` has in its network map, notaries left out. Raises ``BridgeError``."""
        body = self._get(f"/v1/nodes/{quote(node)}/parties")
        try:
            entries = [entry for entry in body["parties"] if not entry.get("notary", False)]
            return [Party(entry["name"], entry["x500Name"]) for entry in entries]
        except (KeyError, TypeError, AttributeError) as error:
            raise BridgeError(f"the bridge at {self._url} answered parties that cannot be read: {error!r}") from error

    def check_flow(self, node: str, flow: str, arguments: Mapping[str, Any]) -> None:
        """See that ``node`` can start ``flow`` and that it has parameters of these names. Raises ``BridgeError``."""
        body = self._get(f"/v1/nodes/{quote(node)}/flows")
        try:
            known = {entry["flow"]: entry for entry in body["flows"]}
            short_names = {entry["shortName"] for entry in known.values()}
            found = [entry for entry in known.values() if flow in (entry["flow"], entry["shortName"])]
            signatures = [
                {parameter["name"] for parameter in names} for entry in found for names in entry["parameters"]
            ]
        except (KeyError, TypeError) as error:
            raise BridgeError(f"the bridge at {self._url} answered flows that cannot be read: {error!r}") from error
        if not found:
            hint = did_you_mean(flow, known if "." in flow else short_names)
            raise BridgeError(f"flow: {node} cannot start {flow}{hint or '; see GET /v1/nodes/' + node + '/flows'}")
        # What is left out the bridge judges: a parameter may be optional.
        if signatures and not any(names.issuperset(arguments) for names in signatures):
            wanted = " or ".join(f"({', '.join(sorted(names))})" for names in signatures)
            raise BridgeError(f"args: {flow} takes {wanted}, the workload gives ({', '.join(sorted(arguments))})")

    def _get(self, path: str) -> Any:
        request = Request(self._url + path, headers={"Accept": "application/json"})
        try:
            with self._opener.open(request, timeout=ASK_TIMEOUT_SECONDS) as response:
                return json.loads(response.read(BODY_BYTES_MAX))
        except HTTPError as error:
            with error:
                answer = read_answer(error.code, error.read(BODY_BYTES_MAX), None)
            raise BridgeError(f"the bridge at {self._url} is not ready for load: {answer.error}") from error
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise BridgeError(f"the bridge at {self._url} does not answer ({reason}); is the lab up?") from error
        except ValueError as error:
            raise BridgeError(f"the bridge at {self._url} did not answer {path} with JSON") from error


def read_answer(status: int, body: bytes, retry_after: str | None) -> Answer:
    """Read the answer to a flow start."""
    content = _json_object(body)
    if status == 200 and content is not None and isinstance(content.get("flowId"), str):
        timings = content.get("timings")
        timings = timings if isinstance(timings, dict) else {}
        return Answer(
            status=status,
            flow_id=content["flowId"],
            tx_id=content.get("txId"),
            rpc_ms=_milliseconds(timings.get("rpcMs")),
            flow_ms=_milliseconds(timings.get("flowMs")),
        )
    pause_seconds = 0.0 if status in _FLOW_RAN else PAUSE_SECONDS
    if status == 429:
        pause_seconds = _retry_after_seconds(retry_after)
    return Answer(
        status=status,
        error=_error_text(status, content),
        flow_id=(content or {}).get("flowId"),
        pause_seconds=pause_seconds,
    )


def no_answer(reason: str) -> Answer:
    """The answer to a request that got none: refused, cut off, timed out."""
    return Answer(status=0, error=f"no-answer: {reason}"[:ERROR_TEXT_MAX], pause_seconds=PAUSE_SECONDS)


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(body)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _error_text(status: int, content: dict[str, Any] | None) -> str:
    if content is None or status == 200:
        return f"unreadable-answer: HTTP {status} without the content that belongs to it"
    slug = str(content.get("type", "")).removeprefix(_PROBLEM_PREFIX)
    detail = content.get("detail") or content.get("title") or ""
    return f"{slug or f'http-{status}'}: {detail}"[:ERROR_TEXT_MAX]


def _milliseconds(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _retry_after_seconds(value: str | None) -> float:
    """Seconds in a ``Retry-After`` header; a date, which the bridge never sends, counts as none."""
    if value is None or not value.strip().isdecimal():
        return PAUSE_SECONDS
    return min(float(value), RETRY_AFTER_SECONDS_MAX)
