"""Fixtures: a small engine with a lab, and the project of that lab."""

from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab import paths
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from support.engine import Engine


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine with a lab, whose journal is in a folder of its own."""
    made = Engine(tmp_path / "engine")
    monkeypatch.setenv("PATH", f"{made.bin}:/usr/bin:/bin")
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    return made


@pytest.fixture
def compose_of() -> Callable[..., Compose]:
    """Return a function that returns the project of a lab with some variables."""

    def made(**variables: str) -> Compose:
        return Compose(load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "my-lab", **variables}))

    return made
