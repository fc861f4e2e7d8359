"""``lab selfcheck``: measures systems whose truth is known, and that broken copies of the pipeline are caught."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from corda_lab.selfcheck.broken import BREAKAGES
from corda_lab.selfcheck.cases import DURATION_SECONDS, LATE_MAX_SECONDS, RATE, WARM_UP_SECONDS, Case, all_cases
from corda_lab.selfcheck.checks import TIMER_ERROR_MS_MAX, Check, checks_of
from corda_lab.selfcheck.stub_lab import FOLDER, StubLab, own_settings
from corda_lab.selfcheck.truth import TrueFlow, Truth

from corda_lab.lab import lifecycle
from corda_lab.lab.environment import read_environment
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ROOT
from corda_lab.results import files, folders
from corda_lab.runs import preflight, storing
from corda_lab.runs.execute import Observation, observe
from corda_lab.runs.recording import recorded
from corda_lab.runs.running import RunningLab
from corda_lab.selfcheck import truth
from corda_lab.steps.build import build_step
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.load import LoadOptions
from corda_lab.text import tables, ui

WORKLOAD = "iou"
RESULTS = FOLDER / "results"
"""The runs of the last self-check, with their reports. They are not among those of the user."""
CAUGHT_SHOWN_MAX = 3

ATTEMPTS_MAX = 3
"""How often a case is measured whose truth was uncertain."""


@dataclass(frozen=True)
class CaseResult:
    """One measured case, with its truth and its checks."""

    case: Case
    truth: Truth
    observation: Observation
    checks: Sequence[Check]


def options_of(case: Case) -> LoadOptions:
    """The load of a case."""
    return LoadOptions(
        WORKLOAD,
        case.pool,
        DURATION_SECONDS,
        WARM_UP_SECONDS,
        arrivals="constant",
        rate=RATE,
        late_max_seconds=LATE_MAX_SECONDS,
        name=f"selfcheck-{case.name}",
    )


def truth_of(case: Case, flows: Sequence[TrueFlow], seen: Observation) -> Truth:
    """The truth of a case, from the log of the stub nodes and the times at which the load began and ended."""
    end = seen.seen.end
    window = (end.started_at + WARM_UP_SECONDS, end.stop_at)
    began = end.spawned_at or end.started_at
    if case.serves_at_once:
        return truth.of_open_load(case, flows, window)
    return truth.of_full_pool(case, flows, began, window)


def measure_load(lab: StubLab, options: LoadOptions) -> tuple[Observation, StepEntry]:
    """Measure a load on the stub nodes that run now, and store it as a run. Raises LabError."""
    with closing(RunningLab.of(lab.settings, lab.compose)) as running:
        return _measure_load(lab, running, options)


def _measure_load(lab: StubLab, running: RunningLab, options: LoadOptions) -> tuple[Observation, StepEntry]:
    run = preflight.prepare(options)
    nodes = running.bridge.nodes()
    planned = preflight.plan_on(nodes, run, lab.settings, lab.compose, running.bridge)
    environment = read_environment(lab.compose)
    with recorded(folders.unfinished_folder(results=RESULTS) / run.identity) as recording:
        recording.begin(lab.compose, planned, environment)
        seen = observe(running, planned, environment, recording)
        measured = seen.measured()
        storing.store(files.single(run.identity, measured, run.options), measured, results=RESULTS)
    folders.remove_unfinished(recording.folder)
    return seen, measured.step


def measure(lab: StubLab, case: Case) -> CaseResult:
    """Measure one case on the stub nodes. Raises LabError."""
    with ui.phase(f"Starting the stub nodes: {case.title}"):
        lab.start(case)
    seen, step = measure_load(lab, options_of(case))
    found = truth_of(case, lab.flows(), seen)
    return CaseResult(case, found, seen, checks_of(case, found, step))


def measure_undisturbed(lab: StubLab, case: Case) -> CaseResult:
    """Measure a case, again if something else used the machine meanwhile. Raises LabError."""
    for attempt in range(1, ATTEMPTS_MAX + 1):
        result = measure(lab, case)
        late = result.truth.timer_error_ms
        if all(check.holds for check in result.checks) or late <= TIMER_ERROR_MS_MAX or attempt == ATTEMPTS_MAX:
            break
        show_case(result)
        ui.note(f"the stub nodes' own timers were late by {late:.0f} ms at p99.9, so the case is measured again")
    return result


def caught(results: Sequence[CaseResult]) -> Mapping[str, list[Check]]:
    """The checks that each broken copy of the pipeline fails, by its name."""
    found: dict[str, list[Check]] = {}
    for name, breakage in BREAKAGES.items():
        found[name] = []
        for one in results:
            step = build_step(one.observation.plan, breakage(one.observation.seen))
            # A check that fails anyway catches nothing.
            held = {check.name for check in one.checks if check.holds}
            broken = checks_of(one.case, one.truth, step)
            found[name] += [check for check in broken if not check.holds and check.name in held]
    return found


def run() -> bool:
    """Run the whole self-check, and print its result. Returns whether no check fails. Raises LabError."""
    lifecycle.prepare_engine()
    shutil.rmtree(RESULTS, ignore_errors=True)
    lab = StubLab(own_settings(load_settings()))
    cases = all_cases()
    results: list[CaseResult] = []
    try:
        lab.build(cases[0])
        for case in cases:
            results.append(measure_undisturbed(lab, case))
            show_case(results[-1])
    finally:
        with ui.phase("Removing the stub nodes"):
            lab.stop()
    breakages = caught(results)
    show_breakages(breakages)
    ui.note(f"the reports of these loads are in {RESULTS.relative_to(ROOT)}")
    checks = [check for one in results for check in one.checks]
    failed = [check for check in checks if check.fails]
    untold = [check for check in checks if check.cannot_be_told]
    missed = [name for name, found in breakages.items() if not found]
    told = f"{len(untold)} cannot be told; " if untold else ""
    ui.console.print(
        f"{len(checks) - len(failed) - len(untold)} of {len(checks)} checks hold; {told}"
        f"{len(breakages) - len(missed)} of {len(breakages)} broken copies of the pipeline were caught",
        markup=False,
    )
    if failed or untold:
        late = max(one.truth.timer_error_ms for one in results)
        if late > TIMER_ERROR_MS_MAX:
            ui.warn(f"the stub nodes' own timers were late by up to {late:.0f} ms: repeat this on an idle machine")
    return not failed and not missed


def show_case(result: CaseResult) -> None:
    """Print the checks of a case: those that do not hold, and the most important of the others."""
    made = tables.table("", result.case.title, "truth", "measured", "off", numbers=["truth", "measured", "off"])
    for check in result.checks:
        if not check.holds or check.tolerance:
            mark = "ok" if check.holds else "cannot tell" if check.cannot_be_told else "FAILED"
            made.add_row(mark, check.name, f"{check.truth:,.2f}", f"{check.found:,.2f}", check.off)
    exact = sum(check.holds and not check.tolerance for check in result.checks)
    tables.show(made)
    ui.note(
        f"{exact} values are exact; the stub's own timers were late by {result.truth.timer_error_ms:.2f} ms at p99.9"
    )


def show_breakages(found: Mapping[str, list[Check]]) -> None:
    """Print which check catches each broken copy of the pipeline."""
    made = tables.table("broken copy", "caught by")
    for name, checks in found.items():
        words = list(dict.fromkeys(f"{check.name} ({check.case})" for check in checks))
        more = [f"{len(words) - CAUGHT_SHOWN_MAX} more"] if len(words) > CAUGHT_SHOWN_MAX else []
        made.add_row(name, ", ".join([*words[:CAUGHT_SHOWN_MAX], *more]) or "NOTHING")
    tables.show(made)
