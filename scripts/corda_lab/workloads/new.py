"""``lab workload new``: creates a workload file for any flow of a node, with an example value for every argument."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from corda_lab import atomic
from corda_lab.clients.bridge import Node
from corda_lab.errors import LabError
from corda_lab.workloads.flows import base, innermost, taken_apart
from lab_workload.flows import Flow, Parameter, ambiguous, named, signature
from lab_workload.names import did_you_mean

CLASS_FIELD = "@class"
"""The field with the class of a value whose type is an interface or an abstract class."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
NO_NAMES = ("Flow", "Initiator")
"""Words at the end of a flow's class that say nothing about it."""
YAML_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
"""Words that YAML does not read as text."""
STATES_HINT = """\
# The states that each successful flow adds to the vaults. If declared, the lab also counts the vaults:
# states:
#   com.example.MyState: {node: 1, counterparty: 1}
"""
"""The end of the file, until a trial proposes the states."""

EXAMPLES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("int", "long", "short", "byte", "integer", "biginteger"), ("{{ random_int(1, 99) }}", "a whole number")
    ),
    **dict.fromkeys(("double", "float"), ("{{ random_int(1, 99) / 2 }}", "a number")),
    "bigdecimal": ("{{ random_int(1, 99) }}.50", "a number"),
    **dict.fromkeys(("char", "character"), ("a", "one character")),
    "string": ("text {{ counter() }}", "text; counter() makes every value different"),
    "amount<currency>": ("{{ random_int(1, 99) }} GBP", "an amount and its currency"),
    "currency": ("GBP", "a currency code"),
    "opaquebytes": ("01", "bytes: those of the text in UTF-8, or hexadecimal digits in brackets"),
    "byte[]": ("AQI=", "bytes in Base64"),
    "securehash": ("0" * 64, "a hash in hexadecimal, such as the id of an attachment: replace it"),
    "uniqueidentifier": ("00000000-0000-0000-0000-000000000000", "the linear id of a state: replace it"),
    "uuid": ("00000000-0000-0000-0000-000000000000", "a UUID"),
    **dict.fromkeys(("instant", "date"), ("2026-01-31T12:00:00Z", "a UTC time")),
    "localdate": ("2026-01-31", "a date"),
    "localdatetime": ("2026-01-31T12:00:00", "a time without a zone"),
    "duration": ("PT30S", "an ISO 8601 duration"),
    "publickey": ("put a key here", "a public key in Base58: replace it"),
    "stateref": ("0" * 64 + "(0)", "a state reference, hash(index): replace it"),
    "stateandref": (
        "0" * 64 + "(0)",
        "an unconsumed state of the node's vault by its reference, hash(index): replace it",
    ),
}
"""Example value and its description, by the parameter's type in lower case. Parties are handled by ``example``."""

PARTY_TYPES = {"party", "abstractparty", "anonymousparty", "cordax500name"}
NOTARY_NAME = re.compile(r"notar", re.IGNORECASE)

Line = tuple[str, str]
"""A line of the file, and its comment."""


def default_name(flow: Flow) -> str:
    """Derive a file name from the flow's class: ``CashIssueFlow`` becomes ``cash-issue``.

    A nested class whose own name says nothing has that of its outer class: ``ProposalFlow$Initiator`` is ``proposal``.
    """
    for part in reversed(flow.name.rpartition(".")[2].split("$")):
        words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+", part)
        is_nested = part != flow.name.rpartition(".")[2]
        while words and words[-1] in NO_NAMES and (len(words) > 1 or is_nested):
            words = words[:-1]
        if words:
            return "-".join(words).lower()
    return "workload"


def find_flow(wanted: str, node: str, flows: list[Flow]) -> Flow:
    """Return the flow that a name means. Raises LabError with a suggestion if there is none, or more than one."""
    found = named(wanted, flows)
    if len(found) > 1:
        text, remedy = ambiguous(wanted, found)
        raise LabError(f"--flow: {text}", remedy)
    if not found:
        known = [name for flow in flows for name in (flow.short_name, flow.name)]
        raise LabError(
            f"--flow: {node} has no flow {wanted!r}{did_you_mean(wanted, known)}",
            f"`scripts/lab workload flows {node}` lists its flows.",
        )
    return found[0]


def example(parameter: Parameter, notary: str | None) -> tuple[str, str]:
    """Return an example value in one line of YAML, and its description."""
    kind = parameter.type.removesuffix("?").lower()
    is_nullable = parameter.type.endswith("?")
    also = "; null is allowed" if is_nullable else ""
    form, inner = taken_apart(parameter.type)
    if form:
        value, meaning = example(parameter.of_type(inner), notary)
        if form == "optional":
            return value, f"{meaning}; null is allowed"
        if form == "list":
            return f"[{value}]", f"a list: {meaning}{also}"
        return f"{{{quoted('put a key here')}: {value}}}", f"values by key: {meaning}{also}"
    if kind in PARTY_TYPES:
        if NOTARY_NAME.search(parameter.name) and notary:
            return quoted(notary), f"a party's X.500 name: the notary{also}"
        return quoted("{{ counterparty }}"), f"a party's X.500 name{also}"
    if kind == "boolean":
        return "false", f"true or false{also}"
    if parameter.values:
        return quoted(parameter.values[0]), f"one of {', '.join(parameter.values)}{also}"
    known = EXAMPLES.get(kind) or EXAMPLES.get(base(kind))
    if known is not None:
        return quoted(known[0]), known[1] + also
    if is_nullable:
        return "null", "a value in the notation of Corda's shell; null is allowed"
    return quoted("put a value here"), "a value in the notation of Corda's shell: replace it"


