"""Whether a workload fits the network: its parties, its flows and the names of their arguments."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from lab_workload.flows import Flow, Parameter
from lab_workload.names import canonical, did_you_mean
from lab_workload.problems import Problem
from lab_workload.templates import Arguments
from lab_workload.workload import Workload


def network_problems(
    workload: Workload,
    node: str,
    counterparty: str | None,
    parties: Collection[str],
    platform: int | None,
    flows: Mapping[str, Sequence[Flow]],
) -> list[Problem]:
    """Everything about ``workload``, started by ``node``, that these parties cannot give.

    ``platform`` is the node's platform version, None where the workload does not ask for one; ``flows`` are those of
    every node that starts some, by its name.
    """
    source = workload.source
    requires = workload.requires
    if requires and requires.parties and len(parties) < requires.parties:
        # Parties that are missing are no surprise then.
        text = f"needs {requires.parties} parties, the network has {len(parties)}"
        return [source.problem(("requires", "parties"), text)]
    problems = []
    if requires and requires.platform and platform is not None and platform < requires.platform:
        text = f"needs platform version {requires.platform}, {node} has {platform}"
        problems.append(source.problem(("requires", "platform"), text))
    for part in workload.parts:
        own = part.own_counterparty
        if own and canonical(own, parties) is None:
            location = (*part.location, "counterparty")
            problems.append(source.problem(location, f"unknown party {own!r}; there are {', '.join(parties)}"))
        found = [*_unnamed_parties(part.arguments, own or counterparty, parties)]
        found += flow_problems(node, part.flow, part.args, flows.get(node, ()))
        problems += [source.locate(problem, part.location) for problem in found]
    for step in workload.setup:
        found = [*_unnamed_parties(step.arguments, counterparty, parties)]
        problems += [source.locate(problem, step.location) for problem in found]
    return problems


def _unnamed_parties(arguments: Arguments, counterparty: str | None, parties: Collection[str]) -> Iterator[Problem]:
    """Parties that templates name and that are not there."""
    where = arguments.used_names.get("counterparty")
    if where is not None and counterparty is None:
        yield Problem("uses counterparty, but none is given", ("args", *where))
    for name, place in arguments.named_parties.items():
        if name not in parties:
            hint = did_you_mean(name, parties) or f"; there are {', '.join(parties)}"
            yield Problem(f"unknown party {name!r}{hint}", ("args", *place))


def flow_problems(node: str, flow: str, args: Mapping[str, Any], flows: Sequence[Flow]) -> Iterator[Problem]:
    """What keeps ``node``, which can start ``flows``, from starting ``flow`` with arguments of these names."""
    found = [known for known in flows if flow in (known.name, known.short_name)]
    if not found:
        hint = did_you_mean(flow, [known.name if "." in flow else known.short_name for known in flows])
        text = f"{node} cannot start {flow}{hint or f'; `scripts/lab flows {node}` lists what it can'}"
        yield Problem.of("flow", text)
        return
    constructors = [parameters for known in found for parameters in known.constructors]
    if not constructors or any(not _wrong_names(args, parameters) for parameters in constructors):
        return
    closest = min(constructors, key=lambda parameters: len(_wrong_names(args, parameters)))
    takes = " or ".join(f"({', '.join(one.name for one in parameters)})" for parameters in constructors)
    for name, text in _wrong_names(args, closest):
        yield Problem(f"{text}; {flow} takes {takes}", ("args", name))


def _wrong_names(args: Mapping[str, Any], parameters: Sequence[Parameter]) -> list[tuple[str, str]]:
    names = [one.name for one in parameters]
    wrong = [(name, f"is no parameter{did_you_mean(name, names)}") for name in args if name not in names]
    return wrong + [(one.name, "is missing") for one in parameters if one.name not in args and not one.is_optional]
