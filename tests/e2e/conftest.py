"""What the end-to-end tests share. They need a lab that is up: `scripts/lab test` starts one of its own for them."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from corda_lab.compose import Compose
from corda_lab.paths import RESULTS, ROOT
from corda_lab.settings import Settings, load_settings

LAB_SECONDS_MAX = 600.0


class Lab:
    """The lab under test as a user has it: a command line, and addresses on this machine."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.compose = Compose(settings)
        self.bridge_url = settings.url("BRIDGE_PORT")
        self.prometheus_url = settings.url("PROMETHEUS_PORT")
        self.network = f"{settings.project}_default"

    def command(self, *arguments: str) -> list[str]:
        return [str(ROOT / "scripts" / "lab"), *arguments]

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `scripts/lab` to its end; its output is kept apart from its errors."""
        return subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LAB_SECONDS_MAX,
            env={**os.environ, "COLUMNS": "200", **environment},
            check=False,
        )

    def results(self) -> list[Path]:
        """Folders of finished runs, oldest first."""
        return sorted(path for path in RESULTS.glob("*") if path.is_dir() and not path.is_symlink())

    def conditions(self) -> dict[str, str]:
        """How each service fares, one word each."""
        return {service.name: service.condition for service in self.compose.services()}


@pytest.fixture(scope="session")
def lab() -> Lab:
    return Lab(load_settings())


@pytest.fixture
def bridge(lab: Lab) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=lab.bridge_url, timeout=120, trust_env=False) as client:
        yield client


@pytest.fixture(scope="session")
def browser_image(lab: Lab) -> str:
    """The image with headless Chromium, built where it is not there yet."""
    image = "corda-lab/browser"
    base = f"--build-arg=PYTHON_IMAGE={lab.settings['PYTHON_IMAGE']}"
    folder = Path(__file__).with_name("browser")
    subprocess.run(["docker", "build", "--quiet", f"--tag={image}", base, str(folder)], check=True, timeout=900)
    return image


@pytest.fixture
def shared_folder(tmp_path: Path) -> Path:
    """A folder that a container of another user can write to."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    return folder
