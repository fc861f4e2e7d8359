"""What a load starts and is counted by: flows, by the node that starts them, and the states that they change."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class LoadPart:
    """One kind of request of a workload: a flow (full class name), and how each success changes the vaults.

    ``changes`` maps the class of a state and the node to the change in unconsumed states.
    """

    name: str
    flow: str
    flow_short: str
    counterparty: str | None = None
    weight: float = 1
    unit: str = "flow"
    states_per_flow: int | None = None
    changes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """What is counted: the successes of the flows that are started on ``node``, and the states that they change."""

    node: str
    """The node that starts the flows; the first if there are several."""
    parts: tuple[LoadPart, ...]
    """The flows that ``node`` starts."""
    others: tuple["Subject", ...] = ()
    """If several nodes start the flows in turn: one subject for each of the others."""

    @property
    def each(self) -> tuple["Subject", ...]:
        """One subject for every node that starts flows, in turn."""
        return (replace(self, others=()), *self.others)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(one.node for one in self.each)

    @property
    def starts(self) -> tuple[tuple[str, LoadPart], ...]:
        return tuple((one.node, part) for one in self.each for part in one.parts)

    @property
    def flows(self) -> dict[str, str]:
        """The short name of every flow class that is started, by its full name."""
        return {part.flow: part.flow_short for _, part in self.starts}

    @property
    def vault_places(self) -> tuple[tuple[str, str], ...]:
        """Every (class of state, node) that a part lists in its ``changes``, each once."""
        changes = (part.changes for _, part in self.starts)
        places = {(state, node): None for own in changes for state, nodes in own.items() for node in nodes}
        return tuple(places)

    @property
    def counterparties(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.counterparty for _, part in self.starts if part.counterparty))

    def counterparties_of(self, name: str) -> tuple[str, ...]:
        """The counterparties of the part with this name, each once. Each node may have another one."""
        own = (part.counterparty for _, part in self.starts if part.name == name)
        return tuple(dict.fromkeys(filter(None, own)))

    def vault_expected(self, succeeded: Mapping[str, Mapping[str, int]]) -> dict[tuple[str, str], int]:
        """The expected change at each (class of state, node), from the successes by node and name of the part."""
        return {
            (state, node): sum(
                succeeded.get(starter, {}).get(part.name, 0) * part.changes.get(state, {}).get(node, 0)
                for starter, part in self.starts
            )
            for state, node in self.vault_places
        }
