"""Fixtures of the end-to-end tests, and the order in which they run.

They need a running lab. ``tests/runner.py`` starts a separate one for them. A start takes a minute or two, so tests of
the same lab run together. Every module names the lab that it needs, ``pytestmark = pytest.mark.lab("standard")``. If it
is not the standard lab, a fixture of the module starts it.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from corda_lab.lab.images import image_name
from corda_lab.lab.settings import load_settings
from e2e.labkit import Browser, Lab

FOLDER = Path(__file__).parent

LABS = (
    "none",  # no lab: pages of simulated runs
    "standard",  # the lab that `scripts/lab test` has started: three parties on H2
    "own-cordapp",  # the same ledger, on nodes that were restarted with another CorDapp
    "finance",  # two parties with R3's finance CorDapp
    "postgres",  # an older version of Corda on PostgreSQL
    "more-parties",  # two parties, and three that join later
    "restarts",  # labs with new networks, of several shapes
    "own-image",  # nodes on an image that the lab has not built
    "sweep",  # labs that a sweep starts
)
"""The names that the marker accepts, in the order in which the tests run."""


def lab_of(item: pytest.Item) -> str:
    """Return the name of the lab that a test needs. Raises UsageError if it names none."""
    marker = item.get_closest_marker("lab")
    if marker is None or marker.args[0] not in LABS:
        raise pytest.UsageError(f"{item.nodeid}: mark its module with pytest.mark.lab and one of {', '.join(LABS)}")
    name: str = marker.args[0]
    return name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group the tests by lab, after the tests of other folders. The order within a lab does not change."""
    items.sort(key=lambda item: LABS.index(lab_of(item)) if item.path.is_relative_to(FOLDER) else -1)


@pytest.fixture(scope="session")
def lab() -> Lab:
    return Lab(load_settings())


@pytest.fixture
def bridge(lab: Lab) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=lab.bridge_url, timeout=120, trust_env=False) as client:
        yield client


@pytest.fixture(scope="session")
def browser_image(lab: Lab) -> str:
    """The image with headless Chromium, which is built if it does not exist."""
    image = "corda-lab/browser"
    base = f"--build-arg=PYTHON_IMAGE={image_name(lab.settings, 'PYTHON_IMAGE')}"
    folder = FOLDER / "browser"
    subprocess.run(
        ["docker", "buildx", "build", "--load", "--quiet", f"--tag={image}", base, str(folder)], check=True, timeout=900
    )
    return image


@pytest.fixture
def browser(browser_image: str, tmp_path: Path) -> Browser:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)  # the container runs as another user
    return Browser(browser_image, folder)
