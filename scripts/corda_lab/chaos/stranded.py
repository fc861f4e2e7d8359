"""Transactions that Corda has stranded: the notary has committed them, and no node has recorded them.

A flow asks the notary first, and records afterwards. If it ends with an error in between, for instance because its
database has gone away, only the notary has its transaction. The ledgers do not tell that from a transaction that was
recorded and lost; the logs of the nodes do.
"""

import gzip
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from corda_lab.errors import LabError
from corda_lab.results import folders, node_logs
from corda_lab.results.audits import Audit, Violation, ViolationKind
from corda_lab.results.node_logs import LogEntry, entries
from corda_lab.steps.reasons import Reason
from corda_lab.steps.resolutions import with_columns

SENT = "Sending transaction to notary"
RECORDED = "Recorded transaction locally successfully"
ENDED = "Flow error allowed to propagate"

_FLOW, _CLIENT, _TRANSACTION = (re.compile(rf"{name}=([^,}}]+)") for name in ("flow-id", "client_id", "tx_id"))


@dataclass(frozen=True)
class FailedFlow:
    """What its node has logged of a flow that failed, as its caller or the lab was told."""

    node: str
    entries: list[LogEntry] = field(default_factory=list)

    @property
    def recorded(self) -> set[str]:
        return self._transactions(RECORDED)

    @property
    def stranded(self) -> set[str]:
        """The transactions that it sent to the notary and did not record before it ended with an error."""
        has_ended = any(entry.message.startswith(ENDED) for entry in self.entries)
        return self._transactions(SENT) - self.recorded if has_ended else set()

    def _transactions(self, message: str) -> set[str]:
        ids = (_id_in(_TRANSACTION, entry) for entry in self.entries if entry.message.startswith(message))
        return {identity for identity in ids if identity is not None}


def failed_flows(folder: Path, rows: pl.DataFrame) -> list[FailedFlow]:
    """The flows of a load that failed, from the logs that were kept whole with it. Raises LabError.

    A log from which lines are left out proves nothing: what a flow recorded may be among them.
    """
    if not rows.height:
        return []
    failed = with_columns(rows).filter((pl.col("outcome") == "failed") | (pl.col("resolved") == "failed"))
    clients = set(failed["client_id"])
    flows: dict[tuple[str, str], FailedFlow] = {}
    for _, path, index in node_logs.of_run(folder):
        for log in index.logs:
            for entry in () if log.lines_left_out else _read(path / log.file):
                flow = _id_in(_FLOW, entry)
                if flow is not None and _id_in(_CLIENT, entry) in clients:
                    flows.setdefault((log.node, flow), FailedFlow(log.node)).entries.append(entry)
    return list(flows.values())


def is_notary_alone(one: Violation) -> bool:
    """Whether a violation is a transaction that only the notary has. Its id is the first one."""
    return one.kind is ViolationKind.NOTARY_WITHOUT_TRANSACTION and bool(one.ids)


def stranded_by(flows: Sequence[FailedFlow], audit: Audit | None) -> dict[str, list[str]]:
    """The transactions that only the notary has because a flow failed, with the lines of its log that show it."""
    alone = [one.ids[0] for one in (audit.violations if audit else ()) if is_notary_alone(one)]
    return {
        identity: [
            f"{flow.node}: {entry.lines[0]}" for entry in flow.entries if _id_in(_TRANSACTION, entry) == identity
        ]
        for identity in alone
        for flow in flows
        if identity in flow.stranded
    }


def is_left(differing: Reason, flows: Sequence[FailedFlow]) -> bool:
    """Whether a vault has more than expected, by no more than the transactions that failed flows recorded there."""
    if differing.code != "vault_differs":
        return False
    surplus = int(differing.values["counted"]) - int(differing.values["expected"])
    return 0 < surplus <= sum(len(flow.recorded) for flow in flows if flow.node == differing.values["node"])


def _read(path: Path) -> list[LogEntry]:
    """Read a log, compressed or not. Raises LabError if it is not there or damaged."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            return list(entries(lines))
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise LabError(f"{path}: cannot be read ({error})", folders.DAMAGED) from None


def _id_in(pattern: re.Pattern[str], entry: LogEntry) -> str | None:
    return next((match[1] for line in entry.lines if (match := pattern.search(line))), None)
