"""A simulated load by hand, with the files that the generator keeps of it and the counters of Prometheus, for tests."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from corda_lab.clients.prometheus import Series, Value
from lab_workload.load import Load
from lab_workload.plan import PLAN_SUFFIX, Plan
from lab_workload.run_end import RunEnd
from lab_workload.subject import LoadPart, Subject
from support import simulation

IDENTITY = "web-20231114T221320Z"
"""The id of a load that begins at ``simulation.ORIGIN``."""
IOU = "org.cordalab.flows.Iou"
WORKLOAD = """\
description: Issue an IOU.
node: PartyA
counterparty: PartyB
flow: org.cordalab.flows.Iou
args:
  iouValue: "{{ random_int(1, 99) }}"
  otherParty: "{{ counterparty }}"
state: org.cordalab.states.IouState
"""
CLOSED = Load(workload="iou", users=4, warm_up_seconds=0)
STARTED_AT = simulation.ORIGIN - 500.0


def plan(load: Load = CLOSED, identity: str = IDENTITY) -> Plan:
    """What the generator was to do."""
    part = LoadPart(
        name="Iou",
        flow=IOU,
        flow_short="Iou",
        counterparty="PartyB",
        changes={simulation.IOU_STATE: {"PartyA": 1, "PartyB": 1}},
    )
    return Plan(
        identity=identity,
        load=load,
        workload_text=WORKLOAD,
        starters=(),
        subject=Subject("PartyA", (part,)),
        seconds=None,
    )


def write(directory: Path, plan: Plan, rows: list[dict[str, Any]], end: RunEnd | None) -> None:
    """Write the files of a load as the generator does."""
    simulation.write_rows(directory / f"{plan.identity}.ndjson", rows)
    (directory / f"{plan.identity}{PLAN_SUFFIX}").write_text(plan.model_dump_json(indent=2) + "\n", encoding="utf-8")
    if end is not None:
        (directory / f"{plan.identity}.end.json").write_text(
            f"{json.dumps(end.as_dict(), indent=2)}\n", encoding="utf-8"
        )


class CountingPrometheus(MagicMock):
    """Knows how many IOUs had ended at each time, and when bridge, nodes and generator had started."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.flows: dict[float, int] = {}
        """From each time on (unix seconds): the number of flows."""
        self.restarted: dict[str, float] = {}
        """When a process started again. Its counters begin again at 0."""
        self.silent: set[str] = set()
        """Processes of which it has no samples."""
        self.in_flight_until = 0.0

    def instant(self, _: str, *, at: float) -> list[Value]:
        count = max(((time, flows) for time, flows in self.flows.items() if time <= at), default=(0.0, 0))[1]
        found = []
        for process in {"bridge", "locust", "PartyA", "PartyB"} - self.silent:
            job = process if process in ("bridge", "locust") else "corda"
            own = {"job": job, **({"node": process} if job == "corda" else {})}
            started_at = self.restarted.get(process, STARTED_AT)
            flows = 0 if started_at > at else count
            found.append(_value("process_start_time_seconds", own, min(started_at, at)))
            if process == "bridge":
                labels = {**own, "node": "PartyA", "flow": IOU}
                found.append(_value("bridge_flows_completed_total", labels, flows))
            elif job == "corda":
                flow = IOU if process == "PartyA" else f"{IOU}Responder"
                labels = {**own, "flow": flow, "outcome": "success"}
                found.append(_value("corda_flow_duration_seconds_count", labels, flows))
        return found

    def range(self, _: str, *, started_at: float, ended_at: float, step_seconds: float) -> list[Series]:
        steps = int((ended_at - started_at) / step_seconds)
        times = [started_at + step * step_seconds for step in range(steps + 1)]
        return [Series({}, [(at, float(at < self.in_flight_until)) for at in times])]


def _value(name: str, labels: Mapping[str, str], value: float) -> Value:
    return Value({"__name__": name, **labels}, value, 0.0)
