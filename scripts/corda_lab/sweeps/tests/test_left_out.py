"""Points that this machine cannot have are left out by name."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings
from corda_lab.paths import WORKLOADS
from corda_lab.sweeps import plan
from corda_lab.sweeps.command import show_plan
from corda_lab.sweeps.execute import sweep_plan
from corda_lab.workloads import resolve
from support.sweep_files import sweep_of


def test_what_this_machine_cannot_have_is_left_out_by_name(
    tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "workload: iou\nimpossible: skip\nvary: {shape.cores: [0.5, 9999]}\n"
    sweep = sweep_of(tmp_path, text)
    checked = plan.plan_sweep(sweep, settings)
    assert [step.label for step in checked.steps] == ["0.5 cores a node"]
    (one,) = checked.left_out
    assert one.label == "9999 cores a node"
    assert "9999 cores are too many; this machine has" in one.reason
    show_plan(sweep, checked, settings)
    assert "Left out: 9999 cores a node: " in capsys.readouterr().out
    assert sweep_plan(sweep, None, checked.left_out).left_out == checked.left_out
    with pytest.raises(LabError, match="9999 cores are too many"):
        plan.plan_sweep(sweep_of(tmp_path, text.replace("impossible: skip\n", "")), settings)
    with pytest.raises(LabError, match="9999 cores are too many"):
        plan.plan_sweep(sweep_of(tmp_path, text.replace("0.5, ", "")), settings)


def test_a_workload_for_more_parties_than_the_shape_has_is_left_out(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (WORKLOADS / "iou.yaml").read_text(encoding="utf-8")
    (tmp_path / "pair.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "crowd.yaml").write_text(f"{text}requires: {{parties: 5}}\n", encoding="utf-8")
    monkeypatch.setattr(resolve, "WORKLOADS", tmp_path)
    sweep = sweep_of(tmp_path, "impossible: skip\nvary: {workload: [pair, crowd]}\n")
    checked = plan.plan_sweep(sweep, settings)
    assert [one.label for one in checked.left_out] == ["crowd"]
    assert checked.left_out[0].reason == "the workload crowd needs 5 parties, and the shape has 3"


def test_a_mistake_is_not_left_out(tmp_path: Path, settings: Settings) -> None:
    text = "workload: iou\nimpossible: skip\nvary: {shape.notary: [simple, jpa]}\n"
    with pytest.raises(LabError, match="jpa needs PostgreSQL"):
        plan.plan_sweep(sweep_of(tmp_path, text), settings)
