"""``--set key=value``: replaces single values of a workload file for one run."""

from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from lab_workload.names import did_you_mean
from lab_workload.problems import Problem, WorkloadError
from lab_workload.yaml_source import read_fields, read_scalar

Place = tuple[MutableMapping[str, Any], str]
"""A mapping in the file, and the key in it whose value is replaced."""
_OPTION = "--set"


def apply(data: dict[str, Any], overrides: Mapping[str, str]) -> list[Problem]:
    """Replace values in ``data``, the content of a workload file. Returns a problem for every unknown key.

    A key is the name of a parameter, of an argument (in every flow and step that has it), ``megabytes`` or
    ``rate_max``. With the name of a flow or step and a dot as prefix, the value is replaced only there.
    """
    places = list(_places(data))
    problems = []
    for key, text in overrides.items():
        found = [place for names, place in places if key in names]
        if not found:
            known = keys(data)
            hint = did_you_mean(key, known) or f"; choose from {', '.join(known)}"
            problems.append(Problem.of(_OPTION, f"unknown key {key!r}{hint}"))
        for mapping, field in found:
            mapping[field] = read_scalar(text)
    return problems


def keys(data: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(name for names, _ in _places(data) for name in names))


def keys_in(path: Path) -> list[str]:
    """Return every key of a workload file; none if it cannot be read, which is reported when it is."""
    try:
        return keys(read_fields(path)[0])
    except WorkloadError:
        return []


def parse(settings: Sequence[str]) -> tuple[dict[str, str], list[Problem]]:
    """Parse the ``key=value`` texts of ``--set``. Returns the values by key, and the problems."""
    overrides: dict[str, str] = {}
    problems = []
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            problems.append(
                Problem.of(_OPTION, f"{setting!r} is not key=value", "For example: --set numberOfStatesPerTx=10")
            )
        elif key.strip() in overrides:
            problems.append(Problem.of(_OPTION, f"{key.strip()} is given twice", "Pass it only once."))
        overrides[key.strip()] = value
    return overrides, problems


LOAD, WORKLOAD = "load.", "workload."
"""Say of a key of ``--set`` whose it is, if the load and the workload have it."""


def split(
    values: Mapping[str, str], of_load: Collection[str], of_workload: Collection[str]
) -> tuple[dict[str, str], dict[str, str], list[Problem]]:
    """Return the fields of the load that are set, the values of its workload that are, and the problems.

    ``of_load`` and ``of_workload`` are the keys that there are. Without those of the workload, all others are its.
    """
    load: dict[str, str] = {}
    workload: dict[str, str] = {}
    problems = []
    for key, text in values.items():
        if key in of_load and key in of_workload:
            both = "is a field of the load, and of the workload"
            problems.append(Problem.of(f"{_OPTION} {key}", both, f"Write {LOAD}{key} or {WORKLOAD}{key}."))
        elif key.removeprefix(LOAD) in of_load:
            load[key.removeprefix(LOAD)] = text
        elif not of_workload or key.removeprefix(WORKLOAD) in of_workload:
            workload[key.removeprefix(WORKLOAD)] = text
        else:
            known = [*of_load, *of_workload]
            hint = did_you_mean(key, known) or f"; choose from {', '.join(known)}"
            problems.append(Problem.of(_OPTION, f"unknown key {key!r}{hint}"))
    return load, workload, problems


def _places(data: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Place]]:
    """Yield every value that can be replaced, with the keys that refer to it."""
    yield ("rate_max",), (data, "rate_max")
    parameters = data.get("parameters")
    for name, parameter in parameters.items() if isinstance(parameters, dict) else ():
        if isinstance(parameter, dict):
            yield (name,), (parameter, "default")
    flows, steps = data.get("flows"), data.get("setup")
    owners: list[tuple[dict[str, Any], str | None]] = [(data, None)] if flows is None else []
    for owner in flows if isinstance(flows, list) else []:
        if isinstance(owner, dict):
            owners.append((owner, owner.get("name") or str(owner.get("flow")).rpartition(".")[2]))
    for owner in steps if isinstance(steps, list) else []:
        if isinstance(owner, dict):
            owners.append((owner, owner.get("name")))
            files = owner.get("attachments")
            if isinstance(files, dict):
                yield ("megabytes", f"{owner.get('name')}.megabytes"), (files, "megabytes")
    for owner, name in owners:
        args = owner.get("args")
        if not isinstance(args, dict):
            continue
        for argument in list(args):
            yield (argument, *([f"{name}.{argument}"] if name else [])), (args, argument)
