"""Client for the parts of the bridge's HTTP API that the command line uses, and for the bridge's metrics."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

import httpx
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from corda_lab.errors import LabError
from lab_workload.flows import Flow
from lab_workload.problems import Problem, field_location

ANSWER_SECONDS_MAX = 30.0
PAGE_STATES = 2000
"""States per page of the vault's transactions. The node sorts the vault for every thousand, and loads each state from
its transaction; after a load of hours, it must still answer within the time that the bridge gives it."""
VAULT_PAUSES = (1.0, 2.0, 4.0)
"""The pauses in seconds before a vault is read again because its node or the bridge had an error. Reading changes
nothing, and what one read after a load of hours does not show may be all that it was for."""
LIMIT_METRIC = "bridge_flows_in_flight_limit"
START_REMEDY = "Start the lab with `scripts/lab up`. `scripts/lab status` shows the state of its services."
FlowState = Literal["completed", "failed", "running", "absent", "unreachable"]
"""What the bridge says about a client id. absent: neither the bridge nor the node knows it."""
FLOW_STATES: Mapping[int, FlowState] = {200: "completed", 202: "running", 404: "absent", 502: "failed"}
"""What a status of ``GET …/flows/{clientId}`` says about the flow. Any other says nothing about it."""
WRONG_START_STATUSES = (400, 404, 413)
"""HTTP statuses with which the bridge rejects an invalid flow start."""


@dataclass(frozen=True)
class FlowStatus:
    """What became of a flow start. ``transaction`` is the id of its transaction, if it returned one."""

    state: FlowState
    transaction: str | None = None


@dataclass(frozen=True)
class LastFailure:
    """The last flow that the bridge started on a node and that failed. ``at`` is in Unix seconds."""

    flow: str
    reason: str
    detail: str
    at: float

    @property
    def text(self) -> str:
        """The flow and what went wrong, in one line."""
        return f"{self.flow}: {' '.join(self.detail.split())}"


@dataclass(frozen=True)
class Node:
    name: str
    x500_name: str
    platform_version: int
    is_ready: bool
    is_notary: bool
    outstanding_flows: int
    keeps_client_ids: bool = True
    """Whether it can be asked about a flow by client id (Corda ≥ 4.6)."""
    notary_x500_names: tuple[str, ...] = ()
    last_failure: LastFailure | None = None


class Bridge:
    """A client of the bridge. Its methods raise LabError if a request fails."""

    def __init__(self, url: str, token: str = "", *, seconds_max: float = ANSWER_SECONDS_MAX) -> None:
        """Talk to the bridge at ``url``. ``token`` is its BRIDGE_TOKEN; empty if it needs none.

        It has at most ``seconds_max`` seconds for an answer.
        """
        self.url = url
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(base_url=url, headers=headers, timeout=seconds_max, trust_env=False)

    def close(self) -> None:
        self._client.close()

    def _get(self, path: str, parameters: dict[str, str] | None = None, pauses: Sequence[float] = ()) -> httpx.Response:
        """Read something. After an error that is not the caller's, it is read again after each of ``pauses``."""
        answer = self._ask("GET", path, params=parameters)
        for seconds in pauses:
            if not answer.is_server_error:
                break
            time.sleep(seconds)
            answer = self._ask("GET", path, params=parameters)
        if answer.is_error:
            raise LabError(f"The bridge rejected GET {path}: {problem_detail(answer)}", "", exit_code=1)
        return answer

    def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            return self._client.request(method, path, **options)
        except httpx.HTTPError as error:
            raise LabError(f"The bridge at {self.url} does not answer ({error})", START_REMEDY) from None

    def is_ready(self) -> bool:
        """Return whether every node answers the bridge. False also if the bridge itself does not answer."""
        try:
            return self._client.get("/health/ready", timeout=5.0).is_success
        except httpx.HTTPError:
            return False

    def nodes(self) -> dict[str, Node]:
        answer = self._get("/v1/nodes")
        try:
            return {node.name: node for node in map(_node, answer.json()["nodes"])}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LabError(
                f"The answer of the bridge at {self.url} about nodes cannot be parsed: {error!r}", exit_code=1
            ) from None

    def outstanding_max(self, node: str) -> int:
        limits = {each.labels["node"]: each.value for each in self.metrics() if each.name == LIMIT_METRIC}
        return int(limits[node])

    def flow_definitions(self, node: str) -> list[Flow]:
        """Return the flows that a node can start, sorted by name, with all their constructors."""
        entries = self._get(node_path(node, "flows")).json()["flows"]
        return sorted(map(Flow.of_json, entries), key=lambda flow: flow.name)

    def start_problem(self, node: str, flow: str, args: Mapping[str, Any]) -> Problem | None:
        """Let the bridge check a flow start without starting it. Returns a problem located within it, or None."""
        body = {"flow": flow, "args": args}
        answer = self._ask("POST", node_path(node, "flows"), params={"check": "true"}, json=body)
        if answer.is_success:
            return None
        if answer.status_code not in WRONG_START_STATUSES:
            raise LabError(f"The bridge cannot check {flow} on {node}: {problem_detail(answer)}", "", exit_code=1)
        problem = answer.json()
        return Problem(f"the bridge rejects it: {problem['detail']}", field_location(problem.get("field", "")))

    def start_flow(
        self, node: str, flow: str, args: Mapping[str, Any], client_id: str, *, seconds_max: float
    ) -> dict[str, Any]:
        """Start a flow, wait for its end, and return the bridge's answer. Raises LabError if it does not succeed."""
        body = {"flow": flow, "args": args, "clientId": client_id}
        answer = self._ask("POST", node_path(node, "flows"), json=body, timeout=seconds_max)
        if answer.is_error:
            raise LabError(f"{flow} on {node}: {problem_detail(answer)}", exit_code=1)
        ended: dict[str, Any] = answer.json()
        return ended

    def _read_vault(self, node: str, what: str, parameters: dict[str, str]) -> dict[str, Any]:
        answer: dict[str, Any] = self._get(node_path(node, f"vault/{what}"), parameters, VAULT_PAUSES).json()
        return answer

    def vault_unconsumed(self, node: str, state_type: str) -> int:
        answer = self._read_vault(node, "count", {"stateType": state_type})
        return int(answer["unconsumed"])

    def vault_changes(self, node: str, since: float) -> dict[str, int]:
        """Return by how much the number of unconsumed states has changed in a node's vault since a time, by class.

        ``since`` is in Unix seconds, by the node's clock. Classes of which states were recorded and as many consumed
        have the change 0. Raises LabError if the vault has more changes than a few flows make.
        """
        answer = self._read_vault(node, "changes", {"since": f"{since:.3f}"})
        return {
            str(change["stateType"]): int(change["recorded"]) - int(change["consumed"]) for change in answer["changes"]
        }

    def flow_status(self, node: str, client_id: str) -> FlowStatus:
        """Ask what became of the flow that was started with a client id. Raises nothing if the bridge is away."""
        try:
            answer = self._client.get(node_path(node, f"flows/{quote(client_id, safe='')}"))
            content = answer.json()
        except (httpx.HTTPError, ValueError):
            return FlowStatus("unreachable")
        state = FLOW_STATES.get(answer.status_code, "unreachable")
        return FlowStatus(state, content.get("txId") if state == "completed" else None)

    def forget_flows(self, node: str, prefix: str) -> int:
        """Let a node forget the ended flows whose client ids begin with ``prefix``. Returns how many remain."""
        answer = self._ask("DELETE", node_path(node, "flows"), params={"clientIdPrefix": prefix})
        if answer.is_error:
            raise LabError(f"The bridge did not forget the flows of {prefix}: {problem_detail(answer)}", exit_code=1)
        return int(answer.json()["remaining"])

    def vault_transactions(self, node: str, state_type: str, since: float) -> set[str]:
        """Return the ids of all transactions that recorded states of one type in a node's vault since a time.

        ``since`` is in Unix seconds, by the node's clock. The node must be at rest.
        """
        transactions: set[str] = set()
        page: int | None = 1
        while page is not None:
            parameters = {"stateType": state_type, "since": f"{since:.3f}", "page": str(page)}
            answer = self._read_vault(node, "transactions", {**parameters, "pageSize": str(PAGE_STATES)})
            transactions.update(str(identity).upper() for identity in answer["transactionIds"])
            page = answer["nextPage"]
        return transactions

    def metrics(self) -> list[Sample]:
        """Return the samples on the bridge's metrics page, read directly and not from Prometheus."""
        return parse_metrics(self._get("/metrics").text)


