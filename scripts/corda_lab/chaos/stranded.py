"""Transactions that Corda has stranded: the notary has committed them, and no node has recorded them.

A flow asks the notary first, and records afterwards. If it ends with an error in between, for instance because its
database has gone away, only the notary has its transaction. The ledgers do not tell that from a transaction that was
recorded and lost; the logs of the nodes do.
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from corda_lab.errors import LabError
from corda_lab.faults.model import Part
from corda_lab.node_logs import model as node_logs
from corda_lab.node_logs.model import LogEntry, entries
from corda_lab.results import folders
from corda_lab.results.audits import Audit, Violation, ViolationKind
from corda_lab.steps.reasons import Reason
from corda_lab.steps.resolutions import with_columns

SENT = "Sending transaction to notary"
COMMITTED = "successfully notarised"
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
    """What the nodes have logged of it, in order of time: ``14:34:08.060 PartyA: Notary responded (…)``."""


@dataclass(frozen=True)
class FailedFlow:
    """What its node has logged of a flow that failed, as its caller or the lab was told."""

    node: str
    flow: str
    client_id: str
    told: str
    entries: tuple[LogEntry, ...]

    @property
    def recorded(self) -> frozenset[str]:
        return self._transactions(RECORDED)

    @property
    def stranded(self) -> frozenset[str]:
        """The transactions that it sent to the notary and did not record before it ended with an error."""
        has_ended = any(entry.message.startswith(ENDED) for entry in self.entries)
        return self._transactions(SENT) - self.recorded if has_ended else frozenset()

    def of(self, transaction: str) -> Iterator[LogEntry]:
        """The entries of one of its transactions, and those of its end."""
        for entry in self.entries:
            if entry.message.startswith(EVIDENCE) and _found(_TRANSACTION, entry) in (transaction, None):
                yield entry

    def _transactions(self, message: str) -> frozenset[str]:
        own = (_found(_TRANSACTION, entry) for entry in self.entries if entry.message.startswith(message))
        return frozenset(one for one in own if one is not None)


@dataclass(frozen=True)
class Logs:
    """The logs that are kept whole with a load: entries by node. Empty if none are kept.

    A log from which lines are left out proves nothing: what a flow recorded may be among them.
    """

    of_nodes: Mapping[str, tuple[LogEntry, ...]]

    @classmethod
    def of(cls, folder: Path) -> "Logs":
        """Read the logs of a load of one step. Raises LabError if one cannot be read."""
        kept = [(path, log) for _, path, index in node_logs.of_run(folder) for log in index.logs]
        return cls({log.node: _entries(path / log.file) for path, log in kept if not log.lines_left_out})

    def failed_flows(self, rows: pl.DataFrame) -> list[FailedFlow]:
        told = _failures(rows)
        found: dict[tuple[str, str], list[LogEntry]] = {}
        clients: dict[tuple[str, str], str] = {}
        for node, every in self.of_nodes.items():
            for entry in every:
                flow, client = _found(_FLOW, entry), _found(_CLIENT, entry)
                if flow is not None and client in told:
                    found.setdefault((node, flow), []).append(entry)
                    clients[node, flow] = client
        return [
            FailedFlow(node, flow, clients[node, flow], told[clients[node, flow]], tuple(own))
            for (node, flow), own in found.items()
        ]


@dataclass(frozen=True)
class Explained:
    """What the logs explain: stranded transactions, and vaults with what flows that failed had recorded before."""

    stranded: tuple[StrandedTransaction, ...]
    left: tuple[Reason, ...]


def explained_by(logs: Logs, rows: pl.DataFrame, audit: Audit | None, differing: Iterable[Reason]) -> Explained:
    """What the logs of a load explain of its audit, and of the counts that differ."""
    flows = logs.failed_flows(rows)
    alone = [one.ids[0] for one in (audit.violations if audit else ()) if is_notary_alone(one)]
    stranded = [_described(one, flow, logs) for one in alone for flow in flows if one in flow.stranded]
    return Explained(tuple(stranded), tuple(one for one in differing if _is_left(one, flows)))


def is_notary_alone(one: Violation) -> bool:
    """Whether a violation is a transaction that only the notary has. Its id is the first one."""
    return one.kind is ViolationKind.NOTARY_WITHOUT_TRANSACTION and bool(one.ids)


def _is_left(one: Reason, flows: Sequence[FailedFlow]) -> bool:
    """Whether a vault has more than expected, by no more than the transactions that failed flows recorded there."""
    if one.code != "vault_differs":
        return False
    surplus = int(one.values["counted"]) - int(one.values["expected"])
    return 0 < surplus <= sum(len(flow.recorded) for flow in flows if flow.node == one.values["node"])


def _described(transaction: str, flow: FailedFlow, logs: Logs) -> StrandedTransaction:
    told = [(flow.node, entry) for entry in flow.of(transaction)]
    told += [
        (node, entry)
        for node, every in logs.of_nodes.items()
        for entry in every
        if node != flow.node and COMMITTED in entry.message and entry.names(transaction)
    ]
    told.sort(key=lambda one: one[1].at or 0.0)
    return StrandedTransaction(
        transaction=transaction,
        node=flow.node,
        flow=flow.flow,
        client_id=flow.client_id,
        told=flow.told,
        log=tuple(_line(node, entry) for node, entry in told),
    )


def _line(node: str, entry: LogEntry) -> str:
    at = datetime.fromtimestamp(entry.at or 0.0, tz=UTC).isoformat(timespec="milliseconds")[11:23]
    message = entry.message if len(entry.message) <= TEXT_MAX else f"{entry.message[:TEXT_MAX]}…"
    return f"{at} {node}: {message}"


def _entries(path: Path) -> tuple[LogEntry, ...]:
    """Read a log, compressed or not. Raises LabError if it is not there or damaged."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            return tuple(entries(lines))
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise LabError(f"{path}: cannot be read ({error})", folders.DAMAGED) from None


def _found(pattern: re.Pattern[str], entry: LogEntry) -> str | None:
    return next((match[1] for line in entry.lines if (match := pattern.search(line))), None)


def _failures(rows: pl.DataFrame) -> dict[str, str]:
    if not rows.height:
        return {}
    failed = with_columns(rows).filter((pl.col("outcome") == "failed") | (pl.col("resolved") == "failed"))
    return {
        str(client): str(error or "no outcome") for client, error in failed.select("client_id", "error").iter_rows()
    }
