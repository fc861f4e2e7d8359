"""Runs the steps of a sweep, one after the other."""

import contextlib
import time
from dataclasses import dataclass, field

from corda_lab.errors import FinalError, LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.results.files import Measured
from corda_lab.results.manifest import Environment
from corda_lab.runs import execute as run
from corda_lab.steps.entry import StepEntry, VerdictEntry
from corda_lab.steps.failures import SHOWN_MAX, error_words, grouped_errors
from corda_lab.steps.reasons import Reason, sentences
from corda_lab.sweeps import judge, plan, store
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.lab import Lab
from corda_lab.sweeps.plan import PlannedStep
from corda_lab.text import ui
from corda_lab.text.durations import format_duration

ATTEMPTS_MAX = 2
"""How often a step is tried: a stuck or broken one gets a fresh lab and one more chance."""


class StepFailedError(Exception):
    """A step that could not be measured, however often it was tried."""


@dataclass
class SweepProgress:
    """How far a sweep is, and how long the rest will take."""

    total: int
    done: int
    seconds_left: float
    _started: float = field(default_factory=time.monotonic)

    def heading(self, step: PlannedStep) -> str:
        """The line above a step."""
        left = format_duration(max(60, round(self.seconds_left / 60) * 60)) if self.seconds_left else "?"
        return f"Step {self.done + 1} of {self.total}: {step.label}, repeat {step.repeat} – about {left} to go"


def placed(entry: StepEntry, step: PlannedStep, problems: list[Reason]) -> StepEntry:
    """The entry of a step with its place in the sweep, and what it misses of what the sweep asks for."""
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
    """Runs steps one after the other and keeps them."""

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
        options = step.options(f"{self._sweep.name}-{step.index:04d}")
        measured = run.measure(options, settings, environment)
        problems = judge.failings(measured.step, self._sweep.fields)
        return measured.with_step(placed(measured.step, step, problems))

    def _require_same_images(self, environment: Environment) -> None:
        for image in environment.images.values():
            before = self._images.setdefault(image.name, image.id)
            if before != image.id:
                raise FinalError(
                    f"The image {image.name} is not the one that earlier steps of this sweep ran on",
                    "A sweep has to be measured on one build: begin it anew, and look at `git status`.",
                )

    def step(self, step: PlannedStep, heading: str) -> Measured:
        """A complete step: the one that is kept, or a new one.

        Raises StepFailedError for one that broke on every try, and FinalError for what would break all others too.
        """
        if self._kept.has(step):
            return self._kept.read(step)
        ui.console.print()
        ui.console.print(heading, style="bold cyan", markup=False)
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                measured = self._unspoilt(step)
            except FinalError:
                raise
            except LabError as error:
                self._keep_failure(step, attempt, error)
                self._lab.forget()
                continue
            self._kept.keep(step, measured)
            self.failed.pop(step.key, None)
            if not measured.step.counts.at_rest:
                # The next step would be refused on a lab whose flows are still under way.
                self._lab.forget()
            self.tell(measured)
            return measured
        raise StepFailedError(step.key)

    def _unspoilt(self, step: PlannedStep) -> Measured:
        """A step as it was measured, anew where the machine spoilt it; what spoilt it before is kept with it. Raises LabError."""
        before: list[Reason] = []
        retries = self._sweep.fields.retries
        for attempt in range(retries + 1):
            measured = self.measure(step)
            trouble = measured.step.validity.machine
            if not trouble or attempt == retries:
                break
            before += trouble
            ui.warn(f"invalid: {'; '.join(sentences(trouble))}: rerun {attempt + 1} of at most {retries}")
            # Another load on the same lab would meet warmer nodes and a longer ledger than its repeats did.
            self._lab.forget()
        return measured.with_step(measured.step.updated(measured_again=before))

    def answer(self, step: PlannedStep, heading: str) -> bool:
        """Whether the rate of a step is sustained: a rate that breaks the lab on every try is not.

        Raises StepFailedError when no step at all could be measured yet: then it is not the rate that breaks the lab.
        """
        if self._kept.has_broken(step):
            return False
        try:
            measured = self.step(step, heading)
        except StepFailedError:
            if not self._kept.done:
                raise
            self._kept.note_broken(step, self.failed[step.key])
            ui.note(f"not sustained: it broke the lab {ATTEMPTS_MAX} times")
            return False
        ui.note("sustained" if is_sustained(measured) else "not sustained")
        return is_sustained(measured)

    def _keep_failure(self, step: PlannedStep, attempt: int, error: LabError) -> None:
        """Keep the nodes' logs of a step that broke, before the lab is started anew."""
        ui.warn(f"step {step.key}, attempt {attempt} of {ATTEMPTS_MAX}: {error.message}")
        self.failed[step.key] = error.message
        folder = self._kept.folder / store.FAILED / f"{step.index:04d}-{step.key}-{attempt}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "error.txt").write_text(f"{error.message}\n{error.remedy}\n", encoding="utf-8")
        # An engine that gives no answer gives no logs either.
        with contextlib.suppress(LabError):
            compose = Compose(plan.settings_of(step.variables, self._lab_settings))
            logs = compose.run("logs", "--no-color", "--tail", "2000", check=False)
            (folder / "logs.txt").write_text(logs.stdout + logs.stderr, encoding="utf-8")

    @property
    def _lab_settings(self) -> Settings:
        return self._lab._settings

    def tell(self, measured: Measured) -> None:
        """One line of what a step showed."""
        step = measured.step
        latency = step.latency_intended_ms if step.open_load else step.latency_ms
        p95 = "–" if latency.p95 is None else f"{latency.p95:,.0f} ms"
        reached = step.precision.reached
        within = "" if reached is None else f" ± {100 * reached:.1f} %"
        window = step.window
        ui.note(
            f"{step.throughput_per_second:.2f} flows/s{within}, p95 {p95}, {step.requests.errors} errors; "
            f"warm-up {step.warm_up.cut_seconds:.0f} s, measured {window.seconds:.0f} s"
        )
        for reason in step.validity.reasons:
            ui.warn(f"not valid: {reason}")
        for reason in (*step.verdict.reasons, *step.thresholds.reasons):
            ui.warn(f"failed: {reason}")
        for kind in grouped_errors(step.errors)[:SHOWN_MAX]:
            ui.note(f"  {error_words(kind)}")


def is_sustained(measured: Measured) -> bool:
    """Whether a step of a search showed that its rate is sustained."""
    return bool(measured.step.thresholds.passed)
