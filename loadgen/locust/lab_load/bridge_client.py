"""Client for the bridge before a run: reads parties and flows, and makes the flow starts of the set-up."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import requests

from lab_load.answer import read_answer
from lab_load.generator_settings import authorization
from lab_workload.flows import Flow, Party
from lab_workload.problems import LoadError, Location, Problem, field_location

ASK_TIMEOUT_SECONDS = 15.0
BODY_BYTES_MAX = 32 * 1024 * 1024
"""Maximum size of an answer. A list of 100,000 state references takes half of it."""
CHUNK_BYTES = 64 * 1024
WRONG_START_STATUSES = (400, 404, 413)
"""HTTP statuses with which the bridge rejects an invalid flow start."""


class BridgeError(LoadError):
    """The bridge does not answer, or rejects a request, before the run has begun."""


class RejectedError(BridgeError):
    """The bridge rejects a request because of what it contains."""

    def __init__(self, message: str, detail: str, field: Location) -> None:
        super().__init__(message)
        self.detail = detail
        self.field = field


class BridgeClient:
    """A client of the bridge. Every request uses its own connection, and the token of the environment."""

    def __init__(self, url: str) -> None:
        self._url = url

    def parties(self, node: str) -> list[Party]:
        """Return the parties in the network map of ``node``, without notaries. Raises ``BridgeError``."""
        entries = self._list(f"/v1/nodes/{quote(node, safe='')}/parties", "parties")
        with self._reading("parties"):
            return [Party(entry["name"], entry["x500Name"]) for entry in entries if not entry.get("notary", False)]

    def flows(self, node: str) -> list[Flow]:
        entries = self._list(f"/v1/nodes/{quote(node, safe='')}/flows", "flows")
        with self._reading("flows"):
            return [Flow.of_json(entry) for entry in entries]

    def platform_version(self, node: str) -> int:
        with self._reading("nodes"):
            return int(self._nodes()[node]["platformVersion"])

    def notary(self, node: str) -> str | None:
        """Return the X.500 name of the first notary that ``node`` knows; None if none. Raises ``BridgeError``."""
        with self._reading("nodes"):
            return next(map(str, self._nodes()[node].get("notaries") or ()), None)

    def outstanding(self) -> dict[str, int]:
        """Return the number of outstanding flows of every node. Raises ``BridgeError``."""
        with self._reading("nodes"):
            return {name: int(entry.get("outstandingFlows") or 0) for name, entry in self._nodes().items()}

    def _nodes(self) -> Mapping[str, Any]:
        return {str(entry["name"]): entry for entry in self._list("/v1/nodes", "nodes")}

    def _list(self, path: str, field: str) -> list[Any]:
        body = self._get(path)
        with self._reading(field):
            return list(body[field])

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Raise ``BridgeError`` if an answer is not what it should be."""
        try:
            yield
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            text = f"the answer of the bridge at {self._url} about {what} cannot be parsed: {error!r}"
            raise BridgeError(text) from error

    def start(self, node: str, flow: str, args: Mapping[str, Any], client_id: str, timeout_seconds: float) -> Any:
        """Start a flow, wait for its end and return its result. Raises ``BridgeError`` with the bridge's reason."""
        body = json.dumps({"flow": flow, "args": args, "clientId": client_id}).encode()
        path = f"/v1/nodes/{quote(node, safe='')}/flows"
        return self._post(path, body, "application/json", timeout_seconds).get("result")

    def start_problem(self, node: str, flow: str, args: Mapping[str, Any]) -> Problem | None:
        """Let the bridge check a flow start without starting it. Returns a problem located within it, or None.

        Raises ``BridgeError`` if it does not answer.
        """
        body = json.dumps({"flow": flow, "args": args}).encode()
        path = f"/v1/nodes/{quote(node, safe='')}/flows?check=true"
        try:
            self._ask("POST", path, ASK_TIMEOUT_SECONDS, data=body, headers={"Content-Type": "application/json"})
        except RejectedError as error:
            return Problem(f"the bridge rejects it: {error.detail}", error.field)
        except requests.RequestException as error:
            raise BridgeError(f"no answer from the bridge: {innermost_cause(error)}") from error
        return None

    def upload(self, node: str, name: str, content: bytes, timeout_seconds: float) -> str:
        """Upload an attachment to ``node`` and return its id. Raises ``BridgeError`` with the bridge's reason."""
        path = f"/v1/nodes/{quote(node, safe='')}/attachments?name={quote(name)}"
        answer = self._post(path, content, "application/zip", timeout_seconds)
        with self._reading("an attachment"):
            return str(answer["attachmentId"])

    def _get(self, path: str) -> Any:
        try:
            return _parsed(path, self._ask("GET", path, ASK_TIMEOUT_SECONDS))
        except BridgeError as error:
            raise BridgeError(f"the bridge at {self._url} is not ready for load: {error.message}") from error
        except requests.RequestException as error:
            raise BridgeError(
                f"the bridge at {self._url} does not answer ({innermost_cause(error)}); is the lab up?"
            ) from error

    def _post(self, path: str, body: bytes, content_type: str, timeout_seconds: float) -> Any:
        try:
            answer = self._ask("POST", path, timeout_seconds, data=body, headers={"Content-Type": content_type})
        except requests.RequestException as error:
            raise BridgeError(f"no answer from the bridge: {innermost_cause(error)}") from error
        parsed = _parsed(path, answer)
        return parsed if isinstance(parsed, dict) else {}

    def _ask(self, method: str, path: str, timeout_seconds: float, **content: Any) -> bytes:
        """Send a request and return the content of the answer.

        Raises ``BridgeError`` with the reason if the answer is an error, and ``requests.RequestException`` if there is
        no answer.
        """
        with requests.Session() as session:
            # Ignore proxies in the environment: the lab's network is never behind one.
            session.trust_env = False
            session.headers["Accept"] = "application/json"
            session.headers.update(authorization())
            with session.request(method, self._url + path, timeout=timeout_seconds, stream=True, **content) as response:
                body = _content(response)
                if not response.ok:
                    raise _rejection(response.status_code, body)
        return body


def innermost_cause(error: BaseException) -> str:
    """Return the innermost cause of an error. requests wraps that of the operating system several times."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return str(error)


def _parsed(path: str, body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise BridgeError(f"the answer to {path} is not JSON") from error


def _rejection(status: int, body: bytes) -> BridgeError:
    message = str(read_answer(status, body, None).error)
    if status not in WRONG_START_STATUSES:
        return BridgeError(message)
    problem = json.loads(body) if body else {}
    return RejectedError(message, str(problem.get("detail", message)), field_location(str(problem.get("field", ""))))


def _content(response: requests.Response) -> bytes:
    body = bytearray()
    for chunk in response.iter_content(CHUNK_BYTES):
        body += chunk
        if len(body) > BODY_BYTES_MAX:
            raise BridgeError(f"the answer is longer than {BODY_BYTES_MAX} bytes")
    return bytes(body)
