"""Transactions that only the notary has: which of them the logs of the nodes explain, and which stay violations.

The lines are those of Corda 4.10 whose PostgreSQL was killed, with shorter contexts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

from corda_lab.chaos import command
from corda_lab.chaos.stranded import Explained, Logs, explained_by
from corda_lab.chaos.trial import Trial, audit_problems
from corda_lab.errors import LabError
from corda_lab.results import node_logs
from corda_lab.results.audits import Audit, Violation, ViolationKind
from corda_lab.results.node_logs import BoundedText, KeptLog, KeptLogs
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
COMMITTED = f"Transaction [{PAID}] successfully notarised, sending signature back to [O=PartyA, L=London, C=GB]"
OF_NOTARY = [f"[INFO ] 2026-11-27T14:34:07,444Z [Node thread-1] corda.flow. - {COMMITTED} {{flow-id=151db0dc}}"]

ALONE = Violation(
    kind=ViolationKind.NOTARY_WITHOUT_TRANSACTION, ids=(PAID, f"{ISSUED}(0)"), text=f"the notary has committed {PAID}"
)
AUDIT = Audit(verdict="violations", violations=(ALONE,))
SURPLUS = reason("vault_differs", node="PartyA", state="CashState", counted=1, expected=0)


def trial_of(found: Explained, audit: Audit = AUDIT) -> Trial:
    return Trial(seed=15, run="20261127T143052Z-chaos", audit=audit, stranded=found.stranded)


def kept(folder: Path, logs: Mapping[str, Sequence[str]], *, left_out: int = 0) -> Logs:
    """The logs, read from a folder where a failed load has kept them."""
    written = []
    for node, lines in logs.items():
        text = BoundedText()
        for line in lines:
            text.add(line)
        file = node_logs.write_log(folder / LOGS, node, text)
        written.append(KeptLog(node=node, file=file, entries=len(lines), lines_left_out=left_out))
    index = KeptLogs(why="75 of 576 requests failed", since=0.0, until=1.0, logs=written)
    node_logs.write_index(folder / LOGS, index)
    return Logs.of(folder)


def explained(
    folder: Path,
    of_party: Sequence[str],
    *,
    outcome: str = "failed",
    differing: Sequence[Reason] = (),
    left_out: int = 0,
) -> Explained:
    rows = pl.DataFrame({"client_id": [CLIENT], "outcome": [outcome], "error": [TOLD]})
    logs = kept(folder, {"PartyA": of_party, "Notary": OF_NOTARY}, left_out=left_out)
    return explained_by(logs, rows, AUDIT, differing)


def test_the_logs_show_that_corda_has_stranded_a_transaction(tmp_path: Path) -> None:
    (one,) = explained(tmp_path, [*ISSUE, *PAY, *END]).stranded
    assert (one.transaction, one.node, one.client_id, one.told) == (PAID, "PartyA", CLIENT, TOLD)
    assert one.log == (
        "14:34:06.997 PartyA: Sending transaction to notary: O=Notary, L=London, C=GB.",
        f"14:34:07.444 Notary: {COMMITTED}",
        "14:34:08.060 PartyA: Notary responded (O=Notary, L=London, C=GB).",
        "14:34:08.061 PartyA: Recording transaction locally.",
        f"14:34:08.445 PartyA: Flow raised an error: {ERROR}. Sending it to flow hospital to be triaged.",
        "14:34:08.456 PartyA: Flow error allowed to propagate",
    )


@pytest.mark.parametrize(
    "of_party",
    [
        pytest.param([*ISSUE, *PAY, *RETRIED], id="its flow has not ended"),
        pytest.param([*ISSUE, *PAY, *RECORDED, *END], id="it was recorded, and lost"),
        pytest.param([*ISSUE, *END], id="its flow never asked the notary"),
        pytest.param([], id="nothing was logged"),
    ],
)
def test_without_each_part_of_the_evidence_it_stays_a_violation(tmp_path: Path, of_party: Sequence[str]) -> None:
    found = explained(tmp_path, of_party)
    assert audit_problems(trial_of(found)) == [ALONE.text]


@pytest.mark.parametrize("outcome", ["ok", "unknown"])
def test_without_a_caller_who_was_told_of_a_failure_it_stays_a_violation(tmp_path: Path, outcome: str) -> None:
    assert explained(tmp_path, [*ISSUE, *PAY, *END], outcome=outcome).stranded == ()


def test_a_log_from_which_lines_are_left_out_explains_nothing(tmp_path: Path) -> None:
    """The line that says that the transaction was recorded may be among them."""
    assert explained(tmp_path, [*ISSUE, *PAY, *END], left_out=1, differing=[SURPLUS]) == Explained((), ())


@pytest.mark.parametrize("damage", [None, b"\xff\xfe no text"])
def test_a_log_that_cannot_be_read_is_named(tmp_path: Path, damage: bytes | None) -> None:
    kept(tmp_path, {"PartyA": PAY})
    path = tmp_path / LOGS / "PartyA.log"
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    with pytest.raises(LabError, match=r"PartyA\.log: cannot be read"):
        Logs.of(tmp_path)


def test_a_load_without_logs_explains_nothing(tmp_path: Path) -> None:
    found = explained_by(Logs.of(tmp_path), pl.DataFrame(), AUDIT, [SURPLUS])
    assert found == Explained((), ())


def test_what_a_failed_flow_had_recorded_before_explains_as_much_and_no_more(tmp_path: Path) -> None:
    more = reason("vault_differs", node="PartyA", state="CashState", counted=2, expected=0)
    less = reason("vault_differs", node="PartyA", state="CashState", counted=-1, expected=0)
    elsewhere = reason("vault_differs", node="PartyB", state="CashState", counted=1, expected=0)
    other = reason("count_differs", observer="bridge", count=5, flow="Iou", generator=4)
    found = explained(tmp_path, [*ISSUE, *PAY, *END], differing=[SURPLUS, more, less, elsewhere, other])
    assert found.left == (SURPLUS,)


def test_it_is_shown_with_its_evidence_and_is_no_problem(tmp_path: Path) -> None:
    found = explained(tmp_path, [*ISSUE, *PAY, *END])
    trial = trial_of(found)
    assert audit_problems(trial) == []
    sums = dict(zip(command.TITLES, command.sums([trial]), strict=True))
    assert (sums["stranded"], sums["violations"]) == (1, 0)
    assert f"stranded by Corda: {PAID}" in command.line(trial)


def test_other_violations_of_the_same_trial_are_still_told(tmp_path: Path) -> None:
    found = explained(tmp_path, [*ISSUE, *PAY, *END])
    other = Violation(
        kind=ViolationKind.NOTARY_WITHOUT_TRANSACTION, ids=("ABCD",), text="the notary has committed ABCD"
    )
    audit = AUDIT.model_copy(update={"violations": (ALONE, other)})
    assert audit_problems(trial_of(found, audit)) == [other.text]


def test_what_the_audit_cannot_tell_beside_it_is_still_told(tmp_path: Path) -> None:
    found = explained(tmp_path, [*ISSUE, *PAY, *END])
    audit = AUDIT.model_copy(update={"reasons": ("37 transactions cannot be read",)})
    (problem,) = audit_problems(trial_of(found, audit))
    assert problem == "the audit cannot tell: 37 transactions cannot be read"
