"""What several benches measure: the flow of a workload, with a number of flows in flight."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corda_lab.clients.bridge import Bridge, Node
from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.runs import counters
from corda_lab.runs.running import RunningLab
from corda_lab.steps.load import USERS_MAX
from corda_lab.steps.plan import RunPlan
from lab_workload.values import Values

START_SECONDS_MAX = 120
"""Time limit of everything before the load: a container, a JVM, and the connections."""


@dataclass(frozen=True)
class BenchJob:
    """What a bench runs: the plan of the load, and the arguments of its flow."""

    compose: Compose
    bridge: Bridge
    plan: RunPlan
    arguments: Mapping[str, Any]

    @property
    def flow(self) -> str:
        """The class name of the flow."""
        return self.plan.subject.parts[0].flow

    @property
    def container_seconds_max(self) -> float:
        """Time limit of a container that drives the load."""
        return START_SECONDS_MAX + self.plan.options.total_seconds + self.plan.flow_timeout_seconds


def read_users(text: str, *, option: str = "--users") -> tuple[int, ...]:
    """Read an option such as ``--users``: ``1,20,100``. Raises LabError."""
    try:
        users = tuple(int(word) for word in text.split(","))
    except ValueError:
        users = ()
    if not users or not all(1 <= each <= USERS_MAX for each in users) or len(set(users)) < len(users):
        raise LabError(
            f"{option}: {text!r} is not a list of numbers of flows in flight",
            f"Use different whole numbers from 1 to {USERS_MAX}, separated by commas, such as 1,20,100.",
        )
    return users


def fixed_arguments(plan: RunPlan, nodes: dict[str, Node]) -> dict[str, object]:
    """Render the arguments of the workload's flow once, for the peers that repeat them. Raises LabError."""
    part = plan.workload.parts[0]
    if len(plan.workload.parts) > 1 or plan.subject.others or plan.workload.setup:
        raise LabError(
            f"--workload: {plan.workload.name} has several flows or nodes, or a set-up",
            "Choose a workload with one flow on one node and no set-up.",
        )
    to = plan.subject.parts[0].counterparty
    values = Values(
        seed=plan.options.seed,
        node=nodes[plan.subject.node].x500_name,
        counterparty=nodes[to].x500_name if to else None,
    )
    return dict(part.arguments.render(values))


def await_rest(lab: RunningLab) -> None:
    """Wait until no flow is in flight. Raises LabError after the time limit, and if a service has ended."""
    if not counters.await_rest(lab, since=time.time()):
        raise LabError("Flows are still in flight", "Wait until `scripts/lab status` shows none.", exit_code=1)
