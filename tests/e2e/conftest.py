"""Fixtures of the end-to-end tests. They need a lab that is up: `scripts/lab test` starts one of its own for them."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from corda_lab.lab.settings import load_settings
from labkit import Browser, Lab

collect_ignore = [] if os.environ.get("LAB_SLOW") else ["test_zzzz_more_parties.py", "test_zzzz_own_image.py"]
"""Tests that take too long to be run every time; `LAB_SLOW=1 ./scripts/lab test` runs them too."""


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
def browser(browser_image: str, tmp_path: Path) -> Browser:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)  # the container's user is another one
    return Browser(browser_image, folder)
