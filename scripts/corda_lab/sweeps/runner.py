"""Runs the steps of a sweep, one after another."""

import contextlib
import time
from dataclasses import dataclass, field

from corda_lab.errors import FinalError, LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.results.files import Measured
from corda_lab.results.folders import read_model
from corda_lab.results.manifest import Environment
from corda_lab.runs import conditioning, execute, preflight, recording
from corda_lab.runs.conditioning import Conditioned
from corda_lab.steps import validity
from corda_lab.steps.entry import StepEntry, VerdictEntry
from corda_lab.steps.failures import SHOWN_MAX, error_words, grouped_errors, unwanted_words
from corda_lab.steps.reasons import Reason, sentences
from corda_lab.sweeps import judge, plan, store
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.lab import Lab
from corda_lab.sweeps.plan import PlannedStep
from corda_lab.text import ui
from corda_lab.text.durations import format_duration
from corda_lab.text.words import milliseconds

ATTEMPTS_MAX = 2
"""Attempts per step. After a failure, the step runs once more, on a fresh lab."""


class StepFailedError(Exception):
    """A step failed in every attempt."""


@dataclass
class SweepProgress:
    """The progress of a sweep: steps in all, steps done, and the estimated seconds left."""

    total: int
    done: int
    seconds_left: float
    _started: float = field(default_factory=time.monotonic)

    def heading(self, step: PlannedStep) -> str:
        """Return the line that is printed above a step."""
        left = format_duration(max(60, round(self.seconds_left / 60) * 60)) if self.seconds_left else "?"
        return f"Step {self.done + 1} of {self.total}: {step.label}, repeat {step.repeat} – about {left} left"


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
        self._images = kept.image_ids()
        self.failed: dict[str, str] = {}

    def measure(self, step: PlannedStep) -> Measured:
        """Measure a step on a lab of its shape. Raises LabError."""
        settings, environment = self._lab.prepare(step)
        self._require_same_images(environment)
        conditioned = self._condition(step, settings, environment) if self._lab.is_new else None
        run = preflight.prepare(step.options(f"{self._sweep.name}-{step.index:04d}"))
        with recording.recorded(self._kept.attempt_folder(step)) as recorded:
            measured = execute.measure(run, settings, recorded, environment, conditioned)
        # The image of the load generator is only known now.
        self._require_same_images(measured.environment)
        problems = judge.failings(measured.step, self._sweep.fields)
        found = placed(measured.step, step, problems)
        return measured.with_step(found.updated(flags=[*found.flags, *self._slower_than_first(found)]))

    def _condition(self, step: PlannedStep, settings: Settings, environment: Environment) -> Conditioned | None:
        """Condition the nodes of a new lab for a step; None if nothing conditions them. Raises LabError."""
        wanted = step.conditioning()
        if wanted is None:
            return None
        run = preflight.prepare(wanted.until_steady)
        found = conditioning.condition(run, settings, self._kept.attempt_folder(step), environment)
        self._kept.drop_attempt(step)
        return found

    def _slower_than_first(self, step: StepEntry) -> list[Reason]:
        done = self._kept.done
        return validity.slower_than(read_model(done[0] / "step.json", StepEntry), step) if done else []

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

    def step(self, step: PlannedStep, heading: str) -> Measured:
        """Return a step: the stored one if it is complete, otherwise run it.

        Raises StepFailedError if the step fails in every attempt, and FinalError if all other steps would fail as well.
        """
        if self._kept.has(step):
            return self._kept.read(step)
        ui.console.print()
        ui.console.print(heading, style="bold cyan", markup=False)
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                measured = self._measure_with_reruns(step)
            except FinalError:
                raise
            except LabError as error:
                self._keep_failure(step, attempt, error)
                self._lab.forget()
                continue
            try:
                self._kept.keep(step, measured)
            except OSError as error:
                raise FinalError(problems=folders.unwritable(self._kept.folder, error).problems) from None
            self._kept.drop_attempt(step)
            self.failed.pop(step.key, None)
            if not measured.step.counts.at_rest:
                # The next step would not start on a lab with flows in flight.
                self._lab.forget()
            self.tell(measured)
            return measured
        raise StepFailedError(step.key)

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

    def answer(self, step: PlannedStep, heading: str) -> bool:
        """Return whether the rate of a step is sustained. It is not if the step fails in every attempt.

        Raises StepFailedError if no step has succeeded yet, because then the rate is not what breaks the lab.
        """
        if self._kept.has_broken(step):
            return False
        try:
            measured = self.step(step, heading)
        except StepFailedError:
            if not self._kept.done:
                raise
            self._kept.note_broken(step, self.failed[step.key])
            ui.note(f"not sustained: the step failed {ATTEMPTS_MAX} times")
            return False
        ui.note("sustained" if is_sustained(measured) else "not sustained")
        return is_sustained(measured)

    def _keep_failure(self, step: PlannedStep, attempt: int, error: LabError) -> None:
        """Store the evidence, the error and the nodes' logs of a failed attempt, before the lab is started again."""
        ui.warn(f"step {step.key}, attempt {attempt} of {ATTEMPTS_MAX}: {error.message}")
        self.failed[step.key] = error.message
        folder = self._kept.set_aside(step)
        (folder / "error.txt").write_text(f"{error.message}\n{error.remedy}\n", encoding="utf-8")
        # If the engine does not answer, there are no logs.
        with contextlib.suppress(LabError):
            compose = Compose(plan.settings_of(step.variables, self._lab.settings))
            logs = compose.run("logs", "--no-color", "--tail", "2000", check=False)
            (folder / "logs.txt").write_text(logs.stdout + logs.stderr, encoding="utf-8")

    def tell(self, measured: Measured) -> None:
        """Print the values of a step in one line, then its warnings and most frequent errors."""
        step = measured.step
        reached = step.precision.reached
        within = "" if reached is None else f" ± {100 * reached:.1f} %"
        window = step.window
        ui.note(
            f"{step.throughput_per_second:.2f} flows/s{within}, p95 {milliseconds(step.judged_latency.p95)}, "
            f"{unwanted_words(step.requests.failed, step.requests.unknown)}; "
            f"warm-up {step.warm_up.cut_seconds:.0f} s, measured {window.seconds:.0f} s"
        )
        for reason in step.validity.reasons:
            ui.note(f"invalid: {reason}")
        for reason in (*step.verdict.reasons, *step.thresholds.reasons):
            ui.note(f"failed: {reason}")
        for flag in step.flags:
            ui.warn(str(flag))
        for kind in grouped_errors([*step.failures, *step.unknown_outcomes])[:SHOWN_MAX]:
            ui.note(f"  {error_words(kind)}")


def is_sustained(measured: Measured) -> bool:
    """Return whether a step of a search sustained its rate."""
    return bool(measured.step.thresholds.passed)
