"""What attacks may have changed: counts before and after them, as the files about attacks have them."""

from dataclasses import dataclass
from typing import Any

import httpx

from corda_lab import __version__
from corda_lab.lab.environment import read_environment
from corda_lab.profile import histogram, jvm
from e2e import hostile, ledger_rows
from e2e.labkit import Lab


@dataclass(frozen=True)
class Counted:
    """What attacks may not change: the rows of every ledger, the flows started, and the bridge's live objects."""

    rows: ledger_rows.LedgerRows
    flows: float
    live_bytes: int


def counted(lab: Lab, bridge: httpx.Client) -> Counted:
    """Count it now. The heap is collected for it."""
    rows, (_, flows) = ledger_rows.count(lab), hostile.started(bridge)
    return Counted(rows, flows, histogram.count(jvm.find(jvm.BRIDGE, lab.compose)).bytes)


def changed_since(before: Counted, lab: Lab, bridge: httpx.Client) -> dict[str, Any]:
    """The fields of a file that tell what attacks have changed, and on which lab."""
    after = counted(lab, bridge)
    return {
        "lab_version": __version__,
        "environment": read_environment(lab.compose),
        "flows_started": int(after.flows - before.flows),
        "ledgers_changed": sorted(node for node, rows in after.rows.items() if rows != before.rows[node]),
        "live_bytes_before": before.live_bytes,
        "live_bytes_after": after.live_bytes,
    }
