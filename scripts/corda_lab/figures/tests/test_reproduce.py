"""``lab reproduce`` on a simulated lab: what is measured, what is stored, and what is judged from which repeats."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.figures import command
from corda_lab.figures import repeats as store
from corda_lab.figures.command import Options
from corda_lab.figures.figure import Places
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results import folders
from corda_lab.sweeps import command as sweeps_command
from corda_lab.sweeps import store as sweeps_store
from corda_lab.sweeps.command import SweepRequest
from support.figures import (
    FIGURE,
    SECOND,
    SWEEP,
    SimulatedLab,
    stored_run,
    with_latency_only,
    write_figures,
)

SETTINGS = load_settings(ENV_FILE, {})
FULL, QUICK = Options("full"), Options("quick")

Told = Callable[[], str]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    """What was printed since the last call, with runs of spaces as one."""
    return lambda: re.sub(r" +", " ", capsys.readouterr().out)


def test_a_figure_is_measured_stored_and_judged(places: Places, lab: SimulatedLab, told: Told) -> None:
    command.one("one", QUICK, SETTINGS, places)
    (request,) = lab.requests
    assert (request.quick, request.repeats, request.seed) == (True, 3, 1)
    repeats = store.read(places.repeats)
    assert [(one.form, one.sweep) for one in repeats] == [("quick", "bursts")] * 3
    text = told()
    assert "one: Throughput of IOU flows (IIT Bombay 2019, section 3.4.1, figure 3.4)" in text
    assert '"Open-source Corda struggles to cross 10 TPS."' in text
    assert re.search(r"rises held 3\.\d+ \(3\.\d+ to 3\.\d+, n = 3\) 2 or more 4.15 ", text)
    assert re.search(r"below ten did not hold \d+\.\d flows/s", text)
    assert "firewall not testable here 0.5 or more needs Corda Enterprise" in text
    (run,) = folders.all_runs(results=places.results)
    assert f"page {run / 'one.html'}" in text
    assert (run / "one.html").is_file()


def test_figures_of_one_sweep_are_judged_from_one_run(places: Places, lab: SimulatedLab, told: Told) -> None:
    write_figures(places.figures, {"one": FIGURE, "two": SECOND})
    command.one("two", QUICK, SETTINGS, places)
    assert "also judged from this run: one (1 held, 1 did not hold, 1 not testable here)" in told()
    (run,) = folders.all_runs(results=places.results)
    assert sorted(path.stem for path in run.glob("*.html")) == ["one", "two"]
    # The repeats have what both figures need.
    assert store.read(places.repeats)[0].points[0].metrics.keys() == {"p50", "throughput"}


def test_further_repeats_add_up_with_those_of_other_days(places: Places, lab: SimulatedLab, told: Told) -> None:
    command.one("one", QUICK, SETTINGS, places)
    told()
    command.one("one", replace(QUICK, add=2), SETTINGS, places)
    text = told()
    assert [(one.repeats, one.seed) for one in lab.requests] == [(3, 1), (2, 4)]
    assert "n = 5" in text
    assert "Judged from 5 repeats" in text
    assert len(store.read(places.repeats)) == 5


def test_a_repeat_on_a_machine_that_changed_is_measured_again(places: Places, lab: SimulatedLab, told: Told) -> None:
    lab.moved = [{2: 1.2}]
    command.one("one", QUICK, SETTINGS, places)
    assert [(one.repeats, one.seed) for one in lab.requests] == [(3, 1), (1, 4)]
    text = told()
    assert "repeat 2 of 20260101T030405Z-bursts-quick does not count: the machine's speed moved" in text
    assert "n = 3" in text


def begun(places: Places, text: str) -> sweeps_store.Unfinished:
    """An unfinished run of the short form, begun with a sweep file of this text."""
    file = places.sweeps / "bursts.yaml"
    sweep = sweeps_command.read(SweepRequest(str(file), quick=True))
    return sweeps_store.begin(replace(sweep, text=text), SETTINGS, results_folder=places.results)


def test_an_interrupted_measurement_continues(places: Places, lab: SimulatedLab) -> None:
    kept = begun(places, SWEEP)
    command.one("one", QUICK, SETTINGS, places)
    assert lab.resumed == [kept.identity]
    assert len(lab.requests) == 1


def test_what_was_begun_with_another_file_is_left_as_it_is(places: Places, lab: SimulatedLab, told: Told) -> None:
    kept = begun(places, SWEEP + "# changed\n")
    command.one("one", QUICK, SETTINGS, places)
    assert lab.resumed == []
    assert kept.folder.is_dir()
    assert f"{kept.identity} is left as it is" in told()


UNTESTABLE = re.sub(
    r"(?m)^    within: (.*)$",
    r"    within: \1\n    needs: {enterprise: true}",
    FIGURE.replace("    needs: {enterprise: true}\n", ""),
)


def test_nothing_is_measured_for_claims_that_cannot_be_tested(places: Places, lab: SimulatedLab, told: Told) -> None:
    write_figures(places.figures, {"one": UNTESTABLE})
    command.one("one", QUICK, SETTINGS, places)
    assert lab.requests == []
    text = told()
    assert "rises: needs Corda Enterprise" in text
    assert "Nothing was measured" in text


@pytest.fixture
def other_sweep(places: Places) -> Places:
    """Two figures with a sweep each."""
    write_figures(places.figures, {"one": FIGURE, "two": FIGURE.replace("sweep: bursts", "sweep: floods")})
    (places.sweeps / "floods.yaml").write_text(SWEEP, encoding="utf-8")
    return places


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes this machine the one of the simulated runs."""
    for name, value in {
        "cpu_model": "A processor of some kind",
        "cores": 2,
        "memory_total_bytes": 24 * 1024**3,
    }.items():
        monkeypatch.setattr(f"corda_lab.host.machine.{name}", lambda value=value: value)


