"""``lab workload new``: creates a workload file for any flow of a node, with an example value for every argument."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from corda_lab.clients.bridge import Node
from corda_lab.errors import LabError
from lab_workload.flows import Flow, Parameter, signature
from lab_workload.names import did_you_mean

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")

EXAMPLES: Mapping[str, tuple[str, str]] = {
    "int": ("{{ random_int(1, 99) }}", "a whole number"),
    "long": ("{{ random_int(1, 99) }}", "a whole number"),
    "short": ("{{ random_int(1, 99) }}", "a whole number"),
    "byte": ("{{ random_int(1, 99) }}", "a whole number"),
    "integer": ("{{ random_int(1, 99) }}", "a whole number"),
    "biginteger": ("{{ random_int(1, 99) }}", "a whole number"),
    "double": ("{{ random_int(1, 99) / 2 }}", "a number"),
    "float": ("{{ random_int(1, 99) / 2 }}", "a number"),
    "bigdecimal": ("{{ random_int(1, 99) }}.50", "a number"),
    "boolean": ("", "true or false"),
    "char": ("a", "one character"),
    "character": ("a", "one character"),
    "string": ("text {{ counter() }}", "text; counter() makes every value different"),
    "amount<currency>": ("{{ random_int(1, 99) }} GBP", "an amount and its currency"),
    "currency": ("GBP", "a currency code"),
    "opaquebytes": ("01", "bytes in hexadecimal"),
    "securehash": ("0" * 64, "a hash in hexadecimal, such as the id of an attachment: replace it"),
    "uniqueidentifier": ("00000000-0000-0000-0000-000000000000", "the linear id of a state: replace it"),
    "uuid": ("00000000-0000-0000-0000-000000000000", "a UUID"),
    "instant": ("2026-01-31T12:00:00Z", "a UTC time"),
    "localdate": ("2026-01-31", "a date"),
    "duration": ("PT30S", "an ISO 8601 duration"),
    "stateref": ("0" * 64 + "(0)", "a state reference, hash(index): replace it"),
}
"""Example value and its description, by the parameter's type in lower case. Parties are handled by ``example``."""

PARTY_TYPES = {"party", "abstractparty", "anonymousparty", "cordax500name"}
NOTARY_NAME = re.compile(r"notar", re.IGNORECASE)
_COLLECTION = re.compile(r"(?:list|collection|set|iterable)<(.+)>")


def default_name(flow: Flow) -> str:
    """Derive a file name from the flow's class: ``CashIssueFlow`` becomes ``cash-issue``."""
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+", flow.name.rpartition(".")[2].rpartition("$")[2])
    if len(words) > 1 and words[-1] == "Flow":
        words = words[:-1]
    return "-".join(words).lower() or "workload"


def find_flow(wanted: str, node: str, flows: list[Flow]) -> Flow:
    """Return a flow by its full or short name. Raises LabError with a suggestion if there is no such flow."""
    for flow in flows:
        if wanted in {flow.name, flow.short_name}:
            return flow
    known = [name for flow in flows for name in (flow.short_name, flow.name)]
    raise LabError(
        f"--flow: {node} has no flow {wanted!r}{did_you_mean(wanted, known)}",
        f"`scripts/lab flows {node}` lists its flows.",
    )


def example(parameter: Parameter, notary: str | None) -> tuple[str, str]:
    """Return an example value as YAML, and its description."""
    nullable = parameter.type.endswith("?")
    kind = parameter.type.removesuffix("?").lower()
    also = "; null is allowed" if nullable else ""
    if kind in PARTY_TYPES:
        if NOTARY_NAME.search(parameter.name) and notary:
            return quoted(notary), f"a party's X.500 name: the notary{also}"
        return quoted("{{ counterparty }}"), f"a party's X.500 name{also}"
    if kind == "boolean":
        return "false", f"true or false{also}"
    collection = _COLLECTION.fullmatch(kind)
    if collection:
        value, meaning = example(Parameter(parameter.name, collection[1]), notary)
        return f"[{value}]", f"a list: {meaning}{also}"
    if kind in EXAMPLES:
        value, meaning = EXAMPLES[kind]
        return quoted(value), meaning + also
    if nullable:
        return "null", "a value in the notation of Corda's shell; null is allowed"
    return quoted("put a value here"), "a value in the notation of Corda's shell: replace it"


