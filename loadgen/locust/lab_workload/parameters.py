"""The parameters of a workload and its groups of parties: constants of a run, known as soon as the file is read.

Templates use both by name. The fields in ``PARAMETER_FIELDS`` may be expressions over them, so that one file describes
a family of workloads: a settlement between two, four or ten parties.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from lab_workload.problems import Location, Problem, TemplateError
from lab_workload.schema import is_expression
from lab_workload.templates import LOAD_NAMES, SETUP_NAMES, expression, is_template
from lab_workload.yaml_source import Source

PARAMETER_FIELDS: tuple[tuple[str, ...], ...] = (("requires", "parties"), ("requires", "platform"), ("rate_max",))
"""Numbers that may be an expression over the parameters."""

_RESERVED = frozenset({*LOAD_NAMES, *SETUP_NAMES, "args"})


def evaluate(data: dict[str, Any], source: Source) -> tuple[dict[str, Any], list[Problem]]:
    """Return the values of the parameters and groups in ``data``, the content of a workload file, and the problems.

    Groups, the fields of ``PARAMETER_FIELDS``, and numbers of states are replaced by their values in ``data``. What has
    the wrong form is left to the check of the whole file.
    """
    problems: list[Problem] = []
    constants: dict[str, Any] = {}
    for name, given in _entries(data, "parameters"):
        problems += _name_problems(("parameters", name), constants, source)
        if isinstance(given, dict) and "default" in given:
            constants[name] = _chosen(name, given, source, problems)
    for name, given in _entries(data, "groups"):
        problems += _name_problems(("groups", name), constants, source)
        constants[name] = data["groups"][name] = _members(given, ("groups", name), constants, source, problems)
    for location in PARAMETER_FIELDS:
        *where, field = location
        holder = data.get(where[0]) if where else data
        if isinstance(holder, dict) and is_template(holder.get(field)):
            try:
                holder[field] = expression(str(holder[field]), constants)
            except TemplateError as error:
                problems.append(source.problem(location, f"template: {error}"))
                holder[field] = 1
    problems += _evaluate_states(data, constants, source)
    return constants, problems


def _evaluate_states(data: Mapping[str, Any], constants: Mapping[str, Any], source: Source) -> Iterator[Problem]:
    """Replace the expressions of what each flow makes and changes by their values. Yield those that have none.

    They may also use the arguments of the flow that are no templates.
    """
    flows = data.get("flows")
    for index, part in enumerate(flows if isinstance(flows, list) else ()):
        if not isinstance(part, dict):
            continue
        args, states = part.get("args"), part.get("states")
        fixed = (
            {name: given for name, given in args.items() if not is_template(given)} if isinstance(args, dict) else {}
        )
        names = {**constants, "args": fixed}
        numbers = [(part, "states_per_flow")]
        for nodes in states.values() if isinstance(states, dict) else ():
            numbers += [(nodes, node) for node in nodes] if isinstance(nodes, dict) else []
        for holder, field in numbers:
            if is_expression(holder.get(field)):
                where = field if holder is part else "states"
                try:
                    holder[field] = _whole_number(holder[field], names)
                except TemplateError as error:
                    yield source.problem(("flows", index, where), f"template: {error}")
                    holder[field] = 1


def _whole_number(text: str, names: Mapping[str, Any]) -> int:
    number = expression(text, names)
    if type(number) is not int:
        raise TemplateError(f"{text}: evaluates to {number!r}, not to a whole number")
    return number


def _entries(data: Mapping[str, Any], field: str) -> Iterator[tuple[str, Any]]:
    entries = data.get(field)
    yield from list(entries.items()) if isinstance(entries, dict) else ()


def _name_problems(location: Location, constants: Mapping[str, Any], source: Source) -> list[Problem]:
    name = location[-1]
    if name in _RESERVED:
        return [source.problem(location, f"{name!r} has a meaning of its own in templates; use a different name")]
    return (
        [source.problem(location, f"{name!r} is also a parameter; use a different name")] if name in constants else []
    )


def _chosen(name: str, given: Mapping[str, Any], source: Source, problems: list[Problem]) -> Any:
    """Return the value of a parameter: the first of its choices if it has an invalid one, which is a problem."""
    value, choices = given["default"], given.get("choices")
    if not isinstance(choices, list) or not choices or value in choices:
        return value
    *others, last = map(str, choices)
    known = f"{', '.join(others)} or {last}" if others else last
    problems.append(source.problem(("parameters", name), f"must be {known}, but is {value!r}"))
    return choices[0]


def _members(
    given: Any, location: Location, constants: Mapping[str, Any], source: Source, problems: list[Problem]
) -> list[str]:
    """Return the names of the parties in a group: none if they have no value, which is a problem."""
    try:
        members = expression(given, constants) if isinstance(given, str) else given
    except TemplateError as error:
        problems.append(source.problem(location, f"template: {error}"))
        return []
    if isinstance(members, list) and members and all(isinstance(one, str) for one in members):
        return members
    problems.append(source.problem(location, f"must be a list of parties, but is {members!r}"))
    return []
