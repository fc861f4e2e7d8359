"""The sections of a report that a run has only sometimes: conditioning, faults, ledgers, logs, profiles."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.faults.effects import with_effects
from corda_lab.faults.model import FaultEntry
from corda_lab.node_logs import model as node_logs
from corda_lab.node_logs.model import ErrorKind, KeptLog, KeptLogs
from corda_lab.report import drawing, facts, page, unfinished
from corda_lab.report.chart import Chart, Shade
from corda_lab.report.facts import conditioned_by, conditioning_plan
from corda_lab.results import folders, store, stored
from corda_lab.results.audits import Audit, Violation, ViolationKind
from corda_lab.results.manifest import ProfileEntry
from corda_lab.results.store import Measured
from corda_lab.results.stored import StepFile
from corda_lab.results.sweep_parts import ConditionFields
from corda_lab.stats.steady import STEADY_METHOD
from corda_lab.steps.entry import ParameterValue
from corda_lab.sweeps.plan import points_of, step_of
from support import simulation, sweeps
from support.pages import report_charts, report_file, report_html, report_text, without_scripts
from support.profiler import taken_in, write_profiles
from support.runs import ENVIRONMENT, ON_HOSTS, step_file, write_audits
from support.sweeps import SimulatedSweep, conditioning_before, store_sweep

PLAIN = SimulatedSweep(vary={"load.users": [1, 4]}, with_stages=False, rows_per_step=200)
CONDITIONED = replace(PLAIN, conditioned={1: True, 3: False, 5: True})


def shown(run: Path) -> str:
    """The report, made again, in one line."""
    page.render(run)
    return " ".join(without_scripts(report_html(run)).split())


@pytest.fixture
def measured(tmp_path: Path) -> Measured:
    """The first step of a sweep, before it is stored."""
    file = sweeps.sweep_file(PLAIN, tmp_path, None)
    point = points_of(file)[0]
    return sweeps.build(PLAIN, file.fields, step_of(point, 1, 1), simulation.ORIGIN)


def test_what_conditioned_the_nodes_is_told_and_enters_no_value(tmp_path: Path) -> None:
    plain = store_sweep(tmp_path / "plain", PLAIN)
    conditioned = store_sweep(tmp_path / "conditioned", CONDITIONED)
    assert report_file(conditioned, "summary.csv") == report_file(plain, "summary.csv")
    drawn, expected = report_charts(conditioned), report_charts(plain)
    assert [chart.digest for chart in drawn.values()] == [chart.digest for chart in expected.values()]
    run = stored.read(conditioned)
    assert [step.index for step in run.steps if step.flags] == [3], "its nodes were not steady yet"
    assert conditioned_by(run.steps) == "135 iou flows in 41 to 45 s, steady after 2 of 3 starts"
    text = report_text(conditioned)
    assert "Conditioning every new lab, by the load of the first step on it, until steady: 1 min to 4 min" in text
    assert text.count("--condition") == 6, "the command of a step conditions the nodes too"
    assert "Conditioned by" not in report_text(plain)


def test_conditioning_changes_no_value_of_a_step(measured: Measured) -> None:
    entry = conditioning_before(measured.step, steady=False)
    after = measured.after(entry)
    changed = {name for name, value in dict(after.step).items() if value != dict(measured.step)[name]}
    assert changed == {"conditioning", "flags"}
    assert [flag.code for flag in after.step.flags if flag not in measured.step.flags] == ["conditioning_not_steady"]


def test_a_step_that_warmed_up_until_it_was_steady_needs_no_warning(measured: Measured) -> None:
    entry = conditioning_before(measured.step, steady=False)
    for is_found, flags in ((True, 0), (False, 1)):
        warm_up = measured.step.warm_up.model_copy(update={"method": STEADY_METHOD, "found": is_found})
        step = measured.step.updated(warm_up=warm_up, flags=[])
        assert len(measured.with_step(step).after(entry).step.flags) == flags


@pytest.mark.parametrize(
    ("seconds_min", "load", "arrivals", "lasts"),
    [
        (45, {}, ["closed"], "until steady: 45 s to 1 min 30 s"),
        (90, {}, ["closed"], "for 1 min 30 s"),
        (45, {"arrivals": "constant"}, ["closed"], "for 1 min 30 s"),
        (45, {"arrivals": "closed"}, ["poisson"], "until steady: 45 s to 1 min 30 s"),
        (45, {}, ["closed", "poisson"], "until steady: 45 s to 1 min 30 s"),
    ],
)
def test_a_load_of_a_fixed_time_is_not_said_to_last_until_steady(
    seconds_min: float, load: dict[str, ParameterValue], arrivals: list[str], lasts: str
) -> None:
    planned = ConditionFields.model_validate({"for": {"min": seconds_min, "max": 90}, "load": load})
    assert conditioning_plan(planned, arrivals).endswith(f", {lasts}")


@pytest.mark.parametrize(
    ("governor", "turbo", "text"),
    [(None, None, ""), ("powersave", True, ", governor powersave, turbo on")],
)
def test_a_machine_is_described_by_what_is_known_of_it(governor: str | None, turbo: bool | None, text: str) -> None:
    host = ENVIRONMENT.host.model_copy(update={"governor": governor, "turbo": turbo})
    assert facts.machine(host) == f"2 cores of A processor of some kind, 24 GiB, Linux 6.1{text}"
    assert facts.machines(ON_HOSTS) == "1 host of the placement three"


# Faults.


def with_faults(folder: Path) -> Path:
    """Give the first step of a stored run a fault that was made and one that was not, and render its report again."""
    run = stored.read(folder)
    step, window = run.steps[0], run.steps[0].window
    began_at = window.load_started_at + 30.0
    killed = FaultEntry(
        kind="kill", target="bridge", at_seconds=30.0, for_seconds=5.0, began_at=began_at, healed_at=began_at + 5.5
    )
    late = FaultEntry(kind="pause", target="partya", at_seconds=90.0, for_seconds=1.0, problem="the load had ended")
    rows = run.table("requests")
    rows = rows.filter(rows["step"] == step.index)
    effects = with_effects([killed, late], rows, window.load_started_at, window.load_ended_at)
    faults = [effect.model_dump(mode="json") for effect in effects]
    path = step_file(folder, step.index)
    folders.write_json(path, folders.read_object(path) | {"faults": faults, "restarted_after_faults": ["PartyB"]})
    page.render(folder)
    return folder


def fault_shades(chart: Chart) -> list[Shade]:
    return [shade for shade in chart.shades if shade.colour == "fault"]


def test_a_run_shows_each_fault_that_was_made_as_a_band_and_what_it_cost(stored_run: Callable[..., Path]) -> None:
    folder = with_faults(stored_run())
    chart = report_charts(folder)["throughput"]
    (shade,) = fault_shades(chart)
    assert (shade.text, shade.start, shade.end) == ("kill bridge: no effect", 30.0, 35.5)
    assert "fault-after" not in {shade.colour for shade in chart.shades}, "the simulated load did not suffer"
    assert ">kill bridge: no effect</text>" in drawing.svg(chart)
    text = report_text(folder)
    assert "kill bridge 30.0 s 5.5 s did not slow the load down" in text
    assert "pause partya – – – – – the load had ended" in text
    assert f"scripts/lab chaos {folder.name}" in text


def test_a_sweep_shows_the_faults_of_its_steps(tmp_path: Path) -> None:
    folder = with_faults(store_sweep(tmp_path, SimulatedSweep()))
    charts = report_charts(folder)
    assert len(fault_shades(charts["over-time"])) == 1
    of_steps = [fault_shades(chart) for name, chart in charts.items() if re.fullmatch(r"step-\d+-throughput", name)]
    assert [[shade.text for shade in shades] for shades in of_steps if shades] == [["kill bridge"]]
    assert "kill bridge 30.0 s 5.5 s" in report_text(folder)


# Ledgers.

LOST = Violation(
    kind=ViolationKind.MISSING_AT_PARTICIPANT, node="PartyB", ids=("AB12",), text="PartyB does not have <AB12>"
)
PASSED = Audit(verdict="passed", counts={"nodes": 4, "transactions": 1812}, seconds=3.2)
WRONG = Audit(verdict="violations", counts={"nodes": 4}, violations=(LOST,) * 202, seconds=3.2)
UNTOLD = Audit(verdict="cannot tell", reasons=("the database of PartyB could not be read: no space",), seconds=60)


@pytest.mark.parametrize(
    ("audit", "state", "count", "parts"),
    [
        (PASSED, "good", 0, ["passed: 1,812 transactions on 4 nodes", '<td class="number">1,812</td>']),
        (WRONG, "bad", 200, ["PartyB does not have &lt;AB12&gt;", "2 more are in audit.json"]),
        (UNTOLD, "warning", 0, ["Cannot tell: the database of PartyB could not be read: no space."]),
    ],
    ids=["passed", "violations", "cannot tell"],
)
def test_a_run_says_what_its_ledgers_prove(
    stored_run: Callable[..., Path], audit: Audit, state: str, count: int, parts: list[str]
) -> None:
    run = stored_run()
    write_audits(run, {1: audit})
    text = shown(run)
    assert f'<div class="tile {state}"><h2>ledgers</h2>' in text
    assert text.count('<td class="bad">missing_at_participant</td>') == count
    assert [part for part in parts if part not in text] == []


def test_the_report_of_a_sweep_has_the_verdict_of_each_step(tmp_path: Path) -> None:
    run = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2]}))
    write_audits(run, {1: PASSED, 2: WRONG})
    text = shown(run)
    assert text.count('<td class="good">✓ passed</td>') == 1
    assert text.count('<td class="bad">✗ violations: 202 missing_at_participant</td>') == 1
    assert '<td class="">not audited</td>' in text


# Logs.


def kind(message: str, count: int, level: str = "WARN", exception: str | None = None) -> ErrorKind:
    return ErrorKind(
        level=level,
        logger="a.B",
        message=message,
        exception=exception,
        count=count,
        first_at=1795534380.5,
        last_at=1795534390.25,
        example=f"{message} – {exception}" if exception else message,
    )


REFUSED = kind("Error …:", 1200, "INFO", "net.corda.core.flows.FlowException: below …")
CLOSED = kind("<closed>", 3)


def kept(*kinds: ErrorKind, lines_left_out: int = 0) -> KeptLogs:
    log = KeptLog(
        node="PartyB", file="PartyB.log.gz", entries=9000, lines_left_out=lines_left_out, errors=list(kinds), others=2
    )
    return KeptLogs(why="7 of 9 requests failed", since=0, until=1, logs=[log], missing={"PartyC": "it is gone"})


def test_errors_in_logs_are_listed_with_their_times_and_a_link_to_the_file(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    assert "Errors in the logs of the nodes" not in report_html(run)
    node_logs.write_index(step_file(run).with_name("logs"), kept(CLOSED, REFUSED, lines_left_out=12))
    text = shown(run).partition('id="logs"')[2].partition("</article>")[0]
    assert "Kept because 7 of 9 requests failed." in text
    assert text.index("1,200") < text.index("&lt;closed&gt;"), "the most frequent first"
    assert "<code>net.corda.core.flows.FlowException: below …</code>" in text
    assert '<td class="number">15:33:00.500</td><td class="number">15:33:10.250</td>' in text
    assert '<a href="steps/0001-run/logs/PartyB.log.gz">steps/0001-run/logs/PartyB.log.gz</a>' in text
    assert "9,000 entries, 1,205 errors; 12 lines between its beginning and its end are left out" in text
    assert text.count("&lt;closed&gt;") == 1, "a message without values is not repeated as its example"


def test_the_logs_of_a_sweep_name_their_step(tmp_path: Path) -> None:
    node_logs.write_index(tmp_path / "steps/0003-users-2/logs", kept(REFUSED))
    section = node_logs.section(tmp_path)
    assert section is not None
    assert [(file.step, file.path) for file, _ in section.errors] == [(3, "steps/0003-users-2/logs/PartyB.log.gz")]


def test_a_run_without_results_names_its_logs_and_its_most_frequent_errors(tmp_path: Path) -> None:
    folder = store.begin(store.manifest("20260102T030405Z-iou"), results=tmp_path)
    step = store.new_step(folder, 1, "run")
    store.end_step(step, StepFile(index=1, key="run", state="failed", why="the bridge is gone", rows=0))
    node_logs.write_index(step / "logs", kept(REFUSED, CLOSED))
    words = [text for name, text in unfinished.lines(unfinished.report(folder)) if name in ("logs", "")]
    assert words[0] == "1 file: steps/0001-run/logs/PartyB.log.gz"
    assert words[1].startswith("1,200 × PartyB INFO Error …: – net.corda.core.flows.FlowException: below …")


# Profiles.


def test_a_profiled_run_says_where_the_cpu_time_went(stored_run: Callable[..., Path]) -> None:
    folder = stored_run()
    assert "Where the CPU time went" not in report_text(folder)
    step = step_file(folder).parent
    entry = taken_in(step, began_at=stored.read(folder).steps[0].window.started_at + 1)
    failed = ProfileEntry(node="PartyB", problem="another profile of it is running")
    write_profiles(step, [entry.model_copy(update={"window_seconds": 30.0}), failed])
    page.render(folder)
    text = report_text(folder)
    assert "PartyA, cpu for 30 s by ctimer: 12 s of CPU time (0.4 cores). Load: 3.00 flows/s" in text
    assert "50 % component 0 6 s does thing 0 Class0.method → libc.so.6" in text
    assert "component 10" not in text
    assert "2 further components: 0.1 %." in text
    assert "PartyB Warning: another profile of it is running" in text
    assert "Profiled PartyA for 30 s of the measuring window; a profiler costs CPU time" in text
    assert '<a href="steps/0001-run/profiles/partya-cpu.html">' in report_html(folder)
    assert (folder / "steps/0001-run/profiles/partya-cpu.html").is_file()
