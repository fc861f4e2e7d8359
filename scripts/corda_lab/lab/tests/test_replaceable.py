"""Which lab a sweep may replace: the one that a sweep started last, and none that a person started since."""

import subprocess
from pathlib import Path

import pytest

from corda_lab import paths
from corda_lab.errors import FinalError, LabError
from corda_lab.lab import lifecycle, project
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.sweeps import lab as execute
from corda_lab.sweeps.file import read_sweep
from corda_lab.sweeps.lab import Machine
from corda_lab.sweeps.plan import PlannedStep, steps_of

PROJECT = "lab"
SETTINGS = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": PROJECT})


class Engine:
    """What is there: PartyA's container, and volumes."""

    def __init__(self) -> None:
        self.container = ""
        self.files = "/checkout/compose.yaml,/checkout/compose.override.yaml"
        """The Compose files with which PartyA's container was made. Plain Compose has these."""
        self.volumes: list[str] = []

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        said = {
            "ps --all --quiet": self.container,
            "ps": self.files if self.container else "",
            "volume ls": "\n".join(self.volumes),
        }
        text = next(text for verb, text in said.items() if " ".join(arguments).startswith(verb))
        return subprocess.CompletedProcess([], 0, text, "")


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    found = Engine()
    monkeypatch.setattr(project, "docker", found.run)
    return found


def test_a_sweep_replaces_the_lab_that_a_sweep_started_and_no_other(engine: Engine) -> None:
    engine.container = "first"
    assert not project.is_replaceable(PROJECT)
    project.mark(PROJECT, project.present(PROJECT))
    assert project.is_replaceable(PROJECT)
    engine.container = "second"
    assert not project.is_replaceable(PROJECT)
    assert not project.is_replaceable("another")


def test_what_a_killed_start_made_is_the_sweep_s_and_what_plain_compose_made_is_not(engine: Engine) -> None:
    project.mark(PROJECT, project.STARTING)
    files = ("/checkout/compose.yaml", *map(str, project.files_of_start(project.STARTING)))
    engine.container, engine.files = "made by the sweep", ",".join(files)
    assert project.is_replaceable(PROJECT)
    engine.container, engine.files = "made by a person", "/checkout/compose.yaml,/checkout/compose.override.yaml"
    assert not project.is_replaceable(PROJECT)


def test_volumes_without_containers_may_be_the_ledger_of_a_person(engine: Engine) -> None:
    engine.volumes = ["lab_ledger"]
    for lab in (None, project.present(PROJECT), project.STARTING):
        project.mark(PROJECT, lab)
        assert not project.is_replaceable(PROJECT)


def first_step(folder: Path) -> PlannedStep:
    file = folder / "own.yaml"
    text = "description: One.\nworkload: iou\nwarm_up: {min: 1s, max: 1s}\nmeasure: 4s\n"
    file.write_text(text, encoding="utf-8")
    return steps_of(read_sweep(file))[0]


def stub_start(monkeypatch: pytest.MonkeyPatch, engine: Engine, error: BaseException) -> None:
    """A start that goes as far as PartyA's container, and then breaks."""

    def break_off(*arguments: object) -> None:
        engine.container = "half-started"
        raise error

    for name in ("check_extra_cordapps", "prepare_engine", "prepare_images", "check_machine", "build"):
        monkeypatch.setattr(lifecycle, name, lambda *arguments: None)
    monkeypatch.setattr(lifecycle, "start", break_off)


@pytest.mark.parametrize("error", [LabError("The lab did not start", exit_code=1), KeyboardInterrupt()])
def test_a_lab_that_a_person_starts_after_a_sweep_s_start_broke_is_the_person_s(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    stub_start(monkeypatch, engine, error)
    with pytest.raises(type(error)):
        execute.Lab(SETTINGS, Machine(None), fresh="shape").prepare(first_step(tmp_path))
    assert project.is_replaceable(PROJECT)
    engine.container = "started by docker compose"
    assert not project.is_replaceable(PROJECT)


def test_a_lab_that_a_person_starts_after_a_sweep_was_killed_is_the_person_s(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.mark(PROJECT, project.STARTING)
    stub_start(monkeypatch, engine, LabError("not ready yet", exit_code=1))
    with pytest.raises(LabError):
        lifecycle.up(SETTINGS, None)
    assert not project.is_replaceable(PROJECT)


def test_a_machine_that_is_not_fit_ends_the_sweep_before_its_first_lab(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub_start(monkeypatch, engine, LabError("There is not enough memory", "Close something."))
    lab = execute.Lab(SETTINGS, Machine(None), fresh="shape")
    with pytest.raises(FinalError, match="not enough memory"):
        lab.prepare(first_step(tmp_path))
    # Later that is what steps have done to it.
    lab.started_at = 1.0
    monkeypatch.setattr(lifecycle, "down", lambda *arguments, **options: None)
    with pytest.raises(LabError) as caught:
        lab.prepare(first_step(tmp_path))
    assert not isinstance(caught.value, FinalError)
