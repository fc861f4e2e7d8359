"""The spans of one request, in the order in which a waterfall draws them, and how rows of tables are read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["whole", "part", "gap", "mark"]
"""whole: a request or a flow. part: a part of one that is timed. gap: a part that nothing times. mark: a moment."""

Row = Mapping[str, object]
"""A row of a table, by column."""

CLIENT, BRIDGE, NOTARY = "client", "bridge", "Notary"
"""The actors that are no party. The actor of a flow is its node."""


@dataclass(frozen=True)
class Span:
    """A bar of a waterfall, or a mark. Times are in ms from the start of the request; those of a mark are equal.

    ``depth`` is the number of spans around it. ``note`` says what is in it, or how it is known. ``is_path`` is whether
    it is a piece of the time that the client waited. Where such spans overlap, the deeper one counts.
    """

    actor: str
    name: str
    kind: Kind
    depth: int
    start_ms: float
    end_ms: float
    note: str = ""
    is_path: bool = False

    @property
    def length_ms(self) -> float:
        return round(self.end_ms - self.start_ms, 3)


@dataclass(frozen=True)
class Waterfall:
    """The spans of one request in the order in which they are drawn, and who it was.

    ``started_at`` is its real start in unix seconds. ``notes`` say what could not be shown, and why.
    """

    step: int
    part: str
    flow: str
    node: str
    outcome: str
    error: str | None
    started_at: float
    latency_ms: float
    client_id: str | None
    flow_id: str | None
    tx_id: str | None
    spans: tuple[Span, ...]
    notes: tuple[str, ...] = ()

    @property
    def start_ms(self) -> float:
        """The earliest start of a span: 0, or earlier if the request was to start earlier."""
        return min((span.start_ms for span in self.spans), default=0.0)

    @property
    def end_ms(self) -> float:
        """The latest end of a span. A party may record the transaction after the client has its answer."""
        return max((span.end_ms for span in self.spans), default=self.latency_ms)

    @property
    def largest(self) -> list[tuple[str, float]]:
        """What the client waited for, by name and in ms, the longest first. Together it is the latency."""
        found: dict[str, float] = {}
        path = [span for span in self.spans if span.is_path]
        for span in path:
            name = span.name if span.kind == "part" else f"{span.name} ({span.note})"
            covered = sum(_overlap_ms(span, other) for other in path if other.depth > span.depth)
            found[name] = found.get(name, 0.0) + max(0.0, span.length_ms - covered)
        return sorted(found.items(), key=lambda one: -one[1])


def _overlap_ms(one: Span, other: Span) -> float:
    return max(0.0, min(one.end_ms, other.end_ms) - max(one.start_ms, other.start_ms))


def number(row: Row, name: str) -> float | None:
    """A number in a row; None if it has none of this name."""
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else None


def text(row: Row, name: str) -> str | None:
    """A text in a row; None if it has none of this name."""
    value = row.get(name)
    return value if isinstance(value, str) and value else None


def transaction_of(row: Row) -> str | None:
    """The id of the transaction of a row, in upper case as in the stage rows."""
    found = text(row, "tx_id") or text(row, "resolved_tx_id")
    return found.upper() if found else None
