"""Reads workload files: the flows that requests start, and the set-up before them. Reports all problems at once.

Each workload is a file ``<name>.yaml``. ``docs/workloads.md`` describes the fields, ``schema`` declares them.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lab_workload import overrides as settings
from lab_workload.field_problems import field_problem, known_fields
from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem, WorkloadError, in_file_order
from lab_workload.schema import Part, Reading, Workload
from lab_workload.yaml_source import Source, read_fields

ONE_FLOW = [name for name in Part.model_fields if name not in ("name", "weight", "counterparty")]
"""The fields of a flow that a file of one flow has at its top."""


def workload_names(directory: Path) -> list[str]:
    """Return the names of the workloads in ``directory``, sorted; none if there is no such directory."""
    return sorted(path.stem for path in directory.glob("*.yaml") if not path.name.startswith("."))


def load_workload(
    directory: Path, name: str, node_names: Collection[str] = (), overrides: Mapping[str, str] | None = None
) -> Workload:
    """Read the workload ``name``. ``node_names`` are the node names that it may use (empty: any).

    ``overrides`` replace values of the file, by key. Raises ``WorkloadError`` with all problems of the file.
    """
    names = workload_names(directory)
    if not names:
        raise WorkloadError(f"there is no workload file in {directory}")
    if name not in names:
        hint = did_you_mean(name, names) or f"; choose from {', '.join(names)}"
        raise WorkloadError(f"unknown workload {name!r}{hint}")
    return read_workload(directory / f"{name}.yaml", None, node_names, overrides)


def read_workload(
    path: Path,
    text: str | None = None,
    node_names: Collection[str] = (),
    overrides: Mapping[str, str] | None = None,
) -> Workload:
    """Read a workload from its file, or from the ``text`` of it. Raises ``WorkloadError`` as ``load_workload``."""
    data, source = read_fields(path, None if text is None else text.encode())
    problems = settings.apply(data, overrides or {})
    if "node" in data and "nodes" in data:
        problems.append(source.problem(("nodes",), "names the nodes in place of node; use only one of them"))
    data, source = _in_long_form(data, source)
    reading = Reading(node_names, data.get("counterparty") is not None)
    try:
        workload = Workload.model_validate(data, context=reading)
    except ValidationError as error:
        details = [one for one in error.errors(include_url=False) if one["type"] != "default_factory_not_called"]
        problems += [_schema_problem(detail, source) for detail in details]
    if problems:
        raise WorkloadError(in_file_order(problems))
    workload.place(path.stem, path.read_text(encoding="utf-8") if text is None else text, source)
    return workload


def _in_long_form(data: dict[str, Any], source: Source) -> tuple[dict[str, Any], Source]:
    """Return the content of a file with lists of nodes and flows in place of a single one."""
    short_forms: dict[Location, Location] = {}
    whole = dict(data)
    node = whole.pop("node", None)
    if "nodes" not in data:
        short_forms["nodes", 0] = short_forms["nodes",] = ("node",)
        whole |= {"nodes": [node]} if "node" in data else {}
    if "flows" not in data:
        short_forms["flows", 0] = ()
        whole["flows"] = [{name: whole.pop(name) for name in ONE_FLOW if name in whole}]
    return whole, Source(source.path, source.lines, short_forms)


def _schema_problem(detail: Any, source: Source) -> Problem:
    """Reword an error of pydantic as a problem of a workload file."""
    location: Location = tuple(detail["loc"])
    name = str(location[-1])
    match detail["type"]:
        case "extra_forbidden" if location == (name,) and name in ONE_FLOW:
            return source.problem(location, "is a field of a single flow; move it into an entry of flows")
        case "string_pattern_mismatch":
            kind = "name (letters and digits)" if name == "name" else "class name"
            return source.problem(location, f"{detail['input']!r} is not a valid {kind}")
    known = known_fields(Workload, location[:-1])
    if len(location) == 1:
        known = ["node", *(ONE_FLOW if ("flows", 0) in source.short_forms else ()), *known]
    return field_problem(detail, source, known)
