"""The size of a sweep's report, and what the largest one takes to make."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from corda_lab.paths import ROOT
from corda_lab.results import stored
from support.commands import PYTHONPATH
from support.pages import report_html
from support.sweeps import LARGEST, SimulatedSweep, store_sweep

FILE_MEGABYTES_MAX = 4
LARGEST_SECONDS_MAX = 20
LARGEST_GIGABYTES_MAX = 1.5


def test_rows_are_counted_and_never_embedded(tmp_path: Path) -> None:
    few = SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2, rows_per_step=500)
    many = SimulatedSweep(
        vary={"load.users": [2, 8]}, repeats=2, rows_per_step=20_000, identity="20260102T030406Z-many"
    )
    sizes = [len(report_html(store_sweep(tmp_path, one))) for one in (few, many)]
    assert sizes[1] < 1.02 * sizes[0]
    assert sizes[1] < FILE_MEGABYTES_MAX * 1e6


@pytest.mark.nightly
def test_the_largest_report_is_made_within_its_limits(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, LARGEST)
    page = folder / "report.html"
    subprocess.run(
        [sys.executable, "-m", "corda_lab", "report", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        stdout=subprocess.DEVNULL,
        timeout=LARGEST_SECONDS_MAX,
        check=True,
    )
    assert stored.read(folder).table("requests", ["step"]).height >= 1_000_000
    # The most that any process started by these tests has taken.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 < LARGEST_GIGABYTES_MAX * 1e9
    assert page.stat().st_size < FILE_MEGABYTES_MAX * 1e6
