"""What the counts of a load say if a vault cannot be read after it. Bridge and nodes are stand-ins."""

from pathlib import Path
from threading import Barrier
from unittest.mock import MagicMock

import pytest

from corda_lab.errors import LabError
from corda_lab.runs import counters, node_metrics, readings, spans
from corda_lab.runs.readings import Observer
from corda_lab.steps import rows
from corda_lab.steps.counts import judged
from corda_lab.steps.entry import CountsEntry
from corda_lab.steps.reasons import reason
from lab_workload.subject import LoadPart, Subject
from support import simulation

IOU, IOU_STATE = "org.cordalab.flows.Iou", "org.cordalab.states.IouState"
SUBJECT = Subject("PartyA", (LoadPart("iou", IOU, "Iou", "PartyB", changes={IOU_STATE: {"PartyA": 1, "PartyB": 1}}),))
WHY = "The bridge rejected GET /v1/nodes/PartyA/vault: NullPointerException (HTTP 500)"
UNREAD = reason("vault_unread", node="PartyA", state="IouState", why=WHY)


class Lab(MagicMock):
    """A lab that has done the same flows whenever it is asked, with a vault that may be unreadable."""

    broken: frozenset[str] = frozenset()

    def vault_unconsumed(self, node: str, _: str) -> int:
        return len(self._read(node, "unconsumed"))

    def vault_transactions(self, node: str, *_: object) -> set[str]:
        return self._read(node, "transactions")

    def _read(self, node: str, what: str) -> set[str]:
        if node == "PartyA" and what in self.broken:
            raise LabError(WHY, exit_code=1)
        return {f"{number:064X}" for number in (1, 2)}


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setattr(counters, "await_rest", lambda *_, **__: True)
    monkeypatch.setattr(node_metrics, "read", lambda *_: {})
    monkeypatch.setattr(spans, "offsets", lambda *_, **__: {})
    monkeypatch.setattr(readings, "read", MagicMock())
    return Lab()


def counted(lab: Lab, folder: Path, *broken: str) -> CountsEntry:
    """The counts of a load of two flows, after which something cannot be read of PartyA's vault."""
    content = [simulation.row(number, 0, 1, part="iou") for number in (1, 2)]
    requests = rows.read_rows([simulation.write_rows(folder / "rows.ndjson", content)])
    observer = Observer(MagicMock(bridge=lab), SUBJECT)
    lab.broken = frozenset(broken)
    found = observer.count(requests, counters.Rest(1.0, places=2))
    assert found.at_rest
    # Only the vaults are of interest: nothing was counted at all, and each of them is two states short.
    unread = [one for one in found.disagreements if one.code == "vault_unread"]
    vaults = [one for one in found.vault_states if one.counted is None]
    return judged(found.model_copy(update={"flows": [], "vault_states": vaults}), unread)


def test_a_vault_that_can_be_read_is_no_reason(lab: Lab, tmp_path: Path) -> None:
    found = counted(lab, tmp_path)
    assert found.disagreements == []
    assert [(one.node, one.told, one.missing) for one in found.transactions] == [("PartyA", 2, 0), ("PartyB", 2, 0)]


def test_transactions_that_cannot_be_read_are_a_reason_and_no_error(lab: Lab, tmp_path: Path) -> None:
    found = counted(lab, tmp_path, "transactions")
    assert found.disagreements == [UNREAD]
    assert [one.node for one in found.transactions] == ["PartyB"]
    assert not found.agree


def test_states_that_cannot_be_counted_are_a_reason_and_no_error(lab: Lab, tmp_path: Path) -> None:
    found = counted(lab, tmp_path, "unconsumed")
    assert found.disagreements == [UNREAD]
    assert [(one.node, one.counted) for one in found.vault_states] == [("PartyA", None)]
    assert str(UNREAD) == f"the IouState in the vault of PartyA could not be read: {WHY}"


def test_a_vault_that_cannot_be_read_before_the_load_is_an_error(lab: Lab, tmp_path: Path) -> None:
    lab.broken = frozenset({"unconsumed"})
    with pytest.raises(LabError, match="NullPointerException"):
        counted(lab, tmp_path)


def test_vaults_are_read_at_the_same_time() -> None:
    both = Barrier(2, timeout=10)

    def read(node: str, _: str) -> str:
        both.wait()
        return node

    found, unread = counters.read_vaults([(IOU_STATE, "PartyA"), (IOU_STATE, "PartyB")], read)
    assert found == {(IOU_STATE, "PartyA"): "PartyA", (IOU_STATE, "PartyB"): "PartyB"}
    assert unread == ()
