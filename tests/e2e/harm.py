"""What attacks may not change: counts before and after them."""

from dataclasses import dataclass

import httpx

from corda_lab.profile import jvm
from e2e import hostile, ledger_rows
from e2e.labkit import Lab

READY_SECONDS_MAX = 5.0
"""How soon after an attack the bridge has to be ready."""
HEAP_CHANGE_PERCENT_MAX = 10.0
"""How far the heap of the bridge may be from where it was."""


@dataclass(frozen=True)
class Counted:
    """What attacks may not change: the rows of every ledger, the flows started, and the bridge's live objects."""

    rows: ledger_rows.LedgerRows
    flows: float
    live_bytes: int


def counted(lab: Lab, bridge: httpx.Client) -> Counted:
    """Count it now. The heap is collected for it."""
    rows, (_, flows) = ledger_rows.count(lab), hostile.started(bridge)
    return Counted(rows, flows, jvm.find(jvm.BRIDGE, lab.compose).histogram().bytes)


def require_unchanged(before: Counted, lab: Lab, bridge: httpx.Client) -> None:
    """Fail if a flow was started, a ledger changed, or the heap of the bridge did not come back to where it was."""
    after = counted(lab, bridge)
    assert after.flows == before.flows
    assert after.rows == before.rows
    change = 100 * (after.live_bytes - before.live_bytes) / before.live_bytes
    assert abs(change) <= HEAP_CHANGE_PERCENT_MAX, f"the heap after collection changed by {change:+.1f} %"
