"""Runs the steps of a sweep, each on a lab of its shape, and stores each of them."""

import contextlib
import time
from dataclasses import replace
from pathlib import Path

from corda_lab.errors import FinalError, LabError
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.results.files import Measured
from corda_lab.results.folders import read_model
from corda_lab.results.manifest import Environment
from corda_lab.runs import broken, conditioning, execute, preflight, recording
from corda_lab.runs.conditioning import Conditioned
from corda_lab.runs.preflight import PreparedRun
from corda_lab.runs.running import RunningLab, deployed
from corda_lab.steps import validity
from corda_lab.steps.broken import as_broken, why_overloaded
from corda_lab.steps.entry import StepEntry, VerdictEntry
from corda_lab.steps.reasons import Reason, sentences
from corda_lab.steps.rows import ERRORS_SHOWN_MAX, error_words, grouped_errors, unwanted_words
from corda_lab.sweeps import plan, store
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.lab import Lab
from corda_lab.sweeps.search import failings
from corda_lab.sweeps.step import PlannedStep
from corda_lab.text import ui
from corda_lab.text.redaction import redacted
from corda_lab.text.words import listed, milliseconds, plural
from lab_workload.load import Load

LOG_LINES = 2000
"""Last lines of each container that are kept of a failed attempt."""
RERUNS_MAX = 1
"""How often a step that failed runs again at most, on a fresh lab. A sweep with fewer ``retries`` has none."""


class StepFailedError(Exception):
    """A step failed in every attempt."""


def placed(entry: StepEntry, step: PlannedStep, problems: list[Reason]) -> StepEntry:
    """Return the entry of a step with its place in the sweep, and its missed thresholds."""
    return entry.updated(
        index=step.index,
        key=step.key,
        label=step.label,
        point=step.point,
        repeat=step.repeat,
        phase=step.phase,
        thresholds=VerdictEntry(passed=not problems, reasons=problems),
    )


