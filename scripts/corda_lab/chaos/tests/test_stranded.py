"""Transactions that only the notary has: which of them the logs of the nodes explain, and which stay violations.

The lines are those of Corda 4.10 whose PostgreSQL was killed, with shorter contexts.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.chaos import command
from corda_lab.chaos.stranded import FailedFlow, failed_flows, is_left
from corda_lab.chaos.trial import Trial, audit_problems, explain
from corda_lab.errors import LabError
from corda_lab.node_logs import model as node_logs
from corda_lab.node_logs.model import KeptLogs, LogEntry
from corda_lab.results.audits import Audit, Violation, ViolationKind
from corda_lab.steps.reasons import Reason, reason

LOGS = f"steps/0001-run/{node_logs.FOLDER}"

CLIENT = "20261127T143052Z-chaos-f6d84fe4-343"
ISSUED, PAID = "5E02A17D", "36A164F0"
ERROR = "An error occurred while attempting to query the vault: could not extract ResultSet"
TOLD = f"flow-failed: net.corda.core.node.services.VaultQueryException: {ERROR}"


def of_flow(message: str, transaction: str | None, *, at: str = "14:34:08,000", logger: str = "corda.flow.") -> str:
    named = f", tx_id={transaction}" if transaction else ""
    context = f"client_id={CLIENT}, fiber-id=10000318, flow-id=074a2fb4-484a, origin=lab{named}"
    return f"[INFO ] 2026-11-27T{at}Z [Node thread-1] {logger} - {message} {{{context}}}"


ISSUE = [of_flow("Recorded transaction locally successfully.", ISSUED, at="14:34:06,827")]
PAY = [
    of_flow("Sending transaction to notary: O=Notary, L=London, C=GB.", PAID, at="14:34:06,997"),
    of_flow("Notary responded (O=Notary, L=London, C=GB).", PAID, at="14:34:08,060"),
    of_flow("Recording transaction locally.", PAID, at="14:34:08,061"),
    of_flow(f"Flow raised an error: {ERROR}. Sending it to flow hospital to be triaged.", PAID, at="14:34:08,445"),
    "net.corda.core.node.services.VaultQueryException: An error occurred",
    "\tat net.corda.node.services.vault.NodeVaultService._queryBy(NodeVaultService.kt:660)",
]
END = [of_flow("Flow error allowed to propagate", PAID, at="14:34:08,456", logger="statemachine.StaffedFlowHospital.")]
RETRIED = [of_flow("Flow error to be retried", PAID, logger="statemachine.StaffedFlowHospital.")]
RECORDED = [of_flow("Recorded transaction locally successfully.", PAID)]

ALONE = Violation(
    kind=ViolationKind.NOTARY_WITHOUT_TRANSACTION, ids=(PAID, f"{ISSUED}(0)"), text=f"the notary has committed {PAID}"
)
AUDIT = Audit(verdict="violations", violations=(ALONE,))
SURPLUS = reason("vault_differs", node="PartyA", state="CashState", counted=1, expected=0)


def trial_of(flows: Sequence[FailedFlow], audit: Audit = AUDIT) -> Trial:
    trial = Trial(seed=15, run="20261127T143052Z-chaos", audit=audit)
    explain(trial, flows)
    return trial


def failed(folder: Path, of_party: Sequence[str], *, outcome: str = "failed", left_out: int = 0) -> list[FailedFlow]:
    """The flows that failed, by logs that a load has kept in a folder."""
    rows = pl.DataFrame({"client_id": [CLIENT], "outcome": [outcome], "error": [TOLD]})
    log = node_logs.keep_log(folder / LOGS, "PartyA", [LogEntry(tuple(of_party))])
    assert log is not None
    log = log.model_copy(update={"lines_left_out": left_out})
    index = KeptLogs(why="75 of 576 requests failed", since=0.0, until=1.0, logs=[log])
    node_logs.write_index(folder / LOGS, index)
    return failed_flows(folder, rows)


def test_the_log_shows_that_corda_has_stranded_a_transaction(tmp_path: Path) -> None:
    trial = trial_of(failed(tmp_path, [*ISSUE, *PAY, *END]))
    (one,) = trial.stranded
    assert (one.transaction, one.node, one.client_id, one.told) == (PAID, "PartyA", CLIENT, TOLD)
    assert one.log == (
        "14:34:06.997 Sending transaction to notary: O=Notary, L=London, C=GB.",
        "14:34:08.060 Notary responded (O=Notary, L=London, C=GB).",
        "14:34:08.061 Recording transaction locally.",
        f"14:34:08.445 Flow raised an error: {ERROR}. Sending it to flow hospital to be triaged.",
        "14:34:08.456 Flow error allowed to propagate",
    )
    assert audit_problems(trial) == []
    assert f"stranded by Corda: {PAID}" in command.line(trial)


@pytest.mark.parametrize(
    ("of_party", "differs"),
    [
        pytest.param([*ISSUE, *PAY, *RETRIED], {}, id="its flow has not ended"),
        pytest.param([*ISSUE, *PAY, *RECORDED, *END], {}, id="it was recorded, and lost"),
        pytest.param([*ISSUE, *END], {}, id="its flow never asked the notary"),
        pytest.param([*ISSUE, *PAY, *END], {"outcome": "ok"}, id="its caller was told of success"),
        pytest.param([*ISSUE, *PAY, *END], {"outcome": "unknown"}, id="its caller was told of nothing"),
        pytest.param([*ISSUE, *PAY, *END], {"left_out": 1}, id="the line that says so may have been left out"),
    ],
)
def test_without_each_part_of_the_evidence_it_stays_a_violation(
    tmp_path: Path, of_party: Sequence[str], differs: dict[str, Any]
) -> None:
    assert audit_problems(trial_of(failed(tmp_path, of_party, **differs))) == [ALONE.text]


@pytest.mark.parametrize("damage", [None, b"\xff\xfe no text"])
def test_a_log_that_cannot_be_read_is_named(tmp_path: Path, damage: bytes | None) -> None:
    failed(tmp_path, PAY)
    path = tmp_path / LOGS / "PartyA.log"
    path.unlink() if damage is None else path.write_bytes(damage)
    with pytest.raises(LabError, match=r"PartyA\.log: cannot be read"):
        failed_flows(tmp_path, pl.DataFrame())


@pytest.mark.parametrize(
    ("differing", "is_explained"),
    [
        (SURPLUS, True),
        (reason("vault_differs", node="PartyA", state="CashState", counted=2, expected=0), False),
        (reason("vault_differs", node="PartyA", state="CashState", counted=-1, expected=0), False),
        (reason("vault_differs", node="PartyB", state="CashState", counted=1, expected=0), False),
        (reason("count_differs", observer="bridge", count=5, flow="Iou", generator=4), False),
    ],
)
def test_what_a_failed_flow_had_recorded_before_explains_as_much_and_no_more(
    tmp_path: Path, differing: Reason, is_explained: bool
) -> None:
    assert is_left(differing, failed(tmp_path, [*ISSUE, *PAY, *END])) == is_explained
    assert not is_left(differing, failed_flows(tmp_path / "without logs", pl.DataFrame()))


def test_what_else_the_audit_found_and_cannot_tell_is_still_told(tmp_path: Path) -> None:
    other = Violation(
        kind=ViolationKind.NOTARY_WITHOUT_TRANSACTION, ids=("ABCD",), text="the notary has committed ABCD"
    )
    audit = AUDIT.model_copy(update={"violations": (ALONE, other), "reasons": ("37 transactions cannot be read",)})
    problems = audit_problems(trial_of(failed(tmp_path, [*ISSUE, *PAY, *END]), audit))
    assert problems == [other.text, "the audit cannot tell: 37 transactions cannot be read"]
