"""Faults in reports: bands in the charts over time, and a table of what each cost."""

import re
from collections.abc import Callable
from pathlib import Path

from corda_lab.faults.effects import with_effects
from corda_lab.faults.model import FaultEntry
from corda_lab.report import drawing, page
from corda_lab.results import folders, stored
from support.pages import report_charts, report_text
from support.runs import step_file
from support.sweeps import SimulatedSweep, store_sweep

LATE = FaultEntry(kind="pause", target="partya", at_seconds=90.0, for_seconds=1.0, problem="the load had ended before")


def with_faults(folder: Path) -> Path:
    """Give the first step of a stored run a fault that was made and one that was not, and render its report again."""
    run = stored.read(folder)
    step = run.steps[0]
    window = step.window
    began_at = window.load_started_at + 30.0
    killed = FaultEntry(
        kind="kill", target="bridge", at_seconds=30.0, for_seconds=5.0, began_at=began_at, healed_at=began_at + 5.5
    )
    rows = run.table("requests")
    rows = rows.filter(rows["step"] == step.index)
    effects = with_effects([killed, LATE], rows, window.load_started_at, window.load_ended_at)
    path = step_file(folder, step.index)
    faults = [effect.model_dump(mode="json") for effect in effects]
    changes = {"faults": faults, "restarted_after_faults": ["PartyB"]}
    folders.write_json(path, folders.read_object(path) | changes)
    page.render(folder)
    return folder


def test_the_charts_of_a_run_show_each_fault_that_was_made_as_a_band(stored_run: Callable[..., Path]) -> None:
    folder = with_faults(stored_run())
    chart = report_charts(folder)["throughput"]
    (band,) = chart.spans[0].faults
    assert (band.name, band.start, band.end) == ("kill bridge", 30.0, 35.5)
    assert band.text == "kill bridge: no effect"
    assert band.back == 30.0, "the simulated load did not suffer"
    assert "var(--fault)" in drawing.svg(chart)
    assert ">kill bridge: no effect</text>" in drawing.svg(chart)


def test_the_report_of_a_run_says_what_each_fault_cost_and_how_to_repeat_them(stored_run: Callable[..., Path]) -> None:
    folder = with_faults(stored_run())
    text = report_text(folder)
    assert "kill bridge 30.0 s 5.5 s did not slow the load down" in text
    assert "pause partya – – – – – the load had ended before" in text
    assert "Flows stayed in flight until PartyB had been started again." in text
    assert f"scripts/lab chaos {folder.name}" in text


def test_a_sweep_shows_the_faults_of_its_steps(tmp_path: Path) -> None:
    folder = with_faults(store_sweep(tmp_path, SimulatedSweep()))
    charts = report_charts(folder)
    assert [len(span.faults) for span in charts["over-time"].spans].count(1) == 1
    of_steps = [chart.spans[0].faults for name, chart in charts.items() if re.fullmatch(r"step-\d+-throughput", name)]
    assert [len(faults) for faults in of_steps].count(1) == 1
    assert "kill bridge 30.0 s 5.5 s" in report_text(folder)
