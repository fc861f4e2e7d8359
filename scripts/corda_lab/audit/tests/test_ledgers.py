"""What databases answer becomes tables, or one clear error."""

import time
from pathlib import Path

import pytest

from corda_lab.audit import databases, ledgers
from corda_lab.audit.databases import Deadline, Extract, Row
from corda_lab.audit.ledgers import Bytes, Tables
from corda_lab.audit.model import Flow, StateRef
from corda_lab.audit.tests.test_transactions import BYTES
from corda_lab.audit.transactions import People
from corda_lab.errors import LabError
from corda_lab.paths import CONFIGS

IDENTITY, DATA = BYTES["iou"]
WHOLE = f"""\
@@ PartyA/bytes
"TX_ID","BYTES"
"{IDENTITY}","{DATA.hex()}"
"AB","00"
@@ PartyA/parties
"PARTY_NAME","OWNING_KEY_HASH"
"O=PartyA, L=London, C=GB","DLa"
"O=Bank, L=Paris, C=FR","DLbank"
@@ PartyA/keys
"PUBLIC_KEY_HASH"
"DLfresh"
@@ PartyA/transactions
"TX_ID","STATE_MACHINE_RUN_ID","AT"
"{IDENTITY}","flow","1500"
"cd","","{""}"
@@ PartyA/vault
"OUTPUT_INDEX","TRANSACTION_ID","CONTRACT_STATE_CLASS_NAME","STATE_STATUS","RECORDED","CONSUMED","RELEVANCY_STATUS"
"0","{IDENTITY}","Iou","1","1500","2500","0"
@@ PartyA/participants
"OUTPUT_INDEX","TRANSACTION_ID","PUBLIC_KEY_HASH","X500_NAME"
"0","{IDENTITY}","DLfresh",
@@ PartyA/flows
"FLOW_ID","STATUS"
"flow","3"
@@ PartyA/flow_names
"FLOW_ID","FLOW_NAME","FLOW_IDENTIFIER"
"flow","Iou","run-1"
@@ end
"""


