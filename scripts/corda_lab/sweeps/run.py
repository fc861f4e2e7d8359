"""Runs the missing steps of a sweep, each on a lab of its shape, stores each of them, and makes the run."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from corda_lab.errors import FinalError, LabError
from corda_lab.lab import lifecycle
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.results import store as results_store
from corda_lab.results.folders import read_model
from corda_lab.results.manifest import Environment
from corda_lab.results.store import Measured
from corda_lab.results.stored import STEP, StepFile, StoredRun, read_step
from corda_lab.runs import broken, conditioning, execute, preflight, recording
from corda_lab.runs.preflight import PreparedRun
from corda_lab.runs.running import deployed
from corda_lab.steps import validity
from corda_lab.steps.broken import as_broken, why_overloaded
from corda_lab.steps.entry import ConditioningEntry, StepEntry, VerdictEntry
from corda_lab.steps.reasons import Reason, sentences
from corda_lab.steps.rows import ERRORS_SHOWN_MAX, error_words, grouped_errors, unwanted_words
from corda_lab.sweeps import search, store
from corda_lab.sweeps.lab import Lab
from corda_lab.sweeps.plan import PlannedStep, points_of, run_time
from corda_lab.text import ui
from corda_lab.text.durations import format_duration
from corda_lab.text.redaction import redacted
from corda_lab.text.words import listed, milliseconds, plural
from lab_workload.load import Load
from lab_workload.problems import Problem

LOG_LINES = 2000
"""Last lines of each container that are kept of a failed attempt."""
LOGS = "logs.txt"


class StepFailedError(Exception):
    """A step failed in every attempt."""


def run(kept: store.Unfinished, lab: Lab) -> Path:
    """Run the missing steps, make the report, and return the run's folder. Raises LabError if a step has failed."""
    results_store.tidy(kept.folder)
    runner = Runner(kept, lab)
    began_at = time.time()
    if kept.plan.find_max is None:
        runner.run_missing()
    else:
        runner.search_all()
    if runner.failed:
        problems = [Problem(f"step {key}: {why}") for key, why in runner.failed.items()]
        raise LabError(problems=problems, exit_code=1)
    # Prometheus has data of the last lab only: that of earlier labs was deleted with them.
    link = lifecycle.dashboard_link(lab.settings, max(began_at, lab.started_at), time.time())
    folder = finish(kept, grafana=link)
    if link:
        ui.note(f"Grafana, since the last start of the lab: {link}")
    return folder


def finish(kept: store.Unfinished, *, grafana: str | None = None) -> Path:
    """Make a report of all complete steps and finish the run, and return its folder.

    Searches have what they found so far. Raises LabError if no step is complete.
    """
    if not kept.done:
        raise LabError(f"{kept.identity}: no step is complete", "Continue it with `scripts/lab sweep resume`.")
    most = store.attempts_max(kept.sweep)
    points = enumerate(points_of(kept.sweep) if kept.plan.find_max else ())
    outcomes = {
        point.label: search.find_max(kept.sweep, point, number, lambda step: kept.sustained(step, most))
        for number, point in points
    }
    begun = {label: outcome for label, outcome in outcomes.items() if outcome.answers}
    plan = kept.plan.model_copy(update={"outcomes": begun})
    return execute.finish(kept.folder, kept.manifest.model_copy(update={"sweep": plan, "grafana": grafana}))


def problems_of(run: StoredRun) -> list[str]:
    """Return why a finished sweep failed: one sentence for each failed step, or for each search without a result."""
    if run.sweep.find_max:
        # The steps of a search are expected to overload the system, so only its outcome counts.
        return [f"{label}: {outcome.reason}" for label, outcome in run.sweep.outcomes.items() if outcome.rate is None]
    return list(_problems(run))


def _problems(run: StoredRun) -> Iterator[str]:
    for step in run.steps:
        if reasons := [*step.verdict.reasons, *step.thresholds.reasons]:
            yield f"step {step.key}: {'; '.join(sentences(reasons))}"
    if any(limit is not None for _, limit in run.sweep.thresholds):
        valid = {(step.workload, step.label) for step in run.steps if step.validity.valid}
        for point in dict.fromkeys((step.workload, step.label) for step in run.steps):
            if point not in valid:
                yield f"{point[1]}: has no valid step, so its thresholds could not be checked"


