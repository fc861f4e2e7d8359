"""``lab workload flows``: the flows that a node can start, their parameters, and the types of these."""

from typing import Any, Literal

from corda_lab.clients.bridge import Bridge, Node
from corda_lab.errors import chosen
from corda_lab.text import ui
from lab_workload.flows import Flow, Parameter, signature

LISTS = ("list", "collection", "set", "iterable")
Form = Literal["optional", "list", "map", ""]


def base(name: str) -> str:
    """The class of a type in lower case, without its arguments: ``map`` of ``Map<String, int>?``."""
    return name.removesuffix("?").partition("<")[0].lower()


def arguments(name: str) -> list[str]:
    """The arguments of a type: ``["String", "List<Party>"]``; none if it has none."""
    inner = name.removesuffix("?").partition("<")[2].removesuffix(">")
    found: list[str] = []
    depth, start = 0, 0
    for index, character in enumerate(inner):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            found.append(inner[start:index].strip())
            start = index + 1
    return [*found, inner[start:].strip()] if inner else []


def taken_apart(name: str) -> tuple[Form, str]:
    """What a type is made of: ``("list", "Party")`` of ``Set<Party>?``; ``("", name)`` if it holds no others.

    Arrays are lists, but for bytes. A map holds its values.
    """
    plain = name.removesuffix("?")
    if plain.endswith("[]"):
        return ("", plain) if plain == "byte[]" else ("list", plain.removesuffix("[]"))
    match base(plain), arguments(plain):
        case "optional", [inner]:
            return "optional", inner
        case "map", [_, inner]:
            return "map", inner
        case kind, [inner] if kind in LISTS:
            return "list", inner
    return "", plain


def innermost(name: str) -> str:
    """The type of the values within lists, maps and optionals: ``Party`` of ``Map<String, List<Party>>?``."""
    form, inner = taken_apart(name)
    return innermost(inner) if form else inner


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
        name = innermost(parameter.type)
        if (parameter.fields or parameter.values) and name not in found:
            found[name] = parameter
            for field in parameter.fields:
                look(field)

    for way in flow.constructors:
        for parameter in way:
            look(parameter)
    return found


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
            content = f"one of {', '.join(value.values)}" if value.values else signature(value.fields)
            ui.say(f"      {name}: {content}")
    ui.console.print()
    ui.say(f"To measure one: scripts/lab workload new --node {node} --flow {flows[0].name}")
