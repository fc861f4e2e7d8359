"""What a network offers, as the bridge describes it: parties, flows and the parameters of a flow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Party:
    """A node as the network map has it."""

    name: str
    x500_name: str


@dataclass(frozen=True)
class Parameter:
    """A parameter of a flow's constructor; ``type`` is as a person would write it: ``int``, ``Party``, ``List<Party>``.

    A question mark at the end of the type means that the value may be null.
    """

    name: str
    type: str


Parameters = tuple[Parameter, ...]
"""The parameters of one constructor."""


@dataclass(frozen=True)
class Flow:
    """A flow that a node lets RPC start, with the parameters of each way to start it; none when they are unknown."""

    name: str
    short_name: str
    constructors: tuple[Parameters, ...]

    @classmethod
    def of_json(cls, entry: Mapping[str, Any]) -> "Flow":
        """One entry of the bridge's list of flows. Raises ``KeyError`` or ``TypeError`` for anything else."""
        constructors = (
            tuple(Parameter(str(one["name"]), str(one.get("type", ""))) for one in parameters)
            for parameters in entry["parameters"]
        )
        return cls(str(entry["flow"]), str(entry["shortName"]), tuple(constructors))


def signature(parameters: Sequence[Parameter]) -> str:
    """The parameters of a constructor as a person would write them: ``iouValue: int, otherParty: Party``."""
    return ", ".join(f"{one.name}: {one.type}" for one in parameters) or "none"