@pytest.mark.usefixtures("here")
def test_everything_that_lacks_repeats_is_measured(other_sweep: Places, lab: SimulatedLab, told: Told) -> None:
    command.one("one", QUICK, SETTINGS, other_sweep)
    first, *others = sorted((other_sweep.repeats / "bursts").iterdir())
    first.unlink()
    assert len(others) == 2
    told()
    assert command.everything(QUICK, SETTINGS, other_sweep)
    assert [(Path(str(one.file)).stem, one.repeats) for one in lab.requests[1:]] == [("bursts", 1), ("floods", 3)]
    text = told()
    assert re.search(r"About \d+ min \(until ", text)
    assert text.index("About") < text.index("stored:")
    assert other_sweep.document.is_file()

    assert command.everything(QUICK, SETTINGS, other_sweep)
    assert len(lab.requests) == 3
    assert "bursts has 3 of 3" in told()


@pytest.mark.usefixtures("here")
def test_repeats_without_a_value_that_a_figure_needs_are_measured_again(
    places: Places, lab: SimulatedLab, told: Told
) -> None:
    command.one("one", QUICK, SETTINGS, places)
    store.write([with_latency_only(one) for one in store.read(places.repeats)], places.repeats)
    told()
    assert command.everything(QUICK, SETTINGS, places)
    assert [one.repeats for one in lab.requests] == [3, 3]
    assert "bursts has 0 of 3, 3 more without a metric" in told()
    assert len(store.read(places.repeats)) == 6
    assert "n = 3" in places.document.read_text(encoding="utf-8")
    assert command.everything(QUICK, SETTINGS, places)
    assert len(lab.requests) == 2


@pytest.mark.usefixtures("here")
def test_a_sweep_that_fails_does_not_stop_the_others(
    other_sweep: Places, lab: SimulatedLab, monkeypatch: pytest.MonkeyPatch, told: Told
) -> None:
    def begin(request: SweepRequest, settings: object) -> Path:
        if Path(str(request.file)).stem == "bursts":
            raise LabError("the lab did not start", "Read its logs.")
        return lab.begin(request, SETTINGS)

    monkeypatch.setattr("corda_lab.sweeps.command.begin", begin)
    assert not command.everything(QUICK, SETTINGS, other_sweep)
    assert {one.sweep for one in store.read(other_sweep.repeats)} == {"floods"}
    assert "not measured: bursts; the same command tries them again" in told()


def test_an_existing_run_is_judged_by_its_own_repeats(places: Places, lab: SimulatedLab, told: Told) -> None:
    command.one("one", FULL, SETTINGS, places)
    told()
    run = stored_run(places.results, places.figures)
    command.from_run(run.identity, places)
    text = told()
    assert "n = 3" in text
    assert f"page {run.folder / 'one.html'}" in text
    assert len(lab.requests) == 1
    assert len(store.read(places.repeats)) == 6
    command.from_run(run.identity, places)
    assert len(store.read(places.repeats)) == 6


def test_a_run_whose_file_has_changed_is_judged_with_a_warning(places: Places, told: Told) -> None:
    run = stored_run(places.results, places.figures)
    write_figures(places.figures, sweep=SWEEP.replace("measure: 10s", "measure: 11s"))
    command.from_run(run.identity, places)
    text = told()
    assert "3 repeats, full: measured before the sweep changed; they count for no later verdict" in text
    assert "rises held" in text


def test_the_list_has_claims_times_and_last_verdicts(other_sweep: Places, lab: SimulatedLab, told: Told) -> None:
    write_figures(
        other_sweep.figures,
        {"one": FIGURE, "two": FIGURE.replace("sweep: bursts", "sweep: floods"), "three": UNTESTABLE, "four": SECOND},
    )
    command.one("one", QUICK, SETTINGS, other_sweep)
    told()
    command.list_figures(SETTINGS, other_sweep)
    text = told()
    lines = {line.split(" ")[0]: line for line in text.splitlines() if line}
    last = r"1 held, 1 did not hold, 1 not testable here \(quick, 15 Nov 2023\)"
    assert re.fullmatch(rf"four IIT Bombay 2019 bursts \d+ min \d+ min {last} *", lines["four"])
    assert "3 not testable here" in lines["three"]
    assert "4 figures, 12 claims: 2 held, 2 did not hold, 6 not testable here, 2 not measured yet" in text
