"""Two checkouts on one machine: each has a project, volumes and images of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from corda_lab.lab import images
from corda_lab.lab.doctor import PORTS, free_ports
from corda_lab.lab.settings import project_in
from corda_lab.paths import ROOT
from e2e.labkit import LAB_SECONDS_MAX, Lab

pytestmark = [pytest.mark.lab("standard"), pytest.mark.nightly]


class Checkout:
    """A copy of the files of this checkout that git knows, with a command line and ports of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in filter(None, listed.stdout.split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        ports = free_ports(len(PORTS))
        self.ports = {variable: str(port) for variable, port in zip(PORTS, ports, strict=True)}

    def environment(self, **changes: str) -> dict[str, str]:
        """Return the environment of a user in this checkout, who has set nothing but the given variables."""
        own = {name: value for name, value in os.environ.items() if name not in {"COMPOSE_PROJECT_NAME", *PORTS}}
        path = os.pathsep.join([str(self.folder / "scripts"), str(self.folder / "loadgen" / "locust")])
        return {**own, "PYTHONPATH": path, "COLUMNS": "200", **changes}

    def run(self, *command: str, **changes: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LAB_SECONDS_MAX,
            env=self.environment(**changes),
            check=False,
        )

    def lab(self, *arguments: str, **changes: str) -> "subprocess.CompletedProcess[str]":
        return self.run(sys.executable, "-m", "corda_lab", *arguments, **changes)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = Checkout(tmp_path_factory.mktemp("other") / "lab")
    # Any command that changes a lab first gives the checkout its project.
    done = checkout.lab("down", **checkout.ports)
    assert done.returncode == 0, done.stdout + done.stderr
    return checkout


def volumes(project: str) -> list[str]:
    label = f"label=com.docker.compose.project={project}"
    done = subprocess.run(["docker", "volume", "ls", "--quiet", "--filter", label], capture_output=True, text=True)
    return sorted(done.stdout.split())


def test_a_second_checkout_is_told_who_has_its_ports_and_which_variables_to_set(lab: Lab, other: Checkout) -> None:
    taken = {variable: lab.settings[variable] for variable in PORTS}
    done = other.lab("up", **taken)
    assert done.returncode == 2, done.stdout + done.stderr
    container = f"{lab.settings.project}-bridge-1"
    assert (
        f"port {taken['BRIDGE_PORT']} (bridge): used by the container {container}, started from {ROOT}" in done.stderr
    )
    assert all(f"{variable}=" in done.stderr for variable in ("BRIDGE_PORT", "LOCUST_PORT", "PROMETHEUS_PORT"))


def test_down_with_volumes_in_one_leaves_the_other_alone(lab: Lab, other: Checkout) -> None:
    before = volumes(lab.settings.project)
    assert before
    project = project_in(other.folder)
    assert project is not None
    assert project != lab.settings.project
    # Typed by hand, Compose meets the same project. Prometheus alone starts within a second.
    given = {**other.ports, **images.in_use(lab.settings)}
    started = other.run("docker", "compose", "up", "--detach", "--no-deps", "prometheus", **given)
    assert started.returncode == 0, started.stderr
    assert f"{project}_prometheus-data" in volumes(project)
    config = other.run("docker", "compose", "config", "--images", **other.ports).stdout.split()
    assert {f"{project}/node:{lab.settings['CORDA_VERSION']}", f"{project}/locust"} <= set(config)

    done = other.lab("down", "--volumes", **other.ports)
    assert done.returncode == 0, done.stdout + done.stderr
    assert volumes(project) == []
    assert volumes(lab.settings.project) == before
    assert set(lab.conditions().values()) <= {"healthy", "done"}


def test_no_command_changes_the_lab_of_another_checkout(lab: Lab, other: Checkout) -> None:
    for verb in (("down", "--volumes"), ("up",), ("run", "iou")):
        done = other.lab(*verb, COMPOSE_PROJECT_NAME=lab.settings.project, **other.ports)
        assert done.returncode == 2, done.stdout + done.stderr
        assert f"The lab {lab.settings.project} belongs to another checkout: {ROOT}" in done.stderr
    assert set(lab.conditions().values()) <= {"healthy", "done"}
