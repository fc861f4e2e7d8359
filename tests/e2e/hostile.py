"""A hostile client of the bridge: raw sockets, and requests generated from its OpenAPI document."""

import json
import re
import resource
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from jsonschema import Draft202012Validator
from requests import Request
from schemathesis import GenerationMode
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.result import Err, Ok

FLOWS = "/v1/nodes/PartyA/flows"
ATTACHMENTS = "/v1/nodes/PartyA/attachments"
ANSWER_SECONDS_MAX = 60.0
"""Longer than any time limit of the bridge for a client."""
UNAVAILABLE = 503
UNAVAILABLE_SHARE_MAX = 0.01
"""Requests that come one after the other take no room from each other."""
GAUGE = re.compile(r"^(bridge_connections|bridge_connections_limit|bridge_request_memory_bytes) (\S+)$", re.MULTILINE)


class Attacker:
    """Opens connections to the bridge and sends what no good client sends."""

    def __init__(self, url: str, stack: ExitStack) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._stack = stack

    def open(self, data: bytes = b"") -> socket.socket:
        """Return a new connection on which ``data`` was sent, or as much of it as the bridge has taken."""
        connection = self._stack.enter_context(socket.create_connection(self._address, timeout=ANSWER_SECONDS_MAX))
        with suppress(OSError):
            connection.sendall(data)
        return connection

    def ask(self, data: bytes, *, half_close: bool = False) -> bytes:
        """Send ``data`` on a new connection and return all that comes back before the bridge closes it."""
        connection = self.open(data)
        with suppress(OSError):
            if half_close:
                connection.shutdown(socket.SHUT_WR)
        return everything(connection)


def received(connection: socket.socket) -> bytes:
    """Return the next data that a connection receives; nothing if it has ended, in whatever way."""
    try:
        return connection.recv(65536)
    except TimeoutError:
        raise
    except OSError:
        return b""


def everything(connection: socket.socket) -> bytes:
    """Return what a connection receives until it ends, in whatever way. Raises TimeoutError if it does not end."""
    parts = []
    while part := received(connection):
        parts.append(part)
    return b"".join(parts)


def statuses(answer: bytes) -> list[int]:
    """Return the status of each answer in what a connection has received."""
    return [int(status) for status in re.findall(rb"^HTTP/1\.1 (\d{3})", answer, re.MULTILINE)]


def post(body_bytes: int, *, content_type: str = "application/json") -> bytes:
    """Return the headers of a flow start."""
    return (
        f"POST {FLOWS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {body_bytes}\r\n\r\n"
    ).encode()


def get(path: str) -> bytes:
    """Return a request on a connection that stays open."""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


@contextmanager
def attack(url: str) -> Iterator[Attacker]:
    """Provide an attacker, whose connections are closed at the end."""
    with ExitStack() as stack:
        yield Attacker(url, stack)


def seconds_until(condition: Callable[[], bool], limit: float) -> float:
    """Return the seconds until a condition holds. Raises AssertionError if it does not within ``limit``."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < limit, f"not within {limit:g} s"
        time.sleep(0.05)
    return time.monotonic() - began


def is_ready(bridge: httpx.Client) -> bool:
    """Return whether the bridge says that it is ready."""
    try:
        return bridge.get("/health/ready", timeout=2.0).is_success
    except httpx.HTTPError:
        return False


def is_ready_for_others(url: str) -> bool:
    """Return whether the bridge says so on a new connection."""
    with httpx.Client(base_url=url, trust_env=False) as other:
        return is_ready(other)


def may_open(files: int) -> bool:
    """Let this process open so many files at a time. Returns whether the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY in (soft, hard) or soft >= files:
        return True
    if hard >= files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return hard >= files


def upload(body_bytes: int) -> bytes:
    """Return the headers of an upload."""
    return (
        f"POST {ATTACHMENTS}?name=hostile.zip HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/zip\r\n"
        f"Content-Length: {body_bytes}\r\n\r\n"
    ).encode()


def started(bridge: httpx.Client) -> tuple[float, float]:
    """Return when the bridge's process was started, and how many flows it has started since."""
    page = bridge.get("/metrics").text
    began = re.search(r"^process_start_time_seconds (\S+)$", page, re.MULTILINE)
    assert began is not None
    flows = re.findall(r"^bridge_flows_started_total\S* (\S+)$", page, re.MULTILINE)
    return float(began[1]), sum(map(float, flows))


def held(bridge: httpx.Client) -> dict[str, float]:
    """Return the bridge's connections, their limit, and the bytes that it has reserved for requests."""
    return {name: float(value) for name, value in GAUGE.findall(bridge.get("/metrics").text)}


NODE, NODE_IN_PATH = "#/components/parameters/Node", "{node}"


@schemathesis.serializer("application/zip")
def as_bytes(_context: Any, value: Any) -> bytes:
    """Send a generated body as it is, or as text: the bridge must refuse what is no attachment."""
    return value if isinstance(value, bytes) else str(value).encode()


