"""An audit of real nodes proves a run, and finds each of nine violations that are planted in copies of their ledgers.

Nothing is planted in the ledgers themselves: later tests use them.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from corda_lab.audit import Audit, ViolationKind, audit_lab
from corda_lab.audit.sources import LABEL
from corda_lab.lab import shape
from labkit import Lab

pytestmark = pytest.mark.lab("standard")

FLOWS = 8
PLANTED = "/opt/corda/persistence/planted"
GHOST, AGAIN, TWICE, REPEATED = "F" * 64, "E" * 64, "D" * 64, "C" * 64
"""Ids that no transaction of the run has."""
VAULT = (
    "contract_state_class_name, notary_name, recorded_timestamp, state_status, relevancy_status, constraint_type, "
    "constraint_data"
)
Kind = ViolationKind

SCRIPT = """\
set -eu
jar=$(ls /opt/corda/lib/h2-*.jar)
cp /opt/corda/persistence/persistence.mv.db {file}.mv.db
cat > {file}.sql << 'SQL'
set referential_integrity false;
{statements}
SQL
java -Xmx128m -XX:+UseSerialGC -cp "$jar" org.h2.tools.RunScript -url "jdbc:h2:file:{file}" -user sa -password '' \
  -script {file}.sql
"""


@pytest.fixture(scope="module")
def run(lab: Lab) -> Path:
    """A run of payments: each is two transactions, of which the notary sees one."""
    lab.measure("cash-issue-and-pay", "--users", "2", "--flows", str(FLOWS), "--name", "e2e-audit")
    return lab.results()[-1]


@pytest.fixture(scope="module")
def payments(run: Path) -> list[str]:
    """The ids of the transactions that the requests were told of."""
    return pl.read_parquet(run / "requests.parquet")["tx_id"].str.to_uppercase().to_list()


def plants(payments: list[str]) -> tuple[dict[str, str], dict[ViolationKind, str]]:
    """What is changed at each node, and an id that each kind of violation then has to name."""
    lost, copied, spent, stray, repeated, *_ = payments
    copy = "insert into node_transactions (tx_id, transaction_value, state_machine_run_id, status, timestamp) select"
    now = "current_timestamp()"

    def issue_of(payment: str) -> str:
        """The issue that a payment spends, which the same flow made."""
        return (
            "select i.tx_id from node_transactions i "
            "join node_transactions p on p.state_machine_run_id = i.state_machine_run_id "
            f"where p.tx_id = '{payment}' and i.tx_id <> p.tx_id"
        )

    changes = {
        "PartyB": f"""
delete from node_transactions where tx_id = '{lost}';
delete from vault_states where transaction_id = '{lost}';
insert into vault_states (output_index, transaction_id, {VAULT}) select 0, '{GHOST}', {VAULT}
  from vault_states where transaction_id = '{stray}';
insert into node_checkpoints (flow_id, status, compatible, timestamp) values ('flow-left', 0, true, {now});
""",
        "PartyA": f"""
{copy} '{REPEATED}', transaction_value, state_machine_run_id, status, timestamp from node_transactions where tx_id in (
  {issue_of(repeated)});
{copy} '{AGAIN}', transaction_value, 'flow-again', status, timestamp from node_transactions where tx_id in (
  {issue_of(copied)});
{copy} '{TWICE}', transaction_value, 'flow-twice', status, timestamp from node_transactions where tx_id = '{copied}';
update vault_states set state_status = 0, consumed_timestamp = null where transaction_id in (
  {issue_of(spent)});
""",
        "Notary": f"""
insert into node_notary_committed_states (output_index, transaction_id, consuming_transaction_id)
  values (0, '{stray}', '{GHOST}');
""",
    }
    found = {
        Kind.MISSING_AT_PARTICIPANT: lost,
        Kind.DOUBLED: AGAIN,
        Kind.FLOW_REPEATED: REPEATED,
        Kind.CONSUMED_TWICE: TWICE,
        Kind.VALUE_NOT_CONSERVED: "(0)",
        Kind.VAULT_WITHOUT_TRANSACTION: GHOST,
        Kind.NOTARY_WITHOUT_TRANSACTION: GHOST,
        Kind.FLOW_SUSPENDED: "flow-left",
    }
    return changes, found


@pytest.fixture
def planted(lab: Lab, payments: list[str]) -> Iterator[dict[str, str]]:
    """Copies of the ledgers with the violations, by node. They are on the volumes of the nodes."""
    changes, _ = plants(payments)
    try:
        for node, statements in changes.items():
            lab.inside(node.lower(), SCRIPT.format(file=PLANTED, statements=statements))
        yield dict.fromkeys(changes, f"{PLANTED.rpartition('/')[2]}.mv.db")
    finally:
        for node in changes:
            lab.inside(node.lower(), f"rm -f {PLANTED}.*")


def audited(lab: Lab, run: Path, files: dict[str, str] | None = None) -> Audit:
    return audit_lab(shape.of_running(lab.settings), run, files=files)


def test_a_run_is_audited_when_it_ends_and_again_when_asked(lab: Lab, run: Path) -> None:
    stored = json.loads((run / "audit.json").read_text(encoding="utf-8"))["audits"]["1"]
    assert (stored["verdict"], stored["violations"], stored["reasons"]) == ("passed", [], [])
    assert stored["counts"]["acknowledged_transactions"] == FLOWS
    assert stored["counts"]["transactions"] == 2 * FLOWS
    assert "passed: 16 transactions on 4 nodes" in (run / "report.html").read_text(encoding="utf-8")
    asked = lab.succeed("audit", run.name)
    assert "passed: 16 transactions on 4 nodes" in asked.stdout
    label = f"label={LABEL}={lab.settings.project}"
    left = subprocess.run(["docker", "ps", "--all", "--quiet", "--filter", label], capture_output=True, check=True)
    assert left.stdout == b""


def test_nine_planted_violations_are_found(
    lab: Lab, run: Path, payments: list[str], planted: dict[str, str], tmp_path: Path
) -> None:
    # The ninth is in the rows of the run: one names a transaction that nobody has.
    changed = tmp_path / run.name
    shutil.copytree(run, changed)
    rows = pl.read_parquet(run / "requests.parquet")
    wrong = rows.with_columns(
        tx_id=pl.when(pl.col("tx_id") == rows["tx_id"][-1]).then(pl.lit(GHOST)).otherwise("tx_id")
    )
    wrong.write_parquet(changed / "requests.parquet")
    found = audited(lab, changed, planted)
    _, wanted = plants(payments)
    wanted[Kind.ROW_WITHOUT_TRANSACTION] = GHOST
    assert found.verdict == "violations"
    missed = {
        kind
        for kind, identity in wanted.items()
        if not any(one.kind is kind and any(identity in each for each in one.ids) for one in found.violations)
    }
    assert not missed, [one.text for one in found.violations]


def test_the_ledgers_themselves_are_right_afterwards(lab: Lab, run: Path) -> None:
    found = audited(lab, run)
    assert (found.verdict, found.violations) == ("passed", ())
