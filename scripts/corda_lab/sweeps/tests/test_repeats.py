"""A sweep can be run with another number of repeats than its file has, and keeps it when it is resumed."""

from pathlib import Path

import pytest

from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results import folders
from corda_lab.sweeps import command, execute, plan, store
from corda_lab.sweeps.command import SweepRequest

SWEEP = """\
description: Two points.
workload: iou
vary: {load.users: [1, 2]}
repeats: 4
seed: 10
warm_up: {min: 1s, max: 1s}
measure: 4s
quick: {repeats: 3}
"""
SETTINGS = load_settings(ENV_FILE, {})


def test_further_repeats_have_seeds_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(SWEEP, encoding="utf-8")
    sweep = command.read(SweepRequest(str(file), repeats=2, seed=14))
    steps = plan.plan_sweep(sweep, SETTINGS).steps
    assert {(step.repeat, step.seed) for step in steps} == {(1, 14), (2, 15)}


def test_repeats_that_are_added_go_on_in_turn(tmp_path: Path) -> None:
    """If all of them went forwards, the point that is measured last would always be that on the oldest nodes."""
    file = tmp_path / "two.yaml"
    file.write_text(SWEEP.replace("seed: 10", "seed: 1"), encoding="utf-8")

    def users(repeats: int, seed: int) -> list[object]:
        sweep = command.read(SweepRequest(str(file), repeats=repeats, seed=seed))
        return [step.point["load.users"] for step in plan.plan_sweep(sweep, SETTINGS).steps]

    assert users(4, 1) == [1, 2, 2, 1, 1, 2, 2, 1]
    assert users(3, 1) + users(1, 4) == users(4, 1)


def test_the_short_form_can_have_other_repeats_too(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(SWEEP, encoding="utf-8")
    sweep = command.read(SweepRequest(str(file), quick=True, repeats=1))
    assert (sweep.is_quick, sweep.fields.repeats, sweep.fields.seed) == (True, 1, 10)


def test_a_resumed_sweep_has_the_repeats_and_the_seed_with_which_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    file = tmp_path / "two.yaml"
    file.write_text(SWEEP, encoding="utf-8")
    sweep = command.read(SweepRequest(str(file), repeats=2, seed=4))
    kept = execute.begin(sweep, plan.plan_sweep(sweep, SETTINGS), SETTINGS)
    resumed = command.stored_sweep(store.read(kept.folder))
    assert (resumed.fields.repeats, resumed.fields.seed) == (2, 4)
    manifest = execute.sweep_plan(resumed, None)
    assert (manifest.repeats, manifest.seed) == (2, 4)
