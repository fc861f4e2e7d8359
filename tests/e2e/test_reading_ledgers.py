"""An audit reads real H2 files and a real PostgreSQL, finds what is planted in them, and leaves them as they are.

The files are made by the H2 of the nodes, with the tables of nodes and transactions that Corda wrote. So they can have
what no node would write. ``test_audit.py`` audits real nodes.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from corda_lab.audit import command, databases
from corda_lab.audit.command import audit_load
from corda_lab.audit.tests.test_transactions import BYTES
from corda_lab.lab.images import image_name
from corda_lab.lab.lifecycle import prepare_images
from e2e.labkit import Lab
from e2e.ledger_databases import H2, Postgres, moment
from e2e.ledger_lab import (
    BEGAN,
    DATABASES,
    GHOST,
    IOU,
    ISSUE,
    PAYMENT,
    PROMISE,
    ROWS,
    Kind,
    Ledger,
    LocalCompose,
    Servers,
    contents,
    h2_statements,
    made,
)
from support.ledgers import with_quantity

pytestmark = [pytest.mark.lab("standard"), pytest.mark.nightly]


@pytest.fixture(scope="module")
def servers(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    settings = replace(lab.settings, values={**lab.settings.values, "DATABASE": "postgres"})
    prepare_images(settings, None)
    shared = tmp_path_factory.getbasetemp()
    h2 = H2(settings.own_image(f"node:{settings['CORDA_VERSION']}"), shared)
    try:
        postgres = Postgres(image_name(settings, "POSTGRES_IMAGE"), shared)
        try:
            folder = tmp_path_factory.mktemp("h2")
            for node, content in contents().items():
                h2.create(folder / node.lower(), h2_statements(content))
            yield Servers(folder, h2, postgres)
        finally:
            postgres.psql.remove()
    finally:
        h2.java.remove()


@pytest.fixture(autouse=True)
def _nothing_is_still_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    """Violations are looked for again at once."""
    monkeypatch.setattr(command, "AGAIN_SECONDS", 0.0)


@pytest.fixture(params=DATABASES)
def ledger(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path) -> Ledger:
    return made(servers, request.param, tmp_path)


def test_a_ledger_that_agrees_passes(ledger: Ledger) -> None:
    found = ledger.audit()
    assert (found.violations, found.reasons) == ((), ())
    assert found.verdict == "passed"
    assert found.counts["transactions"] == 3
    assert found.counts["vault_states"] == 5
    assert found.counts["notary_entries"] == 1


def test_large_objects_and_bytes_are_both_read_from_postgresql(servers: Servers, tmp_path: Path) -> None:
    assert made(servers, "postgres", tmp_path, "bytea").audit().verdict == "passed"


def test_reading_changes_nothing_and_leaves_nothing(servers: Servers, tmp_path: Path) -> None:
    ledger = made(servers, "h2", tmp_path)
    file = ledger.compose.base / "partya" / "persistence" / "persistence.mv.db"
    before = hashlib.sha256(file.read_bytes()).digest()
    copies = tmp_path / "copies"
    copies.mkdir()
    ledger.compose.local = {**ledger.compose.local, "TMPDIR": str(copies)}
    assert ledger.audit().verdict == "passed"
    assert hashlib.sha256(file.read_bytes()).digest() == before
    assert [path.name for path in file.parent.iterdir()] == ["persistence.mv.db"]
    assert list(copies.iterdir()) == []
    assert ledger.compose.containers == 1, "one for all nodes"


Plant = tuple[Kind, str, str, str]
"""What has to be found, at which node, what is changed there, and an id that the violation names."""
AGAIN = "E" * 64


def copied(identity: str) -> str:
    """A statement that stores a transaction again, under another id and of another flow."""
    return (
        f"insert into node_transactions select '{AGAIN}', transaction_value, 'flow-again', status, timestamp "
        f"from node_transactions where tx_id = '{identity}';"
    )


LEFT = """
insert into node_checkpoints values ('flow-left', 0);
insert into node_flow_metadata values ('flow-left', 'Iou', 'run-9');
"""
PLANTS: dict[str, Plant] = {
    "a transaction missing at one party": (
        Kind.MISSING_AT_PARTICIPANT,
        "PartyB",
        f"delete from node_transactions where tx_id = '{IOU}'; delete from vault_states where transaction_id='{IOU}';",
        IOU,
    ),
    "one doubled under a second client id": (
        Kind.DOUBLED,
        "PartyA",
        copied(IOU),
        AGAIN,
    ),
    "a state consumed twice": (
        Kind.CONSUMED_TWICE,
        "PartyA",
        copied(PAYMENT),
        AGAIN,
    ),
    "value made from nothing": (
        Kind.VALUE_NOT_CONSERVED,
        "PartyA",
        f"update vault_states set state_status = 0, consumed_timestamp = null where transaction_id = '{ISSUE}';",
        f"{ISSUE}(0)",
    ),
    "a vault row without its transaction": (
        Kind.VAULT_WITHOUT_TRANSACTION,
        "PartyB",
        f"insert into vault_states values (0, '{GHOST}', '{PROMISE}', 0, {moment(BEGAN + 2)}, null, 0);",
        GHOST,
    ),
    "a notary entry without a transaction": (
        Kind.NOTARY_WITHOUT_TRANSACTION,
        "Notary",
        f"insert into node_notary_committed_states values (1, '{PAYMENT}', '{GHOST}');",
        GHOST,
    ),
    "a flow left suspended": (
        Kind.FLOW_SUSPENDED,
        "PartyB",
        LEFT,
        "flow-left",
    ),
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_what_is_planted_in_the_databases_is_found(ledger: Ledger, plant: Plant) -> None:
    kind, node, statements, identity = plant
    ledger.change(node, statements)
    found = ledger.audit()
    assert found.verdict == "violations"
    assert any(one.kind is kind and identity in one.ids for one in found.violations), found.violations


def test_a_forged_transaction_makes_value_from_nothing_and_has_another_id(ledger: Ledger) -> None:
    """Everywhere the same forgery: the vaults agree, and only the bytes tell."""
    forged = with_quantity(BYTES["cash-pay"][1], 7500, 7600)
    for node in ("PartyA", "PartyB"):
        ledger.store(node, PAYMENT, forged)
    found = ledger.audit().violations
    assert [one.kind for one in found] == [Kind.ID_DIFFERS, Kind.VALUE_NOT_CONSERVED]
    assert {one.ids[0] for one in found} == {PAYMENT}
    assert "turns 10000 into 10100 GBP" in found[1].text


def test_a_row_that_names_a_transaction_nobody_has_is_found(ledger: Ledger) -> None:
    row = ROWS[1:].with_columns(client_id=pl.lit("run-3"), tx_id=pl.lit(GHOST.lower()), flow_id=pl.lit("flow-3"))
    found = ledger.audit(pl.concat([ROWS, row]))
    assert [(one.kind, one.ids) for one in found.violations] == [(Kind.ROW_WITHOUT_TRANSACTION, (GHOST, "run-3"))]


def test_a_flow_in_the_hospital_is_found(ledger: Ledger) -> None:
    ledger.change("PartyB", "insert into node_checkpoints values ('flow-ill', 3);")
    assert [(one.kind, one.ids) for one in ledger.audit().violations] == [(Kind.FLOW_IN_HOSPITAL, ("flow-ill",))]


def test_a_defect_of_the_audit_does_not_lose_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compose = LocalCompose("h2", tmp_path, {})
    monkeypatch.setattr(compose, "present", None)
    found = audit_load(compose, ROWS)
    assert found.verdict == "cannot tell"
    assert found.reasons[0].startswith("a defect of the lab: TypeError: ")


def test_a_transaction_that_is_not_understood_cannot_be_told(servers: Servers, tmp_path: Path) -> None:
    ledger = made(servers, "h2", tmp_path)
    for node in ("PartyA", "PartyB"):
        ledger.change(node, f"update node_transactions set transaction_value = '00ff' where tx_id = '{IOU}';")
    found = ledger.audit()
    assert found.verdict == "cannot tell"
    assert any(IOU in reason for reason in found.reasons)


def test_a_node_that_cannot_be_read_is_named(servers: Servers, tmp_path: Path) -> None:
    ledger = made(servers, "h2", tmp_path)
    (ledger.compose.base / "partyb" / "persistence" / "persistence.mv.db").write_bytes(b"no database")
    found = ledger.audit()
    assert found.verdict == "cannot tell"
    assert found.reasons[0].startswith("the ledgers of PartyB could not be read: PartyB: ")
    assert "IO Exception" in found.reasons[0]
    assert ledger.compose.containers == databases.TRIES_MAX, "a copy may have been taken in the middle of a change"


def test_a_node_without_a_container_is_named(servers: Servers, tmp_path: Path) -> None:
    ledger = made(servers, "h2", tmp_path)
    ledger.compose.present.remove("PartyB")
    found = ledger.audit()
    assert (found.verdict, found.reasons) == ("cannot tell", ("PartyB has no container",))


def test_without_a_lab_nothing_is_started(tmp_path: Path) -> None:
    compose = LocalCompose("h2", tmp_path, {})
    compose.present = []
    found = audit_load(compose, ROWS)
    assert (found.verdict, found.reasons) == ("cannot tell", ("There is no lab to audit",))


def test_a_server_that_does_not_answer_is_named(servers: Servers, tmp_path: Path) -> None:
    ledger = made(servers, "postgres", tmp_path)
    ledger.compose.local = {**ledger.compose.local, "PGHOST": str(tmp_path)}
    found = ledger.audit()
    assert found.verdict == "cannot tell"
    assert found.reasons[0].startswith("PostgreSQL could not be read")


def test_reading_ends_at_its_deadline(servers: Servers, tmp_path: Path) -> None:
    found = made(servers, "h2", tmp_path).audit(deadline_seconds=0.5)
    assert found.verdict == "cannot tell"
    assert "no time was left" in found.reasons[0]


def test_a_container_that_was_ended_at_its_deadline_says_so(servers: Servers, tmp_path: Path) -> None:
    """Whoever ends it leaves no word."""
    ledger = made(servers, "h2", tmp_path)
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nsleep 30\n", encoding="utf-8")
    java.chmod(0o755)
    ledger.compose.local = {**ledger.compose.local, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    found = ledger.audit(deadline_seconds=3)
    assert found.verdict == "cannot tell"
    assert "reading did not end within 3 s" in found.reasons[0]


@pytest.mark.parametrize("database", DATABASES)
def test_a_query_that_failed_is_no_empty_table(
    database: str, servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing table is normal; any other failure may have cut a table off."""
    for name in ("H2", "POSTGRES"):
        monkeypatch.setattr(databases, name, replace(getattr(databases, name), milliseconds="1 / 0"))
    found = made(servers, database, tmp_path).audit()
    assert (found.verdict, found.violations) == ("cannot tell", ())
    assert re.search("Division by zero|SQLSTATE 22012", found.reasons[0])


def test_a_database_that_leaves_out_a_node_is_named(servers: Servers, tmp_path: Path) -> None:
    ledger = made(servers, "h2", tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(databases, "docker_to_file", lambda path, *_, **__: path.write_text("@@ end\n"))
        found = audit_load(ledger.compose, ROWS)
    assert found.verdict == "cannot tell"
    assert found.reasons == ("the databases did not answer for Notary, PartyA, PartyB",)
