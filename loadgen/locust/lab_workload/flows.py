"""The parties and flows of a network, as the bridge describes them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lab_workload.names import did_you_mean
from lab_workload.problems import Problem


@dataclass(frozen=True)
class Party:
    """A party: its name in the lab and its X.500 name."""

    name: str
    x500_name: str


@dataclass(frozen=True)
class Parameter:
    """A parameter of a flow's constructor, or a field of its value.

    ``type`` is a short name: ``int``, ``Party``, ``List<Party>``. A question mark at its end means that the value may
    be null.
    """

    name: str
    type: str
    fields: "Parameters" = ()
    """The fields of the value, or of each element, if it is an object; none also if the bridge does not say."""
    values: tuple[str, ...] = ()
    """The constants, if the value is one of an enum."""
    is_optional: bool = False
    """Whether a field may be left out."""
    is_abstract: bool = False
    """Whether the value is an object that must name its class in ``@class``."""

    @classmethod
    def of_json(cls, entry: Mapping[str, Any]) -> "Parameter":
        """Parse a parameter of the bridge's list of flows. Raises ``KeyError`` or ``TypeError`` if it is malformed."""
        return cls(
            name=str(entry["name"]),
            type=str(entry.get("type", "")),
            fields=tuple(map(cls.of_json, entry.get("fields", ()))),
            values=tuple(map(str, entry.get("values", ()))),
            is_optional=entry.get("optional", False) is True,
            is_abstract=entry.get("abstract", False) is True,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the parameter in the form of the bridge's list of flows, which leaves out what does not apply."""
        entry: dict[str, Any] = {"name": self.name, "type": self.type}
        if self.fields:
            entry["fields"] = [field.as_json() for field in self.fields]
        if self.values:
            entry["values"] = list(self.values)
        if self.is_optional:
            entry["optional"] = True
        if self.is_abstract:
            entry["abstract"] = True
        return entry

    def of_type(self, name: str) -> "Parameter":
        """Return the same with another type, such as that of the elements."""
        return replace(self, type=name)


Parameters = tuple[Parameter, ...]
"""The parameters of one constructor."""


@dataclass(frozen=True)
class Flow:
    """A flow that can be started by RPC, with the parameters of each constructor; none if they are unknown."""

    name: str
    short_name: str
    constructors: tuple[Parameters, ...]

    @classmethod
    def of_json(cls, entry: Mapping[str, Any]) -> "Flow":
        """Parse an entry of the bridge's list of flows. Raises ``KeyError`` or ``TypeError`` if it is malformed."""
        constructors = (tuple(map(Parameter.of_json, parameters)) for parameters in entry["parameters"])
        return cls(str(entry["flow"]), str(entry["shortName"]), tuple(constructors))


def named(name: str, flows: Sequence[Flow]) -> list[Flow]:
    """Return the flows that a name may mean: those with this class name, else with this name without the package.

    Else it may be another short form. The rule is that of the bridge.
    """
    return (
        [flow for flow in flows if flow.name == name]
        or [flow for flow in flows if without_package(flow.name) == name]
        or [flow for flow in flows if name in short_forms(flow.name)]
    )


def without_package(class_name: str) -> str:
    """Return the name of a class with those of its outer classes: ``ProposalFlow$Initiator``."""
    return class_name.rpartition(".")[2]


def short_forms(class_name: str) -> Iterator[str]:
    """Yield the other short forms: with a dot before a nested class, as in source code, and without the outer ones.

    These are ``ProposalFlow.Initiator`` and ``Initiator``.
    """
    yield class_name.replace("$", ".")
    end = without_package(class_name)
    yield end.replace("$", ".")
    while "$" in end:
        end = end.partition("$")[2]
        yield from (end, end.replace("$", "."))


def signature(parameters: Sequence[Parameter]) -> str:
    """Format the parameters of a constructor: ``iouValue: int, otherParty: Party``; ``none`` if there are none."""
    return ", ".join(f"{one.name}: {one.type}" for one in parameters) or "none"


def ambiguous(name: str, flows: Sequence[Flow]) -> tuple[str, str]:
    """Return what to say of a name that may mean several flows, and the remedy."""
    return f"{name!r} may mean several flows", f"Choose from {', '.join(flow.name for flow in flows)}."


def flow_problems(node: str, name: str, args: Mapping[str, Any], flows: Sequence[Flow]) -> list[Problem]:
    """Return why ``node`` cannot start a flow with arguments of these names. ``flows`` are those that it can start.

    The bridge checks their types. Locations are relative to the mapping with ``flow`` and ``args``: a part of a
    workload, or a step of its set-up.
    """
    meant = named(name, flows)
    if not meant:
        known = [flow.name if "." in name else flow.short_name for flow in flows]
        text = f"{node} has no flow {name!r}{did_you_mean(name, known)}"
        return [Problem.of("flow", text, f"`scripts/lab workload flows {node}` lists its flows.")]
    if len(meant) > 1:
        return [Problem.of("flow", *ambiguous(name, meant))]
    (flow,) = meant
    # Of several constructors, the closest one shows what is missing and what is unknown.
    problems = min((_name_problems(args, parameters) for parameters in flow.constructors), key=len, default=[])
    remedy = f"{flow.short_name} takes {' or '.join(f'({signature(ways)})' for ways in flow.constructors)}."
    return [replace(problem, remedy=remedy) for problem in problems]


def _name_problems(args: Mapping[str, Any], parameters: Parameters) -> list[Problem]:
    """Return the arguments that a constructor does not have, and its parameters without an argument."""
    names = [parameter.name for parameter in parameters]
    return [
        *(
            Problem(f"unknown argument{did_you_mean(name, names)}", ("args", name))
            for name in args
            if name not in names
        ),
        *(Problem("is missing", ("args", name)) for name in names if name not in args),
    ]
