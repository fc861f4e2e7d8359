"""Measures stub nodes whose truth is known, with the whole pipeline, and compares every value."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from corda_lab.lab.environment import read_environment
from corda_lab.lab.lab import Lab
from corda_lab.results import store
from corda_lab.results.stored import RUN_STEP
from corda_lab.runs import preflight, recording
from corda_lab.runs.execute import Observation, finish, observe
from corda_lab.steps.build import build_step
from corda_lab.steps.entry import StepEntry
from lab_workload.load import Load
from pipeline import truth
from pipeline.broken import BREAKAGES
from pipeline.cases import DURATION_SECONDS, LATE_MAX_SECONDS, RATE, WARM_UP_SECONDS, Case
from pipeline.checks import TIMER_ERROR_MS_MAX, Check, checks_of
from pipeline.stub_lab import FOLDER, StubLab
from pipeline.truth import TrueFlow, Truth

WORKLOAD = "iou"
RESULTS = FOLDER / "results"
"""The runs of the last tests, with their reports. They are not among those of the user."""

ATTEMPTS_MAX = 3
"""How often a case is measured whose truth was uncertain."""


@dataclass(frozen=True)
class CaseResult:
    """One measured case, with its truth and its checks."""

    case: Case
    truth: Truth
    observation: Observation
    checks: Sequence[Check]


def options_of(case: Case) -> Load:
    """The load of a case."""
    return Load(
        workload=WORKLOAD,
        users=case.pool,
        duration_seconds=DURATION_SECONDS,
        warm_up_seconds=WARM_UP_SECONDS,
        arrivals="constant",
        rate=RATE,
        late_max_seconds=LATE_MAX_SECONDS,
        name=f"pipeline-{case.name}",
    )


def truth_of(case: Case, flows: Sequence[TrueFlow], seen: Observation) -> Truth:
    """The truth of a case, from the log of the stub nodes and the times at which the load began and ended."""
    end = seen.seen.end
    window = (end.started_at + WARM_UP_SECONDS, end.stop_at)
    began = end.spawned_at or end.started_at
    if case.serves_at_once:
        return truth.of_open_load(case, flows, window)
    return truth.of_full_pool(case, flows, began, window)


def remove_results() -> None:
    """Remove the runs of earlier tests."""
    shutil.rmtree(RESULTS, ignore_errors=True)


def measure_load(lab: StubLab, options: Load) -> tuple[Observation, StepEntry]:
    """Measure a load on the stub nodes that run now, and store it as a run. Raises LabError."""
    with closing(lab.compose):
        return _measure_load(lab.compose, options)


def _measure_load(lab: Lab, options: Load) -> tuple[Observation, StepEntry]:
    run = preflight.prepare(options)
    planned = preflight.plan_on(lab.bridge.nodes(), run, lab.settings, lab, lab.bridge)
    environment = read_environment(lab)
    manifest = store.manifest(run.identity, load=run.options)
    with recording.begun(manifest, results=RESULTS) as folder:
        place = store.new_step(folder, RUN_STEP.index, RUN_STEP.key)
        with recording.recorded(place) as record:
            record.begin(lab, planned, environment)
            seen = observe(lab, planned, environment, record)
            measured = seen.measured()
            recording.keep(place, measured)
        finish(folder, manifest)
    return seen, measured.step


def measure(lab: StubLab, case: Case) -> CaseResult:
    """Measure one case on the stub nodes. Raises LabError."""
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
        print(f"{case.name}: the stub nodes' own timers were late by {late:.0f} ms at p99.9: measured again")
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
