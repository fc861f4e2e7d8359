"""What the load generator asks the bridge before a run: who is there, what can be started, and the set-up's own starts."""

import json
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import ProxyHandler, Request, build_opener

from lab_load.answer import read_answer
from lab_workload.flows import Flow, Party
from lab_workload.problems import LoadError

ASK_TIMEOUT_SECONDS = 15.0
BODY_BYTES_MAX = 32 * 1024 * 1024
"""Longest answer that is read: a list of 100,000 references to states has half of it."""


class BridgeError(LoadError):
    """The bridge does not answer, or says no, before a run has begun."""


class BridgeClient:
    """The bridge's answers, each asked for on a connection of its own."""

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
            raise self._unreadable("parties", error) from error

    def platform_version(self, node: str) -> int:
        """Platform version of ``node``. Raises ``BridgeError``."""
        body = self._get("/v1/nodes")
        try:
            return int(next(entry["platformVersion"] for entry in body["nodes"] if entry["name"] == node))
        except (KeyError, TypeError, ValueError, StopIteration) as error:
            raise self._unreadable("nodes", error) from error

    def flows(self, node: str) -> list[Flow]:
        """Every flow that ``node`` can start. Raises ``BridgeError``."""
        body = self._get(f"/v1/nodes/{quote(node)}/flows")
        try:
            return [Flow.of_json(entry) for entry in body["flows"]]
        except (KeyError, TypeError, AttributeError) as error:
            raise self._unreadable("flows", error) from error

    def start(self, node: str, flow: str, args: Mapping[str, Any], client_id: str, timeout_seconds: float) -> Any:
        """Start a flow and wait for its end: its result. Raises ``BridgeError`` with the bridge's reason."""
        body = json.dumps({"flow": flow, "args": args, "clientId": client_id}).encode()
        headers = {"Content-Type": "application/json"}
        return self._post(f"/v1/nodes/{quote(node)}/flows", body, headers, timeout_seconds).get("result")

    def upload(self, node: str, name: str, content: bytes, timeout_seconds: float) -> str:
        """Give ``node`` an attachment: its id. Raises ``BridgeError`` with the bridge's reason."""
        path = f"/v1/nodes/{quote(node)}/attachments?{urlencode({'name': name})}"
        answer = self._post(path, content, {"Content-Type": "application/zip"}, timeout_seconds)
        try:
            return str(answer["attachmentId"])
        except KeyError as error:
            raise self._unreadable("an attachment", error) from error

    def _get(self, path: str) -> Any:
        try:
            return self._ask(Request(self._url + path), ASK_TIMEOUT_SECONDS)
        except BridgeError as error:
            raise BridgeError(f"the bridge at {self._url} is not ready for load: {error.message}") from error
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise BridgeError(f"the bridge at {self._url} does not answer ({reason}); is the lab up?") from error

    def _post(self, path: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float) -> Any:
        try:
            answer = self._ask(Request(self._url + path, data=body, headers=dict(headers)), timeout_seconds)
        except OSError as error:
            raise BridgeError(f"no answer from the bridge: {getattr(error, 'reason', error)}") from error
        return answer if isinstance(answer, dict) else {}

    def _ask(self, request: Request, timeout_seconds: float) -> Any:
        """The content of a good answer. Raises ``BridgeError`` with the reason of a bad one, ``OSError`` for none."""
        request.add_header("Accept", "application/json")
        try:
            with self._opener.open(request, timeout=timeout_seconds) as response:
                return json.loads(response.read(BODY_BYTES_MAX))
        except HTTPError as error:
            with error:
                answer = read_answer(error.code, error.read(BODY_BYTES_MAX), None)
            raise BridgeError(str(answer.error)) from error
        except HTTPException as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from error
        except ValueError as error:
            raise BridgeError(f"{request.selector} was not answered with JSON") from error

    def _unreadable(self, what: str, error: Exception) -> BridgeError:
        return BridgeError(f"the bridge at {self._url} answered {what} that cannot be read: {error!r}")
