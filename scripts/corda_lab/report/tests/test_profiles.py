"""The section "Where the CPU time went" of a report, and what it says of the run."""

from collections.abc import Callable
from pathlib import Path

from corda_lab.report import page
from corda_lab.results import stored
from corda_lab.results.manifest import ProfileEntry
from support.pages import report_html, report_text
from support.profiler import taken_in, write_profiles
from support.runs import step_file

FAILED = ProfileEntry(node="PartyB", problem="another profile of it is running")


def profiled(folder: Path) -> Path:
    """A run under whose load PartyA was profiled, and PartyB could not be."""
    step, window = step_file(folder).parent, stored.read(folder).steps[0].window
    entry = taken_in(step, began_at=window.started_at + 1)
    write_profiles(step, [entry.model_copy(update={"window_seconds": 30.0}), FAILED])
    page.render(folder)
    return folder


def test_a_run_says_in_words_where_the_cpu_time_went(stored_run: Callable[..., Path]) -> None:
    folder = profiled(stored_run())
    text = report_text(folder)
    assert "PartyA, cpu for 30 s by ctimer: 12 s of CPU time (0.4 cores). Load: 3.00 flows/s" in text
    assert "Samples were taken for 30 s, 30 s of them in the measuring window, which lasted 60 s." in text
    assert "50 % component 0 6 s does thing 0 Class0.method → libc.so.6" in text
    assert "component 9" in text
    assert "component 10" not in text
    assert "2 further components: 0.1 %." in text
    assert "PartyB Warning: another profile of it is running" in text
    assert '<a href="steps/0001-run/profiles/partya-cpu.html">' in report_html(folder)
    assert (folder / "steps/0001-run/profiles/partya-cpu.html").is_file()


def test_a_run_that_was_profiled_says_so_in_its_conditions(stored_run: Callable[..., Path]) -> None:
    text = report_text(profiled(stored_run()))
    assert "Profiled PartyA for 30 s of the measuring window; a profiler costs CPU time" in text


def test_a_run_that_was_not_profiled_says_nothing_of_it(stored_run: Callable[..., Path]) -> None:
    text = report_text(stored_run())
    assert "Where the CPU time went" not in text
    assert "Profiled" not in text
