"""Where the time of one request went: its spans at the client, the bridge, the nodes and the notary, in order.

``docs/methodology.md`` defines the spans. They come from the row of the request, the stage rows of its flow and of the
flows that answered it, and the log of the notary. All times are milliseconds from the real start of the request.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from corda_lab.steps.stages import ENTRY_OFFSETS, ENTRY_STAGES
from corda_lab.text.words import STAGE_MEANINGS, short

Kind = Literal["whole", "part", "gap", "mark"]
"""whole: a request or a flow. part: a part of one that is timed. gap: a part that nothing times. mark: a moment."""

Row = Mapping[str, object]

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
    identity = text(row, "tx_id") or text(row, "resolved_tx_id")
    return identity.upper() if identity else None


NOT_TIMED = "not timed"
GAP_MS_MIN = 0.05
"""Shorter gaps are not shown: rows round their times, and processes agree on the time only to within a millisecond."""

CLIENT_GAPS = ("HTTP: on the way to the bridge", "HTTP", "HTTP: the answer on the way to the client")
CLIENT_GAPS_WITHOUT_BRIDGE = (
    "HTTP, bridge and RPC, before the flow",
    "HTTP, bridge, RPC",
    "RPC, bridge and HTTP, after the flow",
)
BRIDGE_GAPS = (
    "the bridge reads and converts the request",
    "RPC: on the way to the node",
    "RPC: the result on the way to the bridge",
)
FLOW_GAPS = ("no stage of the flow covers it",) * 3
NOTHING_KNOWN = "nothing was recorded of it"

NO_STAGES = "This flow has no stage row, so of the node only the time is known that the bridge saw."
NO_BRIDGE = "The row has no times of the bridge."
NO_RESPONDER = (
    "No other party's flow is linked. It would be by the transaction id, which a party's row has from when that party "
    "saw the transaction."
)


@dataclass
class _Branch:
    """A span while the tree is built. ``gaps`` says what is not timed before, between and after its children.

    A child that is ``aside`` runs beside the span, and covers nothing of it.
    """

    actor: str
    name: str
    start_ms: float
    end_ms: float
    kind: Kind = "whole"
    note: str = ""
    gaps: Sequence[str] = ()
    is_path: bool = False
    aside: bool = False
    children: list["_Branch"] = field(default_factory=list)


@dataclass(frozen=True)
class _Scene:
    """Everything that is known of one request: its row, the stage rows of its step, and the notary's times by id."""

    request: Row
    stages: pl.DataFrame | None
    requested_at: Mapping[str, float]

    def ms(self, at: float) -> float:
        return round((at - (number(self.request, "started_at") or 0.0)) * 1000, 3)

    @property
    def latency_ms(self) -> float:
        return number(self.request, "latency_ms") or 0.0


def of_request(request: Row, stages: pl.DataFrame | None, requested_at: Mapping[str, float] | None = None) -> Waterfall:
    """The waterfall of a request.

    ``stages`` has the stage rows of its step, ``requested_at`` the times (unix seconds) at which the notary has logged
    transactions, by id.
    """
    scene = _Scene(request, stages, requested_at or {})
    notes: list[str] = []
    root = _Branch(CLIENT, "request", 0.0, scene.latency_ms, gaps=CLIENT_GAPS)
    flow, transaction = _flow(scene, notes)
    bridge = _bridge(scene, flow)
    if bridge is not None:
        root.children.append(bridge)
    elif flow is not None:
        root.gaps = CLIENT_GAPS_WITHOUT_BRIDGE
        root.children.append(flow)
        notes.append(NO_BRIDGE)
    transaction = transaction or transaction_of(request)
    if flow is None and transaction is not None and transaction in scene.requested_at:
        (bridge or root).children.append(_logged(scene, transaction))
    _fill(root)
    spans = [*_late_start(scene), *_flat(root, 0)]
    return Waterfall(
        step=int(number(request, "step") or 1),
        part=text(request, "part") or "",
        flow=text(request, "flow") or "",
        node=text(request, "node") or "",
        outcome=text(request, "outcome") or "",
        error=text(request, "error"),
        started_at=number(request, "started_at") or 0.0,
        latency_ms=scene.latency_ms,
        client_id=text(request, "client_id"),
        flow_id=text(request, "flow_id"),
        tx_id=transaction,
        spans=tuple(spans),
        notes=tuple(notes),
    )