def parse_metrics(page: str) -> list[Sample]:
    """Return the samples on a page of metrics. Raises LabError."""
    try:
        return [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    except ValueError as error:
        raise LabError(f"A page of metrics cannot be parsed: {error}", exit_code=1) from None


def _node(entry: Mapping[str, Any]) -> Node:
    """Parse a node in an answer of the bridge. Raises KeyError, TypeError, ValueError or AttributeError."""
    failure = entry.get("lastFailure")
    return Node(
        name=str(entry["name"]),
        x500_name=str(entry.get("x500Name") or ""),
        platform_version=int(entry.get("platformVersion") or 0),
        is_ready=bool(entry["ready"]),
        is_notary=bool(entry.get("notary")),
        outstanding_flows=int(entry.get("outstandingFlows") or 0),
        keeps_client_ids=bool(entry.get("clientIdSupported", True)),
        notary_x500_names=tuple(map(str, entry.get("notaries") or ())),
        last_failure=failure
        and LastFailure(
            flow=str(failure["flow"]),
            reason=str(failure["reason"]),
            detail=str(failure["detail"]),
            at=datetime.fromisoformat(str(failure["at"])).timestamp(),
        ),
    )


def node_path(node: str, what: str) -> str:
    return f"/v1/nodes/{quote(node, safe='')}/{what}"


def problem_detail(answer: httpx.Response) -> str:
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    text = (problem.get("detail") or problem.get("title")) if isinstance(problem, dict) else None
    return f"{text or answer.reason_phrase} (HTTP {answer.status_code})"
