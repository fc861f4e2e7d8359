"""Vaults that change by what a test says when a flow is started, behind a bridge that asks no server."""

from collections.abc import Mapping
from typing import Any

from corda_lab.clients.bridge import Bridge, Node
from corda_lab.errors import LabError
from lab_workload.flows import Flow, Parameter
from lab_workload.problems import Problem
from support.simulation import nodes

IOU = Flow("org.cordalab.flows.Iou", "Iou", ((Parameter("iouValue", "int"), Parameter("otherParty", "Party")),))
STATE = "org.cordalab.states.IouState"


class TrialBridge(Bridge):
    """A bridge to vaults that change by what is given here when a flow is started; no server is asked."""

    def __init__(self, changes: Mapping[str, Mapping[str, int]], others: int = 0, failure: str = "") -> None:
        super().__init__("http://127.0.0.1:9")
        self._changes = changes
        self._others = others
        self._failure = failure
        self.started: list[tuple[str, str, Mapping[str, Any]]] = []
        self.waited = 0.0
        self.forgotten: list[str] = []
        self.forgets_nothing = False

    def nodes(self) -> dict[str, Node]:
        return nodes()

    def flow_definitions(self, node: str) -> list[Flow]:
        return [IOU]

    def start_problem(self, node: str, flow: str, args: Mapping[str, Any]) -> Problem | None:
        return None

    def start_flow(
        self, node: str, flow: str, args: Mapping[str, Any], client_id: str, *, seconds_max: float
    ) -> dict[str, Any]:
        self.started.append((node, flow, args))
        self.waited = seconds_max
        if self._failure:
            raise LabError(self._failure, exit_code=1)
        return {"txId": "AB" * 32}

    def forget_flows(self, node: str, prefix: str) -> int:
        self.forgotten.append(prefix)
        if self.forgets_nothing:
            raise LabError("The bridge did not forget the flows")
        return 0

    def vault_changes(self, node: str, since: float) -> dict[str, int]:
        return dict(self._changes.get(node, {}))

    def vault_unconsumed(self, node: str, state_type: str) -> int:
        if not self.started:
            return 100
        return 100 + sum(self._changes.get(node, {}).values()) + (self._others if node == "PartyC" else 0)