def _late_start(scene: _Scene) -> list[Span]:
    intended = number(scene.request, "intended_at")
    if intended is None or scene.ms(intended) > -GAP_MS_MIN:
        return []
    note = "from the intended start until a place was free and the generator started it"
    return [Span(CLIENT, "late start", "part", 0, scene.ms(intended), 0.0, note)]


def _bridge(scene: _Scene, flow: _Branch | None) -> _Branch | None:
    """What the bridge did for a request, with the flow in it; None if the row has no times of the bridge."""
    flow_ms, rpc_ms = number(scene.request, "bridge_flow_ms"), number(scene.request, "bridge_rpc_ms")
    if flow_ms is None:
        return None
    received, start = (
        scene.ms(number(scene.request, name) or 0.0) for name in ("bridge_received_at", "bridge_started_at")
    )
    branch = _Branch(BRIDGE, "request", received, start + flow_ms, gaps=BRIDGE_GAPS)
    if rpc_ms is not None:
        note = "the RPC call that starts the flow"
        branch.children.append(_Branch(BRIDGE, "start by RPC", start, start + rpc_ms, "part", note, is_path=True))
    if flow is None:
        node = text(scene.request, "node") or "node"
        name = short(text(scene.request, "flow") or "flow")
        note = "timed by the bridge: from the answer to the start until the result"
        flow = _Branch(node, name, start + (rpc_ms or 0.0), start + flow_ms, note=note, is_path=True)
    branch.children.append(flow)
    return branch


def _flow(scene: _Scene, notes: list[str]) -> tuple[_Branch | None, str | None]:
    """The flow of a request in its node with all that is linked to it, and its transaction; None without stage row."""
    flow_id = text(scene.request, "flow_id")
    if scene.stages is None or flow_id is None:
        notes.append(NO_STAGES)
        return None, None
    own = _rows(scene.stages.filter((pl.col("role") == "initiator") & (pl.col("flow_id") == flow_id)))
    if not own:
        notes.append(NO_STAGES)
        return None, None
    wanted = text(scene.request, "flow")
    main = next((row for row in own if text(row, "flow") == wanted), own[0])
    branch = _flow_branch(scene, main, notes, is_path=True)
    # A flow of the CorDapp may run another as its sub-flow, under the same id.
    for row in own:
        if row is not main:
            inner = _flow_branch(scene, row, notes, is_path=False)
            inner.aside = True
            branch.children.append(inner)
    is_asking = any(child.name == _name("collect_signatures") for child in branch.children)
    has_responder = any(child.kind == "whole" and child.actor != branch.actor for child in branch.children)
    if is_asking and not has_responder:
        notes.append(NO_RESPONDER)
    return branch, transaction_of(main)


def _rows(table: pl.DataFrame) -> list[Row]:
    return list(table.sort("created_at").iter_rows(named=True))


def _flow_branch(scene: _Scene, row: Row, notes: list[str], *, is_path: bool) -> _Branch:
    """A flow that this node started: its stages, the flows that answered, and the notary."""
    branch = _stages_branch(scene, row, notes, is_path=is_path)
    transaction = transaction_of(row)
    if transaction is None or scene.stages is None:
        return branch
    answered = (pl.col("role") == "responder") & (pl.col("tx_id") == transaction)
    for responder in _rows(scene.stages.filter(answered)):
        answer = _stages_branch(scene, responder, notes, is_path=False)
        answer.aside = True
        branch.children.append(answer)
    if transaction in scene.requested_at:
        _add_notary(scene, branch, transaction)
    return branch


