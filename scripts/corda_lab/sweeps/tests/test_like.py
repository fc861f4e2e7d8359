"""What has changed since a run, and that nothing is repeated unless nothing has, or it was asked for."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corda_lab.errors import LabError
from corda_lab.lab import lifecycle, project, shape
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE, WORKLOADS
from corda_lab.results import folders, stored
from corda_lab.results.manifest import Environment, MeasuredLink, Rerun
from corda_lab.results.stored import StoredRun
from corda_lab.runs import execute as runs_execute
from corda_lab.steps.entry import ConditioningEntry
from corda_lab.steps.load import Conditioning
from corda_lab.sweeps import command, like
from corda_lab.sweeps.command import SweepRequest
from lab_workload.load import Load
from support.runs import ENVIRONMENT

Repeated = tuple[Load, Rerun, Conditioning | None]

SETTINGS = load_settings(ENV_FILE, {})


def changed(**changes: Any) -> Environment:
    return ENVIRONMENT.model_copy(update=changes)


def same_workload(run: Path) -> StoredRun:
    """The run, as if its workload were today's ``iou``."""
    shutil.copy(WORKLOADS / "iou.yaml", run / "workloads" / "iou.yaml")
    return stored.read(run)


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Repeated]:
    """The loads that are started, on a lab like that of the stored run."""
    started: list[Repeated] = []

    def execute(options: Load, _: object, why: Rerun, before: Conditioning | None) -> tuple[Path, None]:
        started.append((options, why, before))
        return tmp_path, None

    monkeypatch.setattr(lifecycle, "require_engine", lambda: None)
    monkeypatch.setattr(shape, "of_running", lambda settings: settings)
    monkeypatch.setattr(like, "read_environment", lambda _: ENVIRONMENT)
    monkeypatch.setattr(runs_execute, "execute", execute)
    monkeypatch.setattr(project, "settle", lambda: None)
    monkeypatch.setattr("corda_lab.paths.CACHE", tmp_path / "cache")
    return started


def test_a_run_is_repeated_with_the_options_that_it_had(
    stored_run: Callable[..., Path], repeated: list[Repeated]
) -> None:
    run = same_workload(stored_run())
    like.run_like(run, SETTINGS)
    [(options, why, before)] = repeated
    assert before is None
    assert run.manifest.load is not None
    assert options == run.manifest.load.__class__(**{**vars(run.manifest.load), "name": "iou"})
    assert (why.run, why.changes) == (run.identity, [])


def test_a_run_whose_nodes_were_conditioned_is_repeated_on_conditioned_nodes(
    stored_run: Callable[..., Path], repeated: list[Repeated]
) -> None:
    run = same_workload(stored_run())
    (step,) = run.steps
    conditioned = ConditioningEntry(
        workload="iou", load=step.load, seconds_min=45, seconds_max=120, seconds=60, flows=300, steady=True
    )
    run = StoredRun(run.folder, run.manifest, [step.updated(conditioning=conditioned)])
    like.run_like(run, SETTINGS)
    [(options, _, before)] = repeated
    assert before is not None
    assert (before.options.users, before.seconds_min, before.seconds_max) == (options.users, 45, 120)


def test_what_has_changed_is_listed_and_nothing_runs(
    stored_run: Callable[..., Path], repeated: list[Repeated], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stored_run()
    host = ENVIRONMENT.host.model_copy(update={"cpu_count": 4})
    now = changed(host=host, shape={**ENVIRONMENT.shape, "NODE_HEAP": "2g"})
    monkeypatch.setattr(like, "read_environment", lambda _: now)
    found = stored.read(run)
    with pytest.raises(LabError, match="because 3 things changed since") as error:
        like.run_like(found, SETTINGS)
    assert "- workload iou: configs/workloads/iou.yaml has other contents" in error.value.message
    assert "- shape, NODE_HEAP: 1g → 2g" in error.value.message
    assert "- host, cpu_count: 2 → 4" in error.value.message
    assert "--anyway" in error.value.remedy
    assert repeated == []

    like.run_like(found, SETTINGS, anyway=True)
    assert len(repeated[0][1].changes) == 3


def test_a_governor_that_was_not_stored_is_no_change_and_another_one_is() -> None:
    def with_governor(governor: str | None, turbo: bool | None) -> Environment:
        return changed(host=ENVIRONMENT.host.model_copy(update={"governor": governor, "turbo": turbo}))

    known = with_governor("performance", False)
    assert like.environment_changes(with_governor(None, None), known) == []
    assert like.environment_changes(known, with_governor(None, None)) == []
    assert like.environment_changes(with_governor("powersave", True), known) == [
        "host, governor: powersave → performance",
        "host, turbo: true → false",
    ]


def test_a_measured_round_trip_is_no_change() -> None:
    before, now = (
        changed(links_measured=[MeasuredLink(name="partya-partyb", wanted_ms=40.0, through_ms=ms, direct_ms=0.1)])
        for ms in (43.2, 55.0)
    )
    assert like.environment_changes(before, now) == []


def test_a_run_without_its_load_cannot_be_repeated(stored_run: Callable[..., Path], repeated: list[Repeated]) -> None:
    run = stored_run()
    content = folders.read_json(run / "run.json")
    folders.write_json(run / "run.json", {name: value for name, value in content.items() if name != "load"})
    with pytest.raises(LabError, match="has no load"):
        like.run_like(stored.read(run), SETTINGS)
    assert repeated == []


def test_a_sweep_is_repeated_from_its_file_with_the_images_that_it_had(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = stored.read(sweep)
    begun: list[tuple[object, ...]] = []

    def begin(*given: object) -> Path:
        begun.append(given)
        return tmp_path

    monkeypatch.setattr(command, "begin", begin)
    monkeypatch.setattr(like, "read_environment", lambda _: run.manifest.environments[0])
    monkeypatch.setattr(like, "_workload_changes", lambda _: [])
    file = tmp_path / "users.yaml"
    file.write_text(run.sweep.text, encoding="utf-8")
    plan = run.sweep.model_copy(update={"file": str(file)})
    found = StoredRun(run.folder, run.manifest.model_copy(update={"sweep": plan}), run.steps)

    like.sweep_like(found, SweepRequest(None), SETTINGS)
    [(request, _, why, images)] = begun
    assert isinstance(request, SweepRequest)
    assert (request.file, request.quick) == (str(file), run.sweep.is_quick)
    assert why == Rerun(run=run.identity, changes=[])
    assert images == {"corda-lab/node:4.10": "sha256:" + "ab" * 32}

    file.write_text(run.sweep.text + "# another\n", encoding="utf-8")
    with pytest.raises(LabError, match=r"sweep file: .*users.yaml has other contents"):
        like.sweep_like(found, SweepRequest(None), SETTINGS)
    like.sweep_like(found, SweepRequest(None), SETTINGS, anyway=True)
    assert begun[-1][-1] is None

    file.unlink()
    with pytest.raises(LabError, match="no longer exists"):
        like.sweep_like(found, SweepRequest(None), SETTINGS)
