"""What a network offers: parties, flows and the parameters of a flow."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Party:
    """A node as the network map has it."""

    name: str
    x500_name: str


@dataclass(frozen=True)
class Parameter:
    """A parameter of a flow; one that may be null has a type that ends in "?" and may be left out."""

    name: str
    type: str

    @property
    def is_optional(self) -> bool:
        """Whether it may be left out."""
        return self.type.endswith("?")


@dataclass(frozen=True)
class Flow:
    """A flow that a node lets RPC start, with a list of parameters for each way to start it; none when unknown."""

    name: str
    short_name: str
    constructors: tuple[tuple[Parameter, ...], ...]
