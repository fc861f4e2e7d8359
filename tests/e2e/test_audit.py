"""An audit of real nodes proves a run, and finds each of ten violations that are planted in copies of their ledgers.

Nothing is planted in the ledgers themselves: later tests use them. There, a request is executed twice by real flows.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import polars as pl
import pytest

from corda_lab.audit import Audit, ViolationKind, audit_lab, databases
from corda_lab.audit.databases import LABEL, Databases, Deadline, Extract
from corda_lab.audit.transactions import People, read_transaction
from corda_lab.lab import shape
from corda_lab.lab.compose import Compose
from e2e.labkit import Lab, step_folder, step_of
from support.ledgers import with_quantity

pytestmark = pytest.mark.lab("standard")

COUNTED, FLOWS = 25, 27
"""The flows that count, and all of them."""
FIRST_FORGED = 5
"""The payments before are changed in other ways than by their bytes."""
PLANTED = "/opt/corda/persistence/planted"
GHOST, AGAIN, TWICE, REPEATED = "F" * 64, "E" * 64, "D" * 64, "C" * 64
"""Ids that no transaction of the run has."""
VAULT = (
    "contract_state_class_name, notary_name, recorded_timestamp, state_status, relevancy_status, constraint_type, "
    "constraint_data"
)
Kind = ViolationKind
NODES = ("notary", "partya", "partyb", "partyc")

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


def files_of_databases(lab: Lab) -> dict[str, str]:
    found = {node: lab.inside(node, "ls /opt/corda/persistence") for node in NODES}
    assert all("persistence.mv.db" in files for files in found.values())
    return found


@pytest.fixture(scope="module")
def run(lab: Lab) -> Path:
    """A run of payments: each is two transactions, of which the notary sees one.

    It ends after a number of flows, and compacts copies of the databases to see what each stores.
    """
    before = files_of_databases(lab)
    load = ("--users", "1", "--flows", str(COUNTED), "--set", f"flows_after={FLOWS - COUNTED}")
    lab.succeed("run", "cash-issue-and-pay", *load, "--set", "database_size=compacted", "--name", "e2e-audit")
    assert files_of_databases(lab) == before, "the copies are deleted"
    return lab.results()[-1]


@pytest.fixture(scope="module")
def payments(run: Path) -> list[str]:
    """The ids of the transactions that the requests were told of."""
    return pl.read_parquet(step_folder(run) / "requests.parquet")["tx_id"].str.to_uppercase().to_list()


@pytest.fixture(scope="module")
def forged(lab: Lab, payments: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    """A payment of the run that pays more than it consumes: its id, and its bytes after that change."""
    settings, folder = shape.of_running(lab.settings), tmp_path_factory.mktemp("bytes")
    extract = Extract(ids=tuple(payments[FIRST_FORGED:]))
    answers = Databases(Compose(settings), folder, Deadline(60)).read(extract)
    rows = [row for file in answers for table in databases.tables_in(file) for row in table.rows]
    for row in rows:
        identity, data = row["tx_id"].upper(), bytes.fromhex(row["bytes"])
        paid = read_transaction(identity, data, People()).outputs[0]
        # A smaller number would be written in another way.
        if paid.quantity >= 128:
            return identity, with_quantity(data, paid.quantity, paid.quantity + 1)
    raise AssertionError("every payment is of a single pound")


def plants(payments: list[str], forged: tuple[str, bytes]) -> tuple[dict[str, str], dict[ViolationKind, str]]:
    """What is changed at each node, and an id that each kind of violation then has to name."""
    identity, data = forged
    forgery = f"update node_transactions set transaction_value = X'{data.hex()}' where tx_id = '{identity}';"
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
{forgery}
delete from node_transactions where tx_id = '{lost}';
delete from vault_states where transaction_id = '{lost}';
insert into vault_states (output_index, transaction_id, {VAULT}) select 0, '{GHOST}', {VAULT}
  from vault_states where transaction_id = '{stray}';
insert into node_checkpoints (flow_id, status, compatible, timestamp) values ('flow-left', 0, true, {now});
""",
        "PartyA": f"""
{forgery}
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
        Kind.VALUE_NOT_CONSERVED: identity,
        Kind.ID_DIFFERS: identity,
        Kind.VAULT_WITHOUT_TRANSACTION: GHOST,
        Kind.NOTARY_WITHOUT_TRANSACTION: GHOST,
        Kind.FLOW_SUSPENDED: "flow-left",
    }
    return changes, found


@pytest.fixture
def planted(lab: Lab, payments: list[str], forged: tuple[str, bytes]) -> Iterator[dict[str, str]]:
    """Copies of the ledgers with the violations, by node. They are on the volumes of the nodes."""
    changes, _ = plants(payments, forged)
    try:
        for node, statements in changes.items():
            lab.inside(node.lower(), SCRIPT.format(file=PLANTED, statements=statements))
        yield dict.fromkeys(changes, f"{PLANTED.rpartition('/')[2]}.mv.db")
    finally:
        for node in changes:
            lab.inside(node.lower(), f"rm -f {PLANTED}.*")


def audited(lab: Lab, run: Path, files: dict[str, str] | None = None) -> Audit:
    return audit_lab(Compose(shape.of_running(lab.settings)), run, files=files)


def test_a_load_ends_after_a_number_of_flows_and_a_compacted_copy_shows_what_each_stores(run: Path) -> None:
    step = step_of(run)
    counted = (step["requests"]["total"], step["requests"]["window_ok"], step["latency_ms"]["count"])
    assert counted == (FLOWS, COUNTED, COUNTED)
    assert step["values"]["total_seconds"][""] == pytest.approx(step["window"]["seconds"])
    assert step["counts"]["agree"], step["counts"]["disagreements"]
    assert step["validity"]["valid"], step["validity"]["reasons"]
    assert step["database_read"] == "compacted"
    # Two transactions of some kilobytes each.
    assert 1_000 < step["values"]["database_bytes_per_flow"]["PartyA"] < 400_000


def test_a_run_is_audited_when_it_ends_and_again_when_asked(lab: Lab, run: Path) -> None:
    stored = json.loads((step_folder(run) / "audit.json").read_text())
    assert (stored["verdict"], stored["violations"], stored["reasons"]) == ("passed", [], [])
    assert stored["counts"]["acknowledged_transactions"] == FLOWS
    assert stored["counts"]["transactions"] == 2 * FLOWS
    words = f"passed: {2 * FLOWS} transactions on 4 nodes"
    assert words in (run / "report.html").read_text(encoding="utf-8")
    assert words in lab.succeed("audit", run.name).stdout
    label = f"label={LABEL}={lab.settings.project}"
    left = subprocess.run(["docker", "ps", "--all", "--quiet", "--filter", label], capture_output=True, check=True)
    assert left.stdout == b""


def test_ten_planted_violations_are_found(
    lab: Lab,
    run: Path,
    payments: list[str],
    forged: tuple[str, bytes],
    planted: dict[str, str],
    tmp_path: Path,
) -> None:
    # One is in the rows of the run: one names a transaction that nobody has.
    found = audited(lab, with_last_row(run, tmp_path, tx_id=GHOST), planted)
    _, wanted = plants(payments, forged)
    wanted[Kind.ROW_WITHOUT_TRANSACTION] = GHOST
    assert found.verdict == "violations"
    missed = {
        kind
        for kind, identity in wanted.items()
        if not any(one.kind is kind and any(identity in each for each in one.ids) for one in found.violations)
    }
    assert not missed, [one.text for one in found.violations]
    in_a_vault = [one for one in found.violations if one.kind is Kind.VALUE_NOT_CONSERVED and one.node == "PartyA"]
    assert in_a_vault, "the coin that was spent and is still there"


def with_last_row(run: Path, folder: Path, **values: str) -> Path:
    """A copy of a run whose last row has other values."""
    changed = folder / run.name
    shutil.copytree(run, changed)
    rows = pl.read_parquet(step_folder(run) / "requests.parquet").with_row_index()
    is_last = pl.col("index") == rows.height - 1
    forged = [pl.when(is_last).then(pl.lit(value)).otherwise(name).alias(name) for name, value in values.items()]
    rows.with_columns(forged).drop("index").write_parquet(step_folder(changed) / "requests.parquet")
    return changed


def test_a_request_that_was_executed_twice_is_found(lab: Lab, run: Path, tmp_path: Path) -> None:
    """On the ledgers themselves, with a flow of real nodes: the run tells only of its second execution.

    The first is that of the run. The second was started beside it, and the row forged to name it.
    """
    body = {"amount": "5 GBP", "otherPartyName": "PartyB", "useCoinSelection": False, "anonymousIdentities": False}
    url = f"{lab.bridge_url}/v1/nodes/PartyA/flows"
    again = httpx.post(url, json={"flow": "CashIssueAndPay", "args": body}, timeout=120, trust_env=False)
    assert again.status_code == 200, again.text
    told = again.json()
    changed = with_last_row(run, tmp_path, tx_id=told["txId"], flow_id=told["flowId"])
    found = audited(lab, changed)
    # Nothing else is wrong: what was planted in copies is not in the ledgers.
    assert [one.kind for one in found.violations] == [Kind.DOUBLED], [one.text for one in found.violations]
    first = pl.read_parquet(step_folder(run) / "requests.parquet").row(-1, named=True)
    assert {first["tx_id"].upper(), first["flow_id"]} < set(found.violations[0].ids), "with the issue that it paid"
