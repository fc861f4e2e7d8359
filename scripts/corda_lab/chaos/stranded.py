"""Transactions that Corda has stranded: the notary has committed them, and no node has recorded them.

A flow asks the notary first, and records afterwards. If it ends with an error in between, for instance because its
database has gone away, only the notary has its transaction. The ledgers do not tell that from a transaction that was
recorded and lost; the logs of the nodes do.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from corda_lab.faults.model import Part
from corda_lab.node_logs import model as node_logs
from corda_lab.node_logs.model import LogEntry
from corda_lab.steps.reasons import Reason
from corda_lab.steps.resolutions import with_columns

SENT = "Sending transaction to notary"
RECORDED = "Recorded transaction locally successfully"
ENDED = "Flow error allowed to propagate"
EVIDENCE = (SENT, "Notary responded", "Recording transaction locally", "Flow raised an error", ENDED)
"""The begin of each message of a flow that is kept: from the request to the notary to its end with an error."""
TEXT_MAX = 200
"""The longest message that is kept, in characters."""

_VALUE = r"=([^,}]+)"
_FLOW, _CLIENT, _TRANSACTION = (re.compile(name + _VALUE) for name in ("flow-id", "client_id", "tx_id"))


class StrandedTransaction(Part):
    """A transaction that only the notary has, with what shows that its flow ended before it was recorded."""

    transaction: str
    node: str
    """The node on which its flow ran."""
    flow: str
    client_id: str
    told: str
    """What the caller of the flow was told."""
    log: tuple[str, ...]
    """What the node has logged of it: ``14:34:08.060 Notary responded (…)``."""


@dataclass(frozen=True)
class FailedFlow:
    """What its node has logged of a flow that failed, as its caller or the lab was told."""

    node: str
    flow: str
    client_id: str
    told: str
    entries: Sequence[LogEntry]

    @property
    def recorded(self) -> set[str]:
        return self._transactions(RECORDED)

    def has_stranded(self, transaction: str) -> bool:
        """Whether it sent a transaction to the notary and did not record it before it ended with an error."""
        has_ended = any(entry.message.startswith(ENDED) for entry in self.entries)
        return has_ended and transaction in self._transactions(SENT) - self.recorded

    def _transactions(self, message: str) -> set[str]:
        own = (_named(_TRANSACTION, entry) for entry in self.entries if entry.message.startswith(message))
        return {transaction for transaction in own if transaction is not None}


def failed_flows(folder: Path, rows: pl.DataFrame) -> list[FailedFlow]:
    """The flows that failed, from the logs that are kept whole with a load. Raises LabError if one cannot be read.

    A log from which lines are left out proves nothing: what a flow recorded may be among them.
    """
    told = _failures(rows)
    flows: dict[tuple[str, str, str], list[LogEntry]] = {}
    for _, logs, kept in node_logs.of_run(folder):
        for log in (log for log in kept.logs if not log.lines_left_out):
            for entry in node_logs.read_log(logs / log.file):
                flow, client = _named(_FLOW, entry), _named(_CLIENT, entry)
                if flow is not None and client in told:
                    flows.setdefault((log.node, flow, client), []).append(entry)
    return [FailedFlow(node, flow, client, told[client], own) for (node, flow, client), own in flows.items()]


def stranded(transaction: str, flows: Sequence[FailedFlow]) -> StrandedTransaction | None:
    """What shows that a transaction was stranded by one of the flows that failed; None if nothing does."""
    flow = next((flow for flow in flows if flow.has_stranded(transaction)), None)
    if flow is None:
        return None
    told = [
        entry
        for entry in flow.entries
        if entry.message.startswith(EVIDENCE) and _named(_TRANSACTION, entry) in (transaction, None)
    ]
    return StrandedTransaction(
        transaction=transaction,
        node=flow.node,
        flow=flow.flow,
        client_id=flow.client_id,
        told=flow.told,
        log=tuple(map(_line, told)),
    )


def is_left(differing: Reason, flows: Sequence[FailedFlow]) -> bool:
    """Whether a vault has more than expected, by no more than the transactions that failed flows recorded there."""
    if differing.code != "vault_differs":
        return False
    surplus = int(differing.values["counted"]) - int(differing.values["expected"])
    return 0 < surplus <= sum(len(flow.recorded) for flow in flows if flow.node == differing.values["node"])


def _line(entry: LogEntry) -> str:
    at = datetime.fromtimestamp(entry.at or 0.0, tz=UTC).isoformat(timespec="milliseconds")[11:23]
    message = entry.message if len(entry.message) <= TEXT_MAX else f"{entry.message[:TEXT_MAX]}…"
    return f"{at} {message}"


def _named(pattern: re.Pattern[str], entry: LogEntry) -> str | None:
    return next((match[1] for line in entry.lines if (match := pattern.search(line))), None)


def _failures(rows: pl.DataFrame) -> dict[str, str]:
    """What callers were told of the flows that failed, by client id."""
    if not rows.height:
        return {}
    failed = with_columns(rows).filter((pl.col("outcome") == "failed") | (pl.col("resolved") == "failed"))
    return {str(client): error or "no outcome" for client, error in failed.select("client_id", "error").iter_rows()}