class Runner:
    """Runs steps one after another, and stores each of them."""

    def __init__(self, sweep: SweepFile, kept: store.Unfinished, lab: Lab) -> None:
        self._sweep = sweep
        self._kept = kept
        self._lab = lab
        self._attempts_max = 1 + min(RERUNS_MAX, sweep.fields.retries)
        self._images = kept.image_ids()
        self._conditioned: Conditioned | None = None
        """The load that conditioned the nodes for the step in progress, if there was one."""
        self._is_conditioning = False
        """Whether the load that conditions the nodes for the step in progress has begun and has not succeeded."""
        self.failed: dict[str, str] = {}
        """Why steps failed in their last attempt, by key."""

    def step(self, step: PlannedStep, heading: str) -> Measured:
        """Return a step: the stored one if it is complete, otherwise run it.

        Raises StepFailedError if the step fails in every attempt, and FinalError if all other steps would fail as well.
        """
        if self._kept.has(step):
            return self._kept.read(step)
        ui.console.print()
        ui.console.print(heading, style="bold cyan", markup=False)
        step = self._at_peak(step)
        for attempt in range(1, self._attempts_max + 1):
            began_at = time.time()
            try:
                measured = self._measure_with_reruns(step)
            except FinalError:
                raise
            except LabError as error:
                found = self._broken(step, began_at)
                if found is None:
                    self._keep_failure(step, attempt, error)
                    self._lab.forget()
                    continue
                measured = found
            self._store(step, measured)
            return measured
        raise StepFailedError(step.key)

    def _store(self, step: PlannedStep, measured: Measured) -> None:
        if measured.step.outcome == "broke":
            self._keep_evidence(step, store.BROKE, "reason.txt", f"{measured.step.broke}\n")
        try:
            self._kept.keep(step, measured)
        except OSError as error:
            raise FinalError(problems=folders.unwritable(self._kept.folder, error).problems) from None
        self._kept.drop_attempt(step)
        self.failed.pop(step.key, None)
        if not measured.step.counts.at_rest:
            # The next step would not start on a lab with flows in flight.
            self._lab.forget()
        tell(measured.step)

    def sustains(self, step: PlannedStep, heading: str) -> bool:
        """Return whether the rate of a step is sustained. It is not if the step fails in every attempt.

        Raises StepFailedError if no step has succeeded yet, because then the rate is not what breaks the lab.
        """
        known = self._kept.sustained(step)
        if known is not None:
            return known
        try:
            sustained = self.step(step, heading).step.thresholds.passed
        except StepFailedError:
            if not self._kept.done:
                raise
            self._kept.give_up(step, self.failed.pop(step.key))
            ui.note(f"the step failed {plural(self._attempts_max, 'time')}")
            sustained = False
        ui.note("sustained" if sustained else "not sustained")
        return sustained

    def _at_peak(self, step: PlannedStep) -> PlannedStep:
        """Return a step with its rate, if it is a multiple of the peak of its repeat.

        Raises StepFailedError if a step that shows the peak is missing, or none of them shows a throughput.
        """
        if step.peak_factor is None:
            return step
        sources = step.peaks(self._kept.steps)
        missing = [one.label for one in sources if not self._kept.has(one)]
        entries = [self._kept.entry(one) for one in sources if self._kept.has(one)]
        known = [one.throughput_per_second for one in entries if one.validity.valid and one.outcome == "passed"]
        peak = max(known, default=0.0)
        if missing or not peak:
            why = f"{listed(missing)} not measured yet" if missing else "no valid step shows a throughput"
            self.failed[step.key] = f"the peak of repeat {step.repeat} is not known: {why}"
            ui.warn(f"step {step.key}: {self.failed[step.key]}")
            raise StepFailedError(step.key)
        found = step.at_peak(peak)
        ui.note(f"{step.load['rate']}: {found.load['rate']:g} arrivals per second; the peak is {peak:.2f} flows/s")
        return found

    def _measure_with_reruns(self, step: PlannedStep) -> Measured:
        """Measure a step, and rerun it on a fresh lab if the machine made it invalid. Raises LabError.

        The reasons for the reruns are stored with the step.
        """
        before: list[Reason] = []
        retries = self._sweep.fields.retries
        for attempt in range(retries + 1):
            measured = self.measure(step)
            trouble = measured.step.validity.machine
            if not trouble or attempt == retries:
                break
            before += trouble
            ui.note(f"invalid: {'; '.join(sentences(trouble))}: rerun {attempt + 1} of at most {retries}")
            self._kept.drop_attempt(step)
            # On the same lab, a rerun would have warmer nodes and a longer ledger than the other repeats.
            self._lab.forget()
        return measured.with_step(measured.step.updated(measured_again=before))

    def measure(self, step: PlannedStep) -> Measured:
        """Measure a step on a lab of its shape. Raises LabError."""
        began_at = time.time()
        self._conditioned, self._is_conditioning = None, False
        settings, environment = self._lab.prepare(step)
        self._require_same_images(environment)
        if self._lab.is_new:
            self._conditioned = self._condition(step, settings, environment)
        run = _prepared(self._options(step), step)
        with recording.recorded(self._kept.attempt_folder(step)) as recorded:
            measured = execute.measure(run, settings, recorded, environment, self._conditioned)
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
        if done := self._kept.done:
            slower = validity.slower_than(read_model(done[0] / "step.json", StepEntry), entry)
            entry = entry.updated(flags=[*entry.flags, *slower])
        return measured.with_step(placed(entry, step, failings(entry, self._sweep.fields)))

    def _options(self, step: PlannedStep) -> Load:
        return step.options(f"{self._sweep.name}-{step.index:04d}")

    def _condition(self, step: PlannedStep, settings: Settings, environment: Environment) -> Conditioned | None:
        """Condition the nodes of a new lab for a step; None if nothing conditions them. Raises LabError."""
        wanted = step.conditioning()
        if wanted is None:
            return None
        run = _prepared(wanted.until_steady, step)
        self._is_conditioning = True
        found = conditioning.condition(run, settings, self._kept.attempt_folder(step), environment)
        self._is_conditioning = False
        self._kept.drop_attempt(step)
        return found

    def _require_same_images(self, environment: Environment) -> None:
        for image in environment.images.values():
            before = self._images.setdefault(image.name, image.id)
            if before != image.id:
                repeated = self._kept.plan.rerun
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
            with contextlib.closing(RunningLab.of(settings)) as lab:
                why = broken.why_broken(lab.compose, began_at)
                if why is None:
                    return None
                # The evidence of a load that conditions the nodes is not that of the step, which has not begun.
                folder = None if self._is_conditioning else self._kept.attempt_folder(step)
                why += ", while the nodes were conditioned" if self._is_conditioning else ""
                found = broken.measured(lab, self._options(step), environment, folder, began_at=began_at, reason=why)
        except LabError as error:
            ui.warn(f"whether a node ended cannot be told: {error.message}")
            return None
        if self._conditioned is not None:
            found = found.after(self._conditioned.entry, self._conditioned.workload_text)
        return found.with_step(placed(found.step, step, []))

    def _keep_failure(self, step: PlannedStep, attempt: int, error: LabError) -> None:
        """Store the evidence, the error and the nodes' logs of a failed attempt, before the lab is started again."""
        ui.warn(f"step {step.key}, attempt {attempt} of {self._attempts_max}: {error.message}")
        self.failed[step.key] = error.message
        self._keep_evidence(step, store.FAILED, "error.txt", f"{error.message}\n{error.remedy}\n")

    def _keep_evidence(self, step: PlannedStep, kind: str, name: str, text: str) -> None:
        """Set the evidence of a step aside, with a text and what all containers have printed last, without secrets.

        What the nodes have logged is in ``logs/``.
        """
        folder: Path = self._kept.set_aside(self._kept.attempt_folder(step), kind)
        (folder / name).write_text(text, encoding="utf-8")
        # If the engine does not answer, there are no logs.
        with contextlib.suppress(LabError):
            lab = deployed(plan.settings_of(step.variables, self._lab.settings))
            text = redacted(lab.log_tails(LOG_LINES), lab.settings.secrets())
            (folder / "logs.txt").write_text(text, encoding="utf-8")


def _prepared(options: Load, step: PlannedStep) -> PreparedRun:
    """Prepare the run of a load for a step, which may be one that ends a node. Raises LabError."""
    return replace(preflight.prepare(options), may_break=step.may_break)


def tell(step: StepEntry) -> None:
    """Print the values of a step in one line, then its warnings and most frequent errors."""
    if step.outcome == "broke":
        ui.note(f"broke, which is a result: {step.broke}; {plural(step.requests.ok, 'flow')} succeeded before")
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