def placed(entry: StepEntry, step: PlannedStep, problems: list[Reason]) -> StepEntry:
    """Return the entry of a step with its place in the sweep, and its missed thresholds."""
    return entry.updated(
        index=step.index,
        key=step.key,
        label=step.label,
        point=step.point,
        repeat=step.repeat,
        kind=step.kind,
        thresholds=VerdictEntry(passed=not problems, reasons=problems),
    )


class Runner:
    def __init__(self, kept: store.Unfinished, lab: Lab) -> None:
        self._sweep = kept.sweep
        self.kept = kept
        self._lab = lab
        self._attempts_max = store.attempts_max(kept.sweep)
        self._images = kept.image_ids()
        self._folder = kept.folder
        """The folder of the step in progress. Until its load is about to begin, it does not exist."""
        self._conditioned: ConditioningEntry | None = None
        """The load that conditioned the nodes for the step in progress, if there was one."""
        self._is_conditioning = False
        """Whether the load that conditions the nodes for the step in progress has begun and has not succeeded."""
        self.failed: dict[str, str] = {}
        """Why steps failed in their last attempt, by key."""

    def run_missing(self) -> None:
        """Run all planned steps that are missing. One that fails is left out, and those that follow still run."""
        steps, fresh = self.kept.steps, self._sweep.fields.fresh
        missing = [step for step in steps if self.kept.entry(step) is None]
        done = len(steps) - len(missing)
        if done:
            ui.note(f"{done} of {len(steps)} steps are already complete")
        before: PlannedStep | None = None
        for number, step in enumerate(missing):
            left = run_time(missing[number:], self._lab.settings, fresh=fresh, before=before).seconds_max
            about = format_duration(max(60, round(left / 60) * 60))
            place = f"Step {done + number + 1} of {len(steps)}"
            before = step
            try:
                self.step(step, f"{place}: {step.label}, repeat {step.repeat} – about {about} left")
            except StepFailedError:
                ui.warn(f"step {step.key} is skipped for now; `scripts/lab sweep resume` tries it again")

    def search_all(self) -> None:
        """Search every point, until one cannot continue."""
        for number, point in enumerate(points_of(self._sweep)):
            outcome = search.find_max(self._sweep, point, number, self.sustains)
            if self.failed:
                return
            ui.note(f"{point.label}: {outcome.reason}")

    def sustains(self, step: PlannedStep) -> bool | None:
        """Return whether the rate of a step is sustained. It is not if the step fails in every attempt.

        None if no step has succeeded yet, because then the rate is not what breaks the lab.
        """
        if (known := self.kept.sustained(step, self._attempts_max)) is not None:
            return known
        try:
            sustained = self.step(step, f"{step.label}: {step.kind} {step.load.rate:g}/s").thresholds.passed
        except StepFailedError:
            if not self.kept.done:
                return None
            self.failed.pop(step.key)
            ui.note(f"the step failed {plural(self._attempts_max, 'time')}")
            sustained = False
        ui.note("sustained" if sustained else "not sustained")
        return sustained

    def step(self, step: PlannedStep, heading: str) -> StepEntry:
        """Return a step: the stored one if it is complete, otherwise run it.

        It is rerun on a fresh lab if it fails, or if the machine made it invalid; the reasons of the machine are stored
        with it. Raises StepFailedError if it fails in every attempt, and FinalError if all other steps would fail too.
        """
        if (entry := self.kept.entry(step)) is not None:
            return entry
        ui.console.print()
        ui.console.print(heading, style="bold cyan", markup=False)
        step = self._at_peak(step)
        attempt, reruns, retries = 1, 0, self._sweep.fields.retries
        all_causes: list[Reason] = []
        while True:
            began_at = time.time()
            self._folder = self.kept.new_step(step)
            try:
                measured = self.measure(step)
            except FinalError:
                raise
            except LabError as error:
                broke = self._broken(step, began_at)
                if broke is None:
                    self._keep_failure(step, attempt, error)
                    self._lab.forget()
                    if attempt == self._attempts_max:
                        raise StepFailedError(step.key) from None
                    attempt += 1
                    continue
                measured = broke
            causes = measured.step.validity.machine
            if not causes or reruns == retries:
                break
            all_causes, reruns = [*all_causes, *causes], reruns + 1
            ui.note(f"invalid: {'; '.join(sentences(causes))}: rerun {reruns} of at most {retries}")
            if self._folder.exists():
                folders.remove(self._folder)
            # On the same lab, a rerun would have warmer nodes and a longer ledger than the other repeats.
            self._lab.forget()
        measured = measured.with_step(measured.step.updated(measured_again=all_causes))
        self._store(step, measured)
        return measured.step

    def _store(self, step: PlannedStep, measured: Measured) -> None:
        try:
            recording.keep(self._folder, measured)
        except LabError as error:
            raise FinalError(problems=error.problems) from None
        if measured.step.state == "broke":
            self._keep_container_logs(step)
        self.failed.pop(step.key, None)
        if not measured.step.counts.at_rest:
            # The next step would not start on a lab with flows in flight.
            self._lab.forget()
        tell(measured.step)

    def _at_peak(self, step: PlannedStep) -> PlannedStep:
        """Return a step with its rate, if it is a multiple of the peak of its repeat.

        Raises StepFailedError if a step that shows the peak is missing, or none of them shows a throughput.
        """
        if step.peak_factor is None:
            return step
        sources = step.peaks(self.kept.steps)
        entries = {source.label: self.kept.entry(source) for source in sources}
        missing = [label for label, entry in entries.items() if entry is None]
        passed = [entry for entry in entries.values() if entry and entry.validity.valid and entry.state == "done"]
        peak = max((entry.throughput_per_second for entry in passed), default=0.0)
        if missing or not peak:
            why = f"{listed(missing)} not measured yet" if missing else "no valid step shows a throughput"
            self.failed[step.key] = f"the peak of repeat {step.repeat} is not known: {why}"
            ui.warn(f"step {step.key}: {self.failed[step.key]}")
            raise StepFailedError(step.key)
        rated = step.at_peak(peak)
        ui.note(f"{step.peak_factor:g} x peak: {rated.load.rate:g} arrivals/s; the peak is {peak:.2f} flows/s")
        return rated

    def measure(self, step: PlannedStep) -> Measured:
        """Measure a step on a lab of its shape. Raises LabError."""
        began_at = time.time()
        self._conditioned, self._is_conditioning = None, False
        settings, environment = self._lab.prepare(step)
        self._require_same_images(environment)
        if self._lab.is_new:
            self._conditioned = self._condition(step, settings, environment)
        prepared = _prepared(step.load, step)
        with recording.recorded(self._folder, self._begun(step)) as recorded:
            measured = execute.measure(prepared, settings, recorded, environment, self._conditioned)
        # The image of the load generator is only known now.
        self._require_same_images(measured.environment)
        entry = measured.step
        # A node that ended leaves counts that differ, which alone does not say why.
        may_have_ended = step.may_break or not entry.validity.valid
        why = broken.why_broken(deployed(settings), began_at) if may_have_ended else None
        if why is not None and not step.may_break:
            raise LabError(why, "Give the nodes more in shape.heap or shape.memory, or say may_break: true.")
        if step.may_break and (why := why or why_overloaded(entry)) is not None:
            return measured.with_step(placed(as_broken(entry, why), step, []))
        if done := self.kept.done:
            slower = validity.slower_than(read_model(done[0] / STEP, StepEntry), entry)
            entry = entry.updated(flags=[*entry.flags, *slower])
        return measured.with_step(placed(entry, step, search.failings(entry, self._sweep.fields)))

    def _condition(self, step: PlannedStep, settings: Settings, environment: Environment) -> ConditioningEntry | None:
        """Condition the nodes of a new lab for a step; None if nothing conditions them. Raises LabError."""
        if step.condition is None:
            return None
        prepared = _prepared(step.condition.until_steady, step)
        self._is_conditioning = True
        folder = results_store.new_step(self.kept.folder, step.index, recording.CONDITION)
        conditioned = conditioning.condition(prepared, settings, folder, environment, step.index)
        self._is_conditioning = False
        return conditioned

    def _require_same_images(self, environment: Environment) -> None:
        for image in environment.images.values():
            before = self._images.setdefault(image.name, image.id)
            if before != image.id:
                repeated = self.kept.manifest.rerun
                raise FinalError(
                    f"The image {image.name} has changed since "
                    + (repeated.run if repeated else "earlier steps of this sweep"),
                    "All steps must run on the same build. Check `git status`, and start a new sweep.",
                )

    def _broken(self, step: PlannedStep, began_at: float) -> Measured | None:
        """Return a step that failed because it ended a node, if that is a result; otherwise None."""
        if not step.may_break:
            return None
        try:
            settings, environment = self._lab.environment_of(step)
            with contextlib.closing(deployed(settings)) as lab:
                why = broken.why_broken(lab, began_at)
                if why is None:
                    return None
                # The rows of a load that conditions the nodes are not those of the step, which has not begun.
                folder = None if self._is_conditioning else self._folder
                why += ", while the nodes were conditioned" if self._is_conditioning else ""
                broke = broken.measured(lab, step.load, environment, folder, began_at=began_at, reason=why)
        except LabError as error:
            ui.warn(f"whether a node ended cannot be told: {error.message}")
            return None
        if self._conditioned is not None:
            broke = broke.after(self._conditioned)
        return broke.with_step(placed(broke.step, step, []))

    def _keep_failure(self, step: PlannedStep, attempt: int, error: LabError) -> None:
        """Store the error and the logs of a failed attempt, before the lab is started again."""
        ui.warn(f"step {step.key}, attempt {attempt} of {self._attempts_max}: {error.message}")
        self.failed[step.key] = error.message
        try:
            failed = self._begun(step) if not self._folder.exists() else read_step(self._folder)
            outcome: dict[str, object] = {"state": "failed", "why": f"{error.message}\n{error.remedy}".strip()}
            if results_store.rows_files(self._folder):
                outcome["rows"] = results_store.count_rows(self._folder)
            results_store.end_step(self._folder, failed.model_copy(update=outcome))
            self._keep_container_logs(step)
        except OSError as problem:
            raise FinalError(problems=folders.unwritable(self.kept.folder, problem).problems) from None

    def _begun(self, step: PlannedStep) -> StepFile:
        return StepFile(index=step.index, key=step.key, label=step.label, repeat=step.repeat, kind=step.kind)

    def _keep_container_logs(self, step: PlannedStep) -> None:
        """Store what all containers have printed last, without secrets. What the nodes have logged is in ``logs/``."""
        # If the engine does not answer, there are no logs.
        with contextlib.suppress(LabError):
            lab = deployed(step.settings(self._lab.settings))
            text = redacted(lab.log_tails(LOG_LINES), lab.settings.secrets())
            (self._folder / LOGS).write_text(text, encoding="utf-8")


def _prepared(options: Load, step: PlannedStep) -> PreparedRun:
    """Prepare the run of a load for a step, which may be one that ends a node. Raises LabError."""
    return replace(preflight.prepare(options), may_break=step.may_break)


def tell(step: StepEntry) -> None:
    """Print the values of a step in one line, then its warnings and most frequent errors."""
    if step.state == "broke":
        ui.note(f"broke, which is a result: {step.why}; {plural(step.requests.ok, 'flow')} succeeded before")
        return
    ui.note(
        f"{step.throughput_per_second:.2f} flows/s, p95 {milliseconds(step.judged_latency.p95)}, "
        f"{unwanted_words(step.requests.failed, step.requests.unknown)}; "
        f"warm-up {step.warm_up.cut_seconds:.0f} s, measured {step.window.seconds:.0f} s"
    )
    for reason in step.validity.reasons:
        ui.note(f"invalid: {reason}")
    for reason in (*step.verdict.reasons, *step.thresholds.reasons):
        ui.note(f"failed: {reason}")
    for flag in step.flags:
        ui.warn(str(flag))
    for kind in grouped_errors([*step.failures, *step.unknown_outcomes])[:ERRORS_SHOWN_MAX]:
        ui.note(f"  {error_words(kind)}")
