"""``lab flows``: what a node can start, and with which arguments."""

from typing import Any

from corda_lab.clients.bridge import Bridge, Node
from corda_lab.errors import LabError
from corda_lab.text import ui
from lab_workload.flows import Flow, signature
from lab_workload.names import canonical, did_you_mean


def find_node(name: str, bridge: Bridge) -> Node:
    """A node by its name, upper and lower case being the same. Raises LabError."""
    nodes = bridge.nodes()
    found = canonical(name, nodes)
    if found is None:
        raise LabError(f"NODE: unknown node {name!r}{did_you_mean(name, nodes)}", f"There are {', '.join(nodes)}.")
    return nodes[found]


def as_dicts(flows: list[Flow]) -> list[dict[str, Any]]:
    """The form that ``--json`` prints."""
    return [
        {
            "flow": flow.name,
            "shortName": flow.short_name,
            "constructors": [
                [{"name": one.name, "type": one.type} for one in parameters] for parameters in flow.constructors
            ],
        }
        for flow in flows
    ]


def show(node: str, flows: list[Flow]) -> None:
    """Print every flow with a line per way to start it."""
    if not flows:
        ui.console.print(f"{node} has no flow that RPC can start.", markup=False)
        return
    for flow in flows:
        ui.console.print(flow.name, style="bold", markup=False, highlight=False)
        ways = [signature(parameters) for parameters in flow.constructors] or [
            "not known: its class has no parameter names"
        ]
        for way in ways:
            # Long lines are left to the terminal, so that names can be found and copied.
            ui.console.print(f"    {way}", markup=False, highlight=False, soft_wrap=True)
    ui.console.print()
    ui.console.print(f"Measure one: scripts/lab workload new --node {node} --flow {flows[0].name}", markup=False)
