"""``lab workload new --try``: one start of the flow, and the states that it proposes for the file."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from corda_lab import paths
from corda_lab.cli import workload
from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.lab import lock
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.runs import counters, preflight
from corda_lab.workloads import resolve
from support.labs import lab_with
from support.trials import IOU, STATE, TrialBridge

BOTH = {"PartyA": {STATE: 1}, "PartyB": {STATE: 1}}

Use = Callable[[TrialBridge], TrialBridge]


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Use:
    """A function that puts a bridge in the place of the lab's. Workload files are in ``tmp_path``."""
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", "lab-of-a-test")
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    for module in (workload, resolve):
        monkeypatch.setattr(module, "WORKLOADS", tmp_path)

    def with_bridge(bridge: TrialBridge) -> TrialBridge:
        settings = load_settings()
        lab = lab_with(Compose(settings), bridge, Prometheus("http://127.0.0.1:9"))
        monkeypatch.setattr(workload, "_bridge", lambda: bridge)
        monkeypatch.setattr(workload, "deployed", lambda _settings: lab)
        monkeypatch.setattr(counters, "await_rest", lambda *_: True)
        monkeypatch.setattr(preflight, "check_no_other_load", lambda *_: None)
        return bridge

    return with_bridge


def test_a_tried_workload_declares_the_states_that_one_flow_added(
    tmp_path: Path, use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    bridge = use(TrialBridge(BOTH))
    workload.new("PartyA", "Iou", "own", is_tried=True)
    assert [(node, flow) for node, flow, _ in bridge.started] == [("PartyA", IOU.name)]
    file = yaml.safe_load((tmp_path / "own.yaml").read_text(encoding="utf-8"))
    assert file["states"] == {STATE: {"node": 1, "counterparty": 1}}
    said = capsys.readouterr().out
    assert f"{STATE}: +1 at PartyA, PartyB" in said
    assert "The file now declares it as `states`" in said
    assert "scripts/lab run own" in said


def test_a_file_that_declares_states_is_tried_and_stays_as_it_is(
    tmp_path: Path, use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    use(TrialBridge(BOTH))
    workload.new("PartyA", "Iou", "own", is_tried=True)
    path = tmp_path / "own.yaml"
    before = path.read_bytes()
    capsys.readouterr()
    bridge = use(TrialBridge({"PartyA": {STATE: 2}}))
    workload.new("PartyA", "Iou", "own", is_tried=True)
    assert len(bridge.started) == 1
    assert path.read_bytes() == before
    said = capsys.readouterr().out
    assert "own.yaml is there already, and is tried as it is." in said
    assert "The file is unchanged: compare its `states` with these changes" in said


def test_a_trial_that_fails_keeps_the_file_and_says_how_to_go_on(tmp_path: Path, use: Use) -> None:
    use(TrialBridge(BOTH, failure="Iou on PartyA: the responder refused to sign"))
    with pytest.raises(LabError, match="the responder refused to sign") as caught:
        workload.new("PartyA", "Iou", "own", is_tried=True)
    assert caught.value.exit_code == 1
    assert caught.value.remedy is not None
    assert caught.value.remedy.endswith("own.yaml is kept: correct its values, and repeat the command.")
    assert "states" not in yaml.safe_load((tmp_path / "own.yaml").read_text(encoding="utf-8"))


def test_a_trial_needs_the_lock_of_the_lab(use: Use) -> None:
    bridge = use(TrialBridge(BOTH))
    with lock.held(load_settings().project), pytest.raises(LabError, match="is using this lab"):
        workload.new("PartyA", "Iou", "own", is_tried=True)
    assert bridge.started == []