def can_be_written(parameter: Parameter) -> bool:
    """Return whether values of the parameter's type can be written in a file. Those of a progress tracker cannot."""
    if parameter.fields:
        return all(can_be_written(field) for field in parameter.fields if not field.is_optional)
    kind = innermost(parameter.type).lower()
    is_known = kind in EXAMPLES or base(kind) in EXAMPLES
    return is_known or kind in PARTY_TYPES or kind == "boolean" or bool(parameter.values)


def by_preference(flow: Flow) -> list[tuple[Parameter, ...]]:
    """Return the flow's constructors, best last.

    The best have only parameters whose values can be written in a file, and have the most parameters.
    """
    return sorted(flow.constructors, key=lambda way: (all(map(can_be_written, way)), len(way)))


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def needs_counterparty(parameters: tuple[Parameter, ...], notary: str | None) -> bool:
    return any("{{ counterparty }}" in text for one in parameters for text, _ in entry_lines(one, notary, ""))


def argument_lines(parameters: tuple[Parameter, ...], notary: str | None) -> list[str]:
    """Return the lines below ``args:``, with aligned comments."""
    lines = [line for one in parameters for line in entry_lines(one, notary, "  ")]
    width = max((len(text) for text, _ in lines), default=0)
    return [f"{text:<{width}}  # {comment}" for text, comment in lines]


def entry_lines(parameter: Parameter, notary: str | None, indent: str) -> Iterator[Line]:
    """Yield the lines of an argument or a field: one line, or one for each of its own fields."""
    is_plain = parameter.name.isidentifier() and parameter.name.lower() not in YAML_WORDS
    head = f"{indent}{parameter.name if is_plain else quoted(parameter.name)}:"
    optional = "; may be left out" if parameter.is_optional else ""
    form, inner = taken_apart(parameter.type)
    kind = inner if form == "optional" else parameter.type
    form, inner = taken_apart(kind)
    is_deep = bool(form and taken_apart(inner)[0])
    if not (parameter.fields or parameter.is_abstract) or is_deep:
        value, meaning = example(parameter, notary)
        yield f"{head} {value}", f"{parameter.type}: {meaning}{optional}"
    elif form == "list":
        yield head, f"{parameter.type}: a list of objects{optional}"
        lines = list(object_lines(parameter.of_type(inner), notary, f"{indent}    ")) or [("{}", inner)]
        for index, (text, comment) in enumerate(lines):
            yield (f"{indent}  - {text.lstrip()}" if index == 0 else text), comment
    elif form == "map":
        yield head, f"{parameter.type}: objects by key{optional}"
        one = Parameter("put a key here", inner, parameter.fields, is_abstract=parameter.is_abstract)
        yield from entry_lines(one, notary, f"{indent}  ")
    else:
        lines = list(object_lines(parameter.of_type(kind), notary, f"{indent}  "))
        yield (head if lines else f"{head} {{}}"), f"{parameter.type}: an object{optional}"
        yield from lines


def object_lines(parameter: Parameter, notary: str | None, indent: str) -> Iterator[Line]:
    """Yield the lines of an object's fields. Fields that may be left out are, if they cannot be written."""
    if parameter.is_abstract:
        text = f"{indent}{quoted(CLASS_FIELD)}: {quoted('put a class here')}"
        yield text, f"the full name of a class that is a {parameter.type}; its fields follow"
    for field in parameter.fields:
        if can_be_written(field) or not field.is_optional:
            yield from entry_lines(field, notary, indent)


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
    lines += ["unit: flow"]
    return "\n".join(lines) + f"\n{STATES_HINT}"


def propose_states(path: Path, states: Mapping[str, Mapping[str, int]]) -> bool:
    """Write the states that one flow added in place of the hint at the end of a file that ``text_of`` made.

    ``states`` are by class and vault. Returns whether the file has changed: it has not if there are no states, or if
    the hint is gone. Raises LabError if it cannot be written.
    """
    text = path.read_text(encoding="utf-8")
    if not states or not text.endswith(STATES_HINT):
        return False
    lines = [
        "# What one flow changed: how many states each successful flow adds to the vaults, or takes (negative).",
        "states:",
        *(
            f"  {state}: {{{', '.join(f'{vault}: {change}' for vault, change in changes.items())}}}"
            for state, changes in states.items()
        ),
    ]
    try:
        atomic.write_text(path, text.removesuffix(STATES_HINT) + "\n".join(lines) + "\n")
    except OSError as error:
        raise cannot_write(path, error) from None
    return True


def write(path: Path, text: str) -> None:
    """Write a new file. Raises LabError if it already exists or cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise LabError(f"{path}: already exists", "Pass another --name, or delete the file first.") from None
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: Path, error: OSError) -> LabError:
    return LabError(f"{path}: cannot be written ({error.strerror})", "Check the folder's permissions.")


def check_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise LabError(
            f"--name: {name!r} is not a valid name", "Use at most 60 lower-case letters, digits, hyphens, underscores."
        )
    return name