def fuzz(url: str, token: str, requests: int) -> tuple[int, Counter[int]]:
    """Send about as many generated bad requests to the operations with parameters.

    Returns the number of operations, and how many requests got which status. Raises AssertionError with the request,
    reduced to what matters, if the bridge accepts it, or if an answer is a failure of the bridge, or has a status or a
    form that its OpenAPI document does not have. So it does if many answers are 503, which say nothing about the
    requests.
    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with httpx.Client(base_url=url, headers=headers, trust_env=False) as client:
        document = client.get("/openapi.json").json()
        found = client.get("/v1/nodes").json()["nodes"]
    nodes = [node["name"] for node in sorted(found, key=lambda node: bool(node.get("notary")))]
    schema = schemathesis.openapi.from_dict(with_nodes(document, nodes))
    results = list(schema.get_all_operations())
    broken = [str(result.err()) for result in results if isinstance(result, Err)]
    assert not broken, broken
    every = [result.ok() for result in results if isinstance(result, Ok)]
    operations = [operation for operation in every if list(operation.iter_parameters()) or operation.body]
    seen: Counter[int] = Counter()
    each = -(-requests // len(operations))
    for operation in operations:
        _fuzz(operation, url, headers, each, seen)
    assert seen[UNAVAILABLE] <= UNAVAILABLE_SHARE_MAX * sum(seen.values()), f"too often without room: {seen}"
    return len(operations), seen


def with_nodes(document: dict[str, Any], nodes: list[str]) -> dict[str, Any]:
    """Return the OpenAPI document, which is that of any lab, for a lab with these nodes. ``document`` is changed.

    Where anything else of a request can be wrong, its node is the first of them. Otherwise most requests would name a
    node that does not exist, and get no further.
    """
    document["components"]["parameters"]["Node"]["schema"]["enum"] = nodes
    paths: dict[str, dict[str, Any]] = {}
    for path, item in document["paths"].items():
        others = [one for one in item.pop("parameters", []) if one.get("$ref") != NODE]
        for method, operation in item.items():
            own = [*others, *operation.get("parameters", [])]
            is_fixed = NODE_IN_PATH in path and (any(map(may_be_wrong, own)) or "requestBody" in operation)
            named = path.replace(NODE_IN_PATH, nodes[0]) if is_fixed else path
            node = [] if is_fixed or NODE_IN_PATH not in path else [{"$ref": NODE}]
            paths.setdefault(named, {})[method] = {**operation, "parameters": [*node, *own]}
    return {**document, "paths": paths}


def may_be_wrong(parameter: dict[str, Any]) -> bool:
    """Return whether a value of a parameter can be wrong. Any text in a path is right if nothing is said about it."""
    return bool(parameter["in"] != "path" or parameter["schema"].keys() != {"type"})


def _fuzz(operation: Any, url: str, headers: dict[str, str], requests: int, seen: Counter[int]) -> None:
    documented = {int(status) for status in operation.definition.raw["responses"]}

    @settings(
        max_examples=requests, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(case=operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    def send(case: Any) -> None:
        assume(not is_good_as_sent(case, url))
        response = case.call(base_url=url, headers=headers)
        status = response.status_code
        seen[status] += 1
        assert status >= 400, f"accepted: {response.request.url} {response.request.body!r}"
        assert status < 500 or status == UNAVAILABLE, f"{status}: {response.text[:500]}"
        # Broken HTTP is answered before the route is known.
        assert status in documented | {400, 404, 405, 413}, f"{operation.label} has no answer {status}"
        if response.content:
            problem = json.loads(response.content)
            assert problem["status"] == status
            assert problem["type"].startswith("urn:corda-lab:problem:")

    send()


def is_good_as_sent(case: Any, url: str) -> bool:
    """Return whether only the query of a generated request was to be wrong, and as text it is not.

    A text in place of a boolean or a number in place of a text is no mistake there if it reads ``false`` or ``0``.
    """
    wrong = [where for where, part in case.meta.components.items() if part.mode is GenerationMode.NEGATIVE]
    if wrong != [ParameterLocation.QUERY]:
        return False
    request = Request(**case.as_transport_kwargs(base_url=url)).prepare()
    sent = parse_qs(urlsplit(request.url or "").query, keep_blank_values=True)
    parameters = [one for one in case.operation.iter_parameters() if one.location is ParameterLocation.QUERY]
    return all(is_good(one.definition, sent.get(one.name, [])) for one in parameters)


def is_good(parameter: dict[str, Any], texts: list[str]) -> bool:
    """Return whether a parameter may be sent with these texts."""
    if len(texts) != 1:
        return not texts and not parameter.get("required")
    value: object = texts[0]
    if parameter["schema"]["type"] != "string":
        with suppress(ValueError):
            value = json.loads(texts[0])
    return bool(Draft202012Validator(parameter["schema"]).is_valid(value))
