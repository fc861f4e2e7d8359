"""Fixtures of the tests of figures: simulated runs of their sweep."""

from pathlib import Path

import pytest

from corda_lab.figures.figure import Places
from corda_lab.results.stored import StoredRun
from support.figures import SimulatedLab, stored_run, write_figures


@pytest.fixture(scope="session")
def bursts(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """A simulated run of the whole sweep: six points, three repeats."""
    folder = tmp_path_factory.mktemp("bursts")
    return stored_run(folder / "results", write_figures(folder / "figures"))


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Folders with one figure and its sweep, and without repeats."""
    figures = write_figures(tmp_path / "figures")
    return Places(figures, figures / "sweeps", tmp_path / "docs" / "reproduction", tmp_path / "results")


@pytest.fixture
def lab(places: Places, monkeypatch: pytest.MonkeyPatch) -> SimulatedLab:
    """A simulated lab, on which ``lab reproduce`` runs its sweeps."""
    simulated = SimulatedLab(places.results, places.sweeps / "bursts.yaml")
    monkeypatch.setattr("corda_lab.sweeps.command.begin", simulated.begin)
    monkeypatch.setattr("corda_lab.sweeps.command.resume", simulated.resume)
    return simulated
