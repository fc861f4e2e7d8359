"""Figures for papers: drawn without a screen, from the report's own series, and the same every time."""

from collections.abc import Callable
from pathlib import Path

from corda_lab import figures, stored
from corda_lab.sweep_testkit import Simulated, store_sweep

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_sweep_s_main_charts_become_png_and_svg(tmp_path: Path) -> None:
    run = stored.read(store_sweep(tmp_path, Simulated(vary={"load.users": [2, 8]}, repeats=2)))
    paths = figures.write(run, tmp_path / "figures")
    names = {path.name for path in paths}
    assert {"curve-throughput.png", "curve-p99.svg", "throughput-latency.svg", "stages.png", "cost.svg"} <= names
    for path in paths:
        content = path.read_bytes()
        assert content.startswith(PNG) if path.suffix == ".png" else b"</svg>" in content
    again = figures.write(run, tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in paths]


def test_a_single_run_has_figures_too(stored_run: Callable[..., Path], tmp_path: Path) -> None:
    names = {path.stem for path in figures.write(stored.read(stored_run()), tmp_path / "figures")}
    assert names == set(figures.RUN_CHARTS)
