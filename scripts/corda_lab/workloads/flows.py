"""``lab workload flows``: the flows that a node can start, and their parameters."""

from typing import Any

from corda_lab.clients.bridge import Bridge, Node
from corda_lab.errors import chosen
from corda_lab.text import ui
from corda_lab.workloads import type_names
from lab_workload.flows import Flow, Parameter, signature


def find_node(name: str, bridge: Bridge) -> Node:
    """Return a node by its name, ignoring case. Raises LabError with a suggestion if there is no such node."""
    nodes = bridge.nodes()
    return nodes[chosen("NODE: unknown node", name, nodes)]


def as_dicts(flows: list[Flow]) -> list[dict[str, Any]]:
    return [
        {
            "flow": flow.name,
            "shortName": flow.short_name,
            "constructors": [[one.as_json() for one in parameters] for parameters in flow.constructors],
        }
        for flow in flows
    ]


def classes_of(flow: Flow) -> dict[str, Parameter]:
    """Return the classes of the flow's arguments with known fields or constants, by short name, in order of use."""
    found: dict[str, Parameter] = {}

    def look(parameter: Parameter) -> None:
        name = type_names.innermost(parameter.type)
        if (parameter.fields or parameter.values) and name not in found:
            found[name] = parameter
            for field in parameter.fields:
                look(field)

    for way in flow.constructors:
        for parameter in way:
            look(parameter)
    return found


def class_line(name: str, value: Parameter) -> str:
    """Format a class: ``InsuranceInfo: policy: String, vehicle: Vehicle``, or the constants of an enum."""
    if value.values:
        return f"{name}: one of {', '.join(value.values)}"
    return f"{name}: {signature(value.fields)}"


def show(node: str, flows: list[Flow]) -> None:
    if not flows:
        ui.say(f"{node} has no flows that can be started by RPC.")
        return
    for flow in flows:
        ui.say(flow.name, "bold")
        ways = [signature(parameters) for parameters in flow.constructors] or [
            "unknown parameters: the class file has no parameter names"
        ]
        for way in ways:
            # The terminal wraps long lines, so that names can be searched for and copied.
            ui.say(f"    {way}")
        for name, value in classes_of(flow).items():
            ui.say(f"      {class_line(name, value)}")
    ui.console.print()
    ui.say(f"To measure one: scripts/lab workload new --node {node} --flow {flows[0].name}")
