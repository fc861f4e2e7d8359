"""Every checkout has a project of its own, and finds the lab that it had before."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab import paths
from corda_lab.errors import LabError
from corda_lab.lab import project
from corda_lab.lab.settings import OVERRIDE, project_in
from support.docker import docker_client

Install = Callable[[str], None]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that sets what docker does, a shell script. There is no other docker, and no project yet."""
    (tmp_path / "bin").mkdir()
    monkeypatch.delenv("COMPOSE_PROJECT_NAME", raising=False)
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")

    def install(script: str) -> None:
        docker_client(tmp_path / "bin", monkeypatch, script)

    install("exit 0")
    return install


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return use(tmp_path / "one", monkeypatch)


def use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a checkout, and work in it."""
    folder.mkdir()
    for name in (".env", "compose.yaml"):
        (folder / name).touch()
    monkeypatch.setattr(paths, "ROOT", folder)
    return folder


def settled(checkout: Path) -> str | None:
    project.settle(checkout)
    return project_in(checkout)


def test_two_checkouts_have_two_projects_that_do_not_change(
    docker: Install, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = settled(checkout), settled(use(checkout.with_name("two"), monkeypatch))
    assert first == project.own_name(checkout) != second
    assert first is not None
    assert len(first) <= len("corda-lab-abcdef")
    docker(f"echo {checkout}")
    assert settled(checkout) == first


def test_a_lab_that_plain_compose_has_started_keeps_its_name(docker: Install, checkout: Path) -> None:
    docker(f"echo {checkout}")
    assert settled(checkout) == "corda-lab"


def test_the_lab_of_another_checkout_is_not_taken_over(docker: Install, checkout: Path, tmp_path: Path) -> None:
    docker(f"echo {tmp_path}")
    assert settled(checkout) == project.own_name(checkout)


def test_without_an_engine_the_name_follows_from_the_folder(docker: Install, checkout: Path) -> None:
    docker("exit 1")
    assert settled(checkout) == project.own_name(checkout)


def test_what_the_user_has_chosen_is_left_alone(
    docker: Install, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / ".env").write_text("COMPOSE_PROJECT_NAME=mine\n", encoding="utf-8")
    assert settled(checkout) is None
    (checkout / ".env").write_text("", encoding="utf-8")
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", "mine")
    assert settled(checkout) is None
    monkeypatch.delenv("COMPOSE_PROJECT_NAME")
    (checkout / OVERRIDE).write_text("services: {}\n", encoding="utf-8")
    assert settled(checkout) is None


def test_nothing_changes_the_lab_of_another_checkout(
    docker: Install, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = use(checkout.with_name("two"), monkeypatch)
    monkeypatch.setattr(paths, "ROOT", checkout)
    docker(f"echo {other}")
    with pytest.raises(LabError, match=f"^The lab corda-lab belongs to another checkout: {other}$") as caught:
        project.require_own("corda-lab")
    assert f"Write `name: {project.own_name(checkout)}` into compose.override.yaml here" in caught.value.remedy
    shutil.rmtree(other)
    project.require_own("corda-lab")
