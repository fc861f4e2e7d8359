"""The report of a sweep and a comparison open offline in a real browser, with all charts and no console errors.

The sweeps are simulated, so no lab is needed.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.analysis.comparison import compare_runs
from corda_lab.report import comparison
from e2e.labkit import Browser
from support.pages import report_html
from support.sweeps import LARGEST, SimulatedSweep, store_sweep

pytestmark = pytest.mark.lab("none")

INVALID = (4,)


@pytest.mark.parametrize(
    ("sweep", "find_max", "charts_min"),
    [
        (SimulatedSweep(invalid=INVALID), False, 10),
        (SimulatedSweep(vary={"shape.database": ["h2", "postgres"]}), True, 11),
        pytest.param(replace(LARGEST, invalid=INVALID), False, 10, marks=pytest.mark.nightly),
    ],
    ids=["sweep", "find-max", "fifty steps, a million rows"],
)
def test_the_report_of_a_sweep_opens_offline(
    sweep: SimulatedSweep, find_max: bool, charts_min: int, browser: Browser, tmp_path: Path
) -> None:
    folder = store_sweep(tmp_path, sweep, find_max=find_max)
    (browser.folder / "report.html").write_text(report_html(folder), encoding="utf-8")
    seen = browser.run("open_report.py", "/shared/report.html", "/shared", network="none")
    assert seen["console_errors"] == []
    assert seen["empty_charts"] == []
    assert seen["charts"] >= charts_min
    assert seen["places"] == seen["charts"], "every place for a chart has one"
    assert seen["step_changed"], "choosing another step draws it"
    assert seen["wider_than_the_page"] == []


def test_a_comparison_opens_offline(browser: Browser, tmp_path: Path) -> None:
    first = store_sweep(tmp_path, SimulatedSweep())
    second = store_sweep(tmp_path, SimulatedSweep(speed=0.9, identity="20260102T040405Z-slower"))
    found = compare_runs([first, second], metric="throughput", threshold=0.05)
    page = comparison.write(found, results_folder=tmp_path) / "compare.html"
    (browser.folder / "report.html").write_bytes(page.read_bytes())
    seen = browser.run("open_report.py", "/shared/report.html", "/shared", network="none")
    assert seen["console_errors"] == []
    assert seen["empty_charts"] == []
    assert seen["charts"] == 4
