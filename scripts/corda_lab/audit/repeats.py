"""Whether a flow did something again: it recorded more transactions than the other flows of its workload.

A flow that goes on from a checkpoint after a kill of its node keeps its id and its client id. If it makes a transaction
again, that has another id, and a request accounts for both. Only the number of them tells.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from corda_lab.audit.placement import unexplained
from corda_lab.audit.tables import Request, View
from corda_lab.results.audits import Violation, ViolationKind
from corda_lab.text.words import plural

FLOWS_MIN = 5
"""With fewer acknowledged flows of a kind, none of them stands out."""
EXCEPTIONS_SHARE_MAX = 0.1
"""The share of flows of a kind, or one of them, that may have made another number than the others. If there are more,
flows of this kind differ by nature, and no number says anything."""

Flow = tuple[str, str]
"""A node, and the id of a flow on it."""


@dataclass(frozen=True)
class Kind:
    """The flows of one kind of request in one load, with the transactions that each of them made."""

    load: int
    name: str
    made: Mapping[Flow, frozenset[str]]
    acknowledged: tuple[Flow, ...]

    @property
    def numbers(self) -> Counter[int]:
        return Counter(len(self.made[flow]) for flow in self.acknowledged)

    @property
    def usual(self) -> int | None:
        """The number of transactions that a flow of this kind makes; None if there are too few flows, or it varies."""
        if len(self.acknowledged) < FLOWS_MIN:
            return None
        number, flows = max(self.numbers.items(), key=lambda one: (one[1], -one[0]))
        exceptions = len(self.acknowledged) - flows
        return number if exceptions <= max(1, EXCEPTIONS_SHARE_MAX * len(self.acknowledged)) else None

    @property
    def varies(self) -> bool:
        """Whether there are enough flows, and they differ by nature."""
        return len(self.acknowledged) >= FLOWS_MIN and self.usual is None


def kinds_of(view: View) -> list[Kind]:
    flows: dict[tuple[int, str], dict[Flow, bool]] = {}
    for request in view.requests:
        if flow_id := flow_of(view, request):
            own = flows.setdefault((request.load, request.part), {})
            flow = (request.node, flow_id)
            own[flow] = own.get(flow, False) or request.status == "acknowledged"
    return [
        Kind(
            load,
            part,
            {flow: view.made_by_flows.get(flow, frozenset()) for flow in own},
            tuple(flow for flow, is_acknowledged in own.items() if is_acknowledged),
        )
        for (load, part), own in flows.items()
    ]


def flow_of(view: View, request: Request) -> str | None:
    """The id of the flow of a request: what its caller was told, or that which recorded its transaction."""
    if request.flow_id or request.transaction is None or request.node not in view.ledgers.nodes:
        return request.flow_id
    recorded = view.ledgers.nodes[request.node].transactions.get(request.transaction)
    return recorded.flow_id if recorded else None


def repeated_flows(view: View) -> Iterator[Violation]:
    kinds = kinds_of(view)
    for kind in kinds:
        if usual := kind.usual:
            for (node, flow), made in sorted(kind.made.items()):
                if len(made) > usual:
                    yield _repeated(node, flow, made, usual, f"the others of {kind.name}" if kind.name else "others")
    # A flow of which nobody knows the request, such as one without an answer.
    if usual := max((kind.usual or 0 for kind in kinds), default=0):
        for flow, made in sorted(unexplained(view).items()):
            if len(made) > usual and not any(kind.varies for kind in kinds):
                yield _repeated(None, flow, made, usual, "others")


def _repeated(node: str | None, flow: str, made: frozenset[str], usual: int, others: str) -> Violation:
    ids = sorted(made)
    return Violation(
        kind=ViolationKind.FLOW_REPEATED,
        node=node,
        ids=(*ids, flow),
        text=f"flow {flow} made {plural(len(made), 'transaction')} ({', '.join(ids)}), and {others} made {usual} each: "
        "it went on from an older checkpoint, and did again what it had done",
    )


def reasons(view: View) -> Iterator[str]:
    """What the numbers of transactions do not tell, and which acknowledged flows cannot be found on the ledger."""
    kinds = kinds_of(view)
    for kind in kinds:
        if kind.varies:
            told = ", ".join(f"{flows:,} made {number}" for number, flows in sorted(kind.numbers.items()))
            yield (
                f"the acknowledged flows{f' of {kind.name}' if kind.name else ''} made different numbers of "
                f"transactions ({told}), so one that did something again does not stand out"
            )
    usual = {(kind.load, kind.name): kind.usual or 1 for kind in kinds}
    if nameless := sum(_is_nameless(view, one, usual.get((one.load, one.part), 1)) for one in view.requests):
        yield (
            f"{plural(nameless, 'acknowledged flow')} told no id of a transaction, and the ledger has too few under "
            "the id of the flow, so nobody can look for what was acknowledged"
        )


def _is_nameless(view: View, request: Request, usual: int) -> bool:
    """Whether a flow that succeeded, and whose workload names states, cannot be found on the ledger.

    Without the id of a transaction, the id of the flow finds those that it has recorded, if they are all there.
    """
    if request.status != "acknowledged" or request.transaction is not None or not request.names_states:
        return False
    return len(view.made_by_flows.get((request.node, request.flow_id or ""), ())) < usual
