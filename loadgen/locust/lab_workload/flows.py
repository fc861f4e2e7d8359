"""The parties and flows of a network, as the bridge describes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Party:
    """A party: its name in the lab and its X.500 name."""

    name: str
    x500_name: str


@dataclass(frozen=True)
class Parameter:
    """A parameter of a flow's constructor. ``type`` is a short name: ``int``, ``Party``, ``List<Party>``.

    A question mark at the end of the type means that the value may be null.
    """

    name: str
    type: str


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
        constructors = (
            tuple(Parameter(str(one["name"]), str(one.get("type", ""))) for one in parameters)
            for parameters in entry["parameters"]
        )
        return cls(str(entry["flow"]), str(entry["shortName"]), tuple(constructors))


def signature(parameters: Sequence[Parameter]) -> str:
    """Format the parameters of a constructor: ``iouValue: int, otherParty: Party``; ``none`` if there are none."""
    return ", ".join(f"{one.name}: {one.type}" for one in parameters) or "none"