def source(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "answer.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_tables_of_a_node_become_its_ledger(tmp_path: Path) -> None:
    nodes = ledgers.read_tables([source(tmp_path, WHOLE)])
    people = ledgers.people_of(nodes)
    assert people.nodes == {"DLa": "PartyA", "DLfresh": "PartyA"}
    assert people.name("DLbank") == "O=Bank, L=Paris, C=FR"
    node = ledgers.ledgers_of(nodes, {}, people, [], "simple").nodes["PartyA"]
    assert node.transactions[IDENTITY] == ("flow", 1.5)
    assert node.transactions["CD"] == (None, None)
    row = node.vault[StateRef(IDENTITY, 0)]
    assert (row.is_consumed, row.recorded_at, row.consumed_at) == (True, 1.5, 2.5)
    assert row.participants == {"PartyA"}, "the owner of a key without a name"
    assert node.flows == (Flow("flow", "hospital", "Iou", "run-1"),)


@pytest.mark.parametrize(("status", "is_relevant"), [("0", True), ("1", False)])
def test_a_vault_says_whether_a_state_concerns_its_node(tmp_path: Path, status: str, is_relevant: bool) -> None:
    text = WHOLE.replace('"2500","0"\n', f'"2500","{status}"\n')
    nodes = ledgers.read_tables([source(tmp_path, text)])
    row = ledgers.ledgers_of(nodes, {}, People(), [], "simple").nodes["PartyA"].vault[StateRef(IDENTITY, 0)]
    assert row.is_relevant is is_relevant


def test_only_a_notary_that_verifies_stores_transactions() -> None:
    files = list((CONFIGS / "notaries").glob("*.conf"))
    assert files
    for file in files:
        verifies = ledgers.ledgers_of({}, {}, People(), [], file.stem).notary_verifies
        assert verifies == ("validating = true" in file.read_text(encoding="utf-8")), file.stem


def test_bytes_are_read_once_and_what_is_not_understood_is_kept_with_its_reason(tmp_path: Path) -> None:
    found = Bytes()
    found.add([source(tmp_path, WHOLE)] * 2, People(), Deadline(60))
    assert list(found.transactions) == [IDENTITY]
    assert list(found.unreadable) == ["AB"]


def test_decoding_ends_at_the_deadline(tmp_path: Path) -> None:
    deadline = Deadline(0.01)
    time.sleep(0.02)
    with pytest.raises(LabError, match="only 0 transactions could be read within 0 s"):
        Bytes().add([source(tmp_path, WHOLE)], People(), deadline)


@pytest.mark.parametrize("length", [0, 40, len(WHOLE) // 2, len(WHOLE) - 8])
def test_an_answer_that_was_cut_off_is_an_error(tmp_path: Path, length: int) -> None:
    with pytest.raises(LabError, match="cut off"):
        ledgers.read_tables([source(tmp_path, WHOLE[:length])])


@pytest.mark.parametrize("name", ledgers.REQUIRED)
def test_a_node_without_a_table_that_every_node_has_is_an_error(tmp_path: Path, name: str) -> None:
    """No list of participants or of flows is no empty list."""
    before, _, rest = WHOLE.partition(f"@@ PartyA/{name}\n")
    answer = f"{before}@@ PartyA/{name}\n@@{rest.partition('@@')[2]}"
    with pytest.raises(LabError, match=f"PartyA does not answer the query {name}"):
        ledgers.read_tables([source(tmp_path, answer)])


def test_the_log_of_a_notary_is_that_of_all_its_members() -> None:
    def member(**tables: list[Row]) -> Tables:
        return tables

    one = member(
        committed=[{"output_index": "0", "transaction_id": "ab", "consuming_transaction_id": "cd"}],
        committed_ids=[{"transaction_id": "cd"}],
        requested=[{"consuming_transaction_id": "cd", "at": "1000"}, {"consuming_transaction_id": "cd", "at": "3000"}],
    )
    other = member(committed_bft=[{"output_index": "1", "transaction_id": "ab", "consuming_transaction_id": "ef"}])
    log = ledgers.notary_log([one, other], "bft")
    assert log is not None
    assert log.consumers == {StateRef("AB", 0): "CD", StateRef("AB", 1): "EF"}
    assert log.transactions == frozenset({"CD"})
    assert log.committed_at == {"CD": 3.0}
    assert log.conflicts == {}
    third = member(committed_bft=[{"output_index": "0", "transaction_id": "ab", "consuming_transaction_id": "ef"}])
    log = ledgers.notary_log([one, other, third], "bft")
    assert log is not None
    assert log.conflicts == {StateRef("AB", 0): frozenset({"CD", "EF"})}
    assert ledgers.notary_log([], "simple") is None


@pytest.mark.parametrize(("notary", "consumers"), [("raft", None), ("bft", None), ("simple", {})])
def test_what_a_cluster_keeps_elsewhere_is_not_an_empty_log(notary: str, consumers: dict[StateRef, str] | None) -> None:
    log = ledgers.notary_log([{"committed": [], "committed_ids": []}], notary)
    assert log is not None
    assert log.consumers == consumers
    assert log.transactions == frozenset()


def test_the_commands_for_the_largest_network_fit_into_arguments() -> None:
    extract = Extract(ids=tuple(f"{number:064X}" for number in range(databases.IDS_MAX)))
    nodes = [f"Party{number}" for number in range(15)]
    pieces = databases.in_pieces(databases.postgres_commands(nodes, extract, seconds_max=60))
    assert "".join(pieces).count(f"{999:064X}") == len(nodes)
    assert max(map(len, [*pieces, databases.h2_statements(extract)])) < 128 * 1024
    assert sum(map(len, pieces)) < 2 * 1024**2


def test_nodes_that_could_not_be_read_are_told_with_their_reasons(tmp_path: Path) -> None:
    answer = "@@ PartyB/failed\nWHY\nException: File  corrupted \n" + WHOLE
    assert databases.failures(source(tmp_path, answer)) == {"PartyB": "Exception: File  corrupted"}
    assert set(ledgers.read_tables([source(tmp_path, answer)])) == {"PartyA"}
    assert databases.failures(source(tmp_path, WHOLE)) == {}