def can_be_written(parameter: Parameter) -> bool:
    """Return whether values of the parameter's type can be written in a file. Those of a progress tracker cannot."""
    kind = parameter.type.removesuffix("?").lower()
    collection = _COLLECTION.fullmatch(kind)
    if collection:
        return can_be_written(Parameter(parameter.name, collection[1]))
    return kind in PARTY_TYPES or kind == "boolean" or kind in EXAMPLES


def by_preference(flow: Flow) -> list[tuple[Parameter, ...]]:
    """Return the flow's constructors, best last.

    The best have only parameters whose values can be written in a file, and have the most parameters.
    """
    return sorted(flow.constructors, key=lambda way: (all(map(can_be_written, way)), len(way)))


def quoted(text: str) -> str:
    """Return a text as a YAML string. JSON strings are valid YAML."""
    return json.dumps(text, ensure_ascii=False)


def needs_counterparty(parameters: tuple[Parameter, ...], notary: str | None) -> bool:
    """Return whether one of the example values refers to the counterparty."""
    return any("{{ counterparty }}" in example(one, notary)[0] for one in parameters)


def argument_lines(parameters: tuple[Parameter, ...], notary: str | None) -> list[str]:
    """Return the lines below ``args:``, with aligned comments."""
    values = [(f"  {one.name}: {example(one, notary)[0]}", one) for one in parameters]
    width = max((len(line) for line, _ in values), default=0)
    return [f"{line:<{width}}  # {one.type}: {example(one, notary)[1]}" for line, one in values]


def text_of(flow: Flow, node: Node, counterparty: str | None) -> str:
    """Return the text of the workload file. It uses the flow's best constructor; a comment lists the others."""
    notary = node.notary_x500_names[0] if node.notary_x500_names else None
    ways = by_preference(flow)
    chosen = ways[-1] if ways else ()
    lines = [
        f"# Starts {flow.name} on {node.name}. docs/workloads.md explains all fields and template functions.",
        f"description: {flow.short_name.rpartition('.')[2]} on {node.name}.",
        f"node: {node.name}",
    ]
    if needs_counterparty(chosen, notary):
        lines.append(f"counterparty: {counterparty or 'PartyB'}")
    lines.append(f"flow: {flow.name}")
    others = [f"#   {signature(way)}" for way in ways[:-1]]
    if others:
        lines += ["# The flow also accepts these arguments:", *others]
    lines += ["args:", *argument_lines(chosen, notary)] if chosen else ["args: {}  # the flow has no parameters"]
    lines += [
        "unit: flow",
        "# The states that each successful flow adds to the vaults. If declared, the lab also counts the vaults:",
        "# states:",
        "#   com.example.MyState: {node: 1, counterparty: 1}",
    ]
    return "\n".join(lines) + "\n"


def write(path: Path, text: str) -> None:
    """Write a new file. Raises LabError if it already exists or cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise LabError(f"{path}: already exists", "Pass another --name, or delete the file first.") from None
    except OSError as error:
        raise LabError(f"{path}: cannot be written ({error.strerror})", "Check the folder's permissions.") from None


def check_name(name: str) -> str:
    """Return the name if it is valid for a workload file (without its suffix). Raises LabError if it is not."""
    if not NAME.fullmatch(name):
        raise LabError(
            f"--name: {name!r} is not a valid name", "Use at most 60 lower-case letters, digits, hyphens, underscores."
        )
    return name