def _stages_branch(scene: _Scene, row: Row, notes: list[str], *, is_path: bool) -> _Branch:
    created, ended = number(row, "created_at") or 0.0, number(row, "ended_at") or 0.0
    node = text(row, "node") or "node"
    role, outcome = text(row, "role") or "", text(row, "outcome") or ""
    note = role if outcome == "ok" else f"{role}, {outcome}"
    name = short(text(row, "flow") or "flow")
    branch = _Branch(node, name, scene.ms(created), scene.ms(ended), note=note, gaps=FLOW_GAPS)
    branch.children = list(_stages(node, row, branch, is_path=is_path))
    recorded = number(row, "recorded_at")
    if recorded is not None:
        at = scene.ms(recorded)
        branch.children.append(_Branch(node, "transaction committed", at, at, "mark", "the node has recorded it"))
    return branch


def _stages(node: str, row: Row, flow: _Branch, *, is_path: bool) -> Iterator[_Branch]:
    listed, offsets = row[ENTRY_STAGES], row[ENTRY_OFFSETS]
    assert isinstance(listed, list)
    assert isinstance(offsets, list)
    starts = [flow.start_ms + float(offset) for offset in offsets]
    for stage, start, end in zip(listed, starts, [*starts[1:], flow.end_ms], strict=False):
        if stage is None:
            note = "further stages, which the row does not list"
            yield _Branch(node, NOT_TIMED, start, end, "gap", note, is_path=is_path)
        elif end > start:
            yield _Branch(node, _name(stage), start, end, "part", STAGE_MEANINGS.get(stage, ""), is_path=is_path)


def _name(stage: str) -> str:
    return stage.replace("_", " ")


def _logged(scene: _Scene, transaction: str) -> _Branch:
    at = scene.ms(scene.requested_at[transaction])
    return _Branch(NOTARY, "request logged", at, at, "mark", "the notary began to commit the transaction")


def _add_notary(scene: _Scene, flow: _Branch, transaction: str) -> None:
    """Divide the stage in which a flow waited for the notary at the time that the notary has logged, or mark it."""
    at = scene.ms(scene.requested_at[transaction])
    # The log of the notary has milliseconds, which may be cut off.
    waits = [
        child
        for child in flow.children
        if child.name == _name("notarise") and child.start_ms - 1 <= at <= child.end_ms + 1
    ]
    if not waits:
        flow.children.append(_logged(scene, transaction))
        return
    wait = waits[-1]
    at = min(max(at, wait.start_ms), wait.end_ms)
    wait.children = [
        _Branch(NOTARY, "reach the notary", wait.start_ms, at, "part", "message, queue and checks, before the commit"),
        _Branch(NOTARY, "commit and answer", at, wait.end_ms, "part", "commit, signature, and the message back"),
    ]


def _fill(branch: _Branch) -> None:
    """Sort the children of a span, and add a gap wherever none of them is."""
    for child in branch.children:
        _fill(child)
    if not branch.gaps:
        branch.children.sort(key=_place)
        return
    timed = sorted((child for child in branch.children if child.kind != "mark" and not child.aside), key=_place)
    before, between, after = branch.gaps if timed else (NOTHING_KNOWN,) * 3
    until = branch.start_ms
    for place, child in enumerate(timed):
        if child.start_ms - until >= GAP_MS_MIN:
            note = between if place else before
            branch.children.append(_gap(branch, until, min(child.start_ms, branch.end_ms), note))
        until = max(until, child.end_ms)
    if branch.end_ms - until >= GAP_MS_MIN:
        branch.children.append(_gap(branch, until, branch.end_ms, after))
    branch.children.sort(key=_place)


def _gap(branch: _Branch, start: float, end: float, note: str) -> _Branch:
    return _Branch(branch.actor, NOT_TIMED, start, end, "gap", note, is_path=branch.actor in (CLIENT, BRIDGE))


def _place(branch: _Branch) -> tuple[float, float]:
    """Earlier spans come first, and of two with the same start the longer one."""
    return branch.start_ms, -branch.end_ms


def _flat(branch: _Branch, depth: int) -> Iterator[Span]:
    start, end = round(branch.start_ms, 3), round(branch.end_ms, 3)
    yield Span(branch.actor, branch.name, branch.kind, depth, start, end, branch.note, branch.is_path)
    for child in branch.children:
        yield from _flat(child, depth + 1)
