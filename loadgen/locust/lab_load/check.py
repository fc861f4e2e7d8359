"""Whether a workload fits the network: its parties, its flows and the names of their arguments."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from lab_load.bridge import Flow, Parameter
from lab_load.names import did_you_mean
from lab_load.workload import Workload
from lab_load.yaml_source import Location


def network_problems(
    workload: Workload,
    node: str,
    counterparty: str | None,
    parties: Collection[str],
    platform: int | None,
    flows: Mapping[str, Sequence[Flow]],
) -> list[str]:
    """Everything about ``workload``, started by ``node``, that these parties cannot give, a line each.

    ``platform`` is the node's platform version, None where the workload does not ask for one; ``flows`` are those of
    every node that starts some, by its name.
    """
    source = workload.source
    problems = []
    requires = workload.requires
    if requires and requires.parties and len(parties) < requires.parties:
        text = f"needs {requires.parties} parties, the network has {len(parties)}"
        problems.append(source.problem(("requires", "parties"), text))
    if requires and requires.platform and platform is not None and platform < requires.platform:
        text = f"needs platform version {requires.platform}, {node} has {platform}"
        problems.append(source.problem(("requires", "platform"), text))
    for part in workload.parts:
        given = part.own_counterparty or counterparty
        where = part.arguments.used_names.get("counterparty")
        if where is not None and given is None:
            text = "uses counterparty, but none is given"
            problems.append(source.problem((*part.location, "args", *where), text))
        for location, text in flow_problems(node, part.flow, part.args, flows.get(node, ())):
            problems.append(source.problem((*part.location, *location), text))
    return problems


def flow_problems(
    node: str, flow: str, args: Mapping[str, Any], flows: Sequence[Flow]
) -> Iterator[tuple[Location, str]]:
    """What keeps ``node``, which can start ``flows``, from starting ``flow`` with arguments of these names."""
    found = [known for known in flows if flow in (known.name, known.short_name)]
    if not found:
        hint = did_you_mean(flow, [known.name if "." in flow else known.short_name for known in flows])
        yield ("flow",), f"{node} cannot start {flow}{hint or f'; `scripts/lab flows {node}` lists what it can'}"
        return
    constructors = [parameters for known in found for parameters in known.constructors]
    if not constructors or any(not _wrong_names(args, parameters) for parameters in constructors):
        return
    closest = min(constructors, key=lambda parameters: len(_wrong_names(args, parameters)))
    takes = " or ".join(f"({', '.join(one.name for one in parameters)})" for parameters in constructors)
    for name, text in _wrong_names(args, closest):
        yield ("args", name), f"{text}; {flow} takes {takes}"


def _wrong_names(args: Mapping[str, Any], parameters: Sequence[Parameter]) -> list[tuple[str, str]]:
    names = [one.name for one in parameters]
    wrong = [(name, f"is no parameter{did_you_mean(name, names)}") for name in args if name not in names]
    return wrong + [(one.name, "is missing") for one in parameters if one.name not in args and not one.is_optional]
