"""``lab sweep``: runs the steps of a sweep, each kept as it ends, on a lab of the shape that it needs."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corda_lab.errors import BAD_INPUT, FinalError, LabError
from corda_lab.lab import addresses, lifecycle, ownership, shape
from corda_lab.lab import environment as manifest
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.paths import ROOT
from corda_lab.results import folders
from corda_lab.results.files import Measured
from corda_lab.runs import execute as run
from corda_lab.sweeps import judge, plan, store
from corda_lab.sweeps.plan import Point, Step
from corda_lab.sweeps.schema import Fresh, StepFields, SweepFields, SweepFile
from corda_lab.sweeps.search import Search
from corda_lab.text import ui
from corda_lab.text.durations import format_duration

ATTEMPTS_MAX = 2
"""How often a step is tried: a stuck or broken one gets a fresh lab and one more chance."""


Answer = Callable[[Step, str], bool | None]
"""Whether the rate of a step, which has a heading, is sustained; None ends the search where it is."""


class StepFailedError(Exception):
    """A step that could not be measured, however often it was tried."""


@dataclass
class Progress:
    """How far a sweep is, and how long the rest will take."""

    total: int
    done: int
    seconds_left: float
    _started: float = field(default_factory=time.monotonic)

    def heading(self, step: Step) -> str:
        """The line above a step."""
        left = format_duration(max(60, round(self.seconds_left / 60) * 60)) if self.seconds_left else "?"
        return f"Step {self.done + 1} of {self.total}: {step.label}, repeat {step.repeat} – about {left} to go"


class Lab:
    """The lab that steps run on: started anew, with an empty ledger, as often as the sweep asks for."""

    def __init__(self, settings: Settings, images: lifecycle.ImageChoice | None, *, fresh: Fresh) -> None:
        self._settings = settings
        self._images = images
        self._fresh = fresh
        self._key: tuple[object, ...] | None = None
        self._environment: dict[str, Any] = {}
        self.starts = 0
        self.started_at = 0.0
        """When the lab that runs now was started, unix seconds: its Prometheus knows nothing from before."""

    def require_replaceable(self) -> None:
        """Raises LabError when there is a lab that no sweep started: its ledger would be lost."""
        lifecycle.prepare_engine()
        if not ownership.is_replaceable(self._settings.project):
            raise LabError(
                "There is a lab already, or its volumes, and a sweep starts from an empty ledger",
                "Forget it with `scripts/lab down --volumes`, or let the sweep do that: --replace",
            )

    def forget(self) -> None:
        """Have the next step start the lab anew."""
        self._key = None

    def prepare(self, step: Step) -> tuple[Settings, dict[str, Any]]:
        """The settings and the environment of a running lab that has the shape of a step."""
        wanted = plan.settings_of(step.variables, self._settings)
        key = step.lab_key(self._fresh)
        if self._key != key:
            self._key = None
            self._start(wanted)
            self.starts += 1
            self.started_at = time.time()
            self._environment = manifest.environment(shape.of_running(wanted))
            self._key = key
        return wanted, self._environment

    def _start(self, wanted: Settings) -> None:
        """Start a lab in the place of whatever is there."""
        try:
            if ownership.present(wanted.project) is not None:
                lifecycle.down(wanted, volumes=True, mark=ownership.STARTING)
            lifecycle.up(wanted, self._images, mark=ownership.STARTING)
        except LabError as error:
            if self.starts == 0 and error.exit_code == BAD_INPUT:
                # No step has done anything to this machine yet, so another try finds it as it is.
                raise FinalError(error.message, error.remedy) from None
            raise
        finally:
            # However the start ended, what is there now is the sweep's, and nothing that comes later.
            with contextlib.suppress(LabError):
                ownership.mark(wanted.project, ownership.present(wanted.project))


def place_of(step: Step, problems: list[str]) -> dict[str, Any]:
    """The fields of an entry of ``steps.json`` that say where in the sweep it stands, and what it fails of what that asks for."""
    return {
        "index": step.index,
        "key": step.key,
        "label": step.label,
        "point": step.point,
        "repeat": step.repeat,
        "phase": step.phase,
        "thresholds": {"passed": not problems, "reasons": problems},
    }


class Runner:
    """Runs steps one after the other and keeps them."""

    def __init__(self, sweep: SweepFile, kept: store.Unfinished, lab: Lab) -> None:
        self._sweep = sweep
        self._kept = kept
        self._lab = lab
        self._images = kept.image_ids()
        self.failed: dict[str, str] = {}

    def measure(self, step: Step) -> Measured:
        """Measure a step on a lab of its shape. Raises LabError."""
        settings, environment = self._lab.prepare(step)
        self._require_same_images(environment)
        options = step.options(f"{self._sweep.name}-{step.index:04d}")
        measured = run.measure(options, settings, environment)
        measured.step.update(place_of(step, judge.failings(measured.step, self._sweep.fields)))
        return measured

    def _require_same_images(self, environment: dict[str, Any]) -> None:
        for image in environment["images"].values():
            before = self._images.setdefault(image["name"], image["id"])
            if before != image["id"]:
                raise FinalError(
                    f"The image {image['name']} is not the one that earlier steps of this sweep ran on",
                    "A sweep has to be measured on one build: begin it anew, and look at `git status`.",
                )

    def step(self, step: Step, heading: str) -> Measured:
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
            if not measured.step["counts"]["at_rest"]:
                # The next step would be refused on a lab whose flows are still under way.
                self._lab.forget()
            self.tell(measured)
            return measured
        raise StepFailedError(step.key)

    def _unspoilt(self, step: Step) -> Measured:
        """A step as it was measured, anew where the machine spoilt it; what spoilt it before is kept with it. Raises LabError."""
        before: list[str] = []
        while True:
            measured = self.measure(step)
            trouble = measured.step["validity"]["machine"]
            if not trouble or len(before) == self._sweep.fields.retries:
                measured.step["measured_again"] = before
                return measured
            before.append("; ".join(trouble))
            ui.warn(
                f"not valid: {before[-1]}: measured again ({len(before)} of at most {self._sweep.fields.retries} times)"
            )
            # Another load on the same lab would meet warmer nodes and a longer ledger than its repeats did.
            self._lab.forget()

    def answer(self, step: Step, heading: str) -> bool:
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

    def _keep_failure(self, step: Step, attempt: int, error: LabError) -> None:
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
        latency = step["latency_intended_ms"] if step["open_load"] else step["latency_ms"]
        p95 = "–" if latency["p95"] is None else f"{latency['p95']:,.0f} ms"
        reached = step["precision"]["reached"]
        within = "" if reached is None else f" ± {100 * reached:.1f} %"
        window = step["window"]
        ui.note(
            f"{step['throughput_per_second']:.2f} flows/s{within}, p95 {p95}, {step['requests']['errors']} errors; "
            f"warm-up {step['warm_up']['cut_seconds']:.0f} s, measured {window['seconds']:.0f} s"
        )
        for reason in step["validity"]["reasons"]:
            ui.warn(f"not valid: {reason}")
        for reason in (*step["verdict"]["reasons"], *step["thresholds"]["reasons"]):
            ui.warn(f"failed: {reason}")


@dataclass(frozen=True)
class Outcome:
    """How a sweep ended: its run, or None while steps are missing, and why it has failed, a sentence each."""

    folder: Path | None
    problems: list[str]


def sweep_manifest(sweep: SweepFile, search: dict[str, Any] | None) -> dict[str, Any]:
    """The entry ``sweep`` of ``run.json``."""
    fields = sweep.fields
    stored = fields.model_dump(mode="json", exclude_none=True)
    x = fields.x or next((key for key, values in fields.vary.items() if _is_numeric(values)), None)
    return {
        "file": _shown(sweep.source.path),
        "text": sweep.text,
        "name": sweep.name,
        "quick": sweep.is_quick,
        "description": fields.description,
        "confidence": fields.confidence,
        "x": x,
        "vary": dict(fields.vary) | ({"step": [step.name for step in fields.steps]} if fields.steps else {}),
        "repeats": fields.repeats,
        "order": fields.order,
        "seed": fields.seed,
        "fresh": fields.fresh,
        **_spans(fields),
        "own_spans": {step.name: spans for step in fields.steps or () if (spans := _spans(step))},
        "thresholds": stored["thresholds"],
        "find_max": None if fields.find_max is None else {**stored["find_max"], "outcomes": search or {}},
    }


def _spans(fields: SweepFields | StepFields) -> dict[str, Any]:
    """The warm-up and the measuring of a sweep, or what a named step has of its own."""
    found: dict[str, Any] = {}
    if fields.warm_up:
        found["warm_up"] = {"seconds_min": fields.warm_up.min, "seconds_max": fields.warm_up.max}
    if fields.measure:
        span = fields.measure
        found["measure"] = {"seconds_min": span.min, "seconds_max": span.max, "precision": span.precision}
    return found


def _is_numeric(values: list[Any]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def _shown(path: Path) -> str:
    """A path as it is typed at the top of the checkout."""
    resolved = path.resolve()
    return str(resolved.relative_to(ROOT)) if resolved.is_relative_to(ROOT) else path.name


def begin(sweep: SweepFile, settings: Settings) -> store.Unfinished:
    """Plan a sweep and keep the plan."""
    steps = plan.plan_steps(sweep, settings) if sweep.fields.find_max is None else []
    points = plan.points_of(sweep)
    plan.check_points(sweep, points, settings)
    return store.create(
        folders.run_id(sweep.run_name),
        sweep.text,
        {
            "schema": folders.SCHEMA,
            "file": str(sweep.source.path.resolve()),
            "command": manifest.command_line(),
            "fingerprint": store.fingerprint(sweep.text, [point.workload for point in points], settings),
            "quick": sweep.is_quick,
            "steps": [step.as_dict() for step in steps],
        },
    )


def _text_today(sweep: SweepFile) -> str:
    """What the sweep's file says now; one that is gone says what it said."""
    path = sweep.source.path
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else sweep.text


def require_unchanged(kept: store.Unfinished, sweep: SweepFile, settings: Settings) -> None:
    """Raises LabError when what the steps depend on has changed since the sweep began."""
    workloads = [point.workload for point in plan.points_of(sweep)]
    changes = kept.changes(store.fingerprint(_text_today(sweep), workloads, settings))
    if changes:
        raise LabError(
            f"{kept.identity} cannot be resumed: changed since it began: {', '.join(changes)}",
            "Undo that, make a report of what there is with --finish, or begin anew.",
        )


def execute(sweep: SweepFile, kept: store.Unfinished, settings: Settings, lab: Lab) -> Outcome:
    """Run what is missing, and make a run of it all when nothing is."""
    kept.tidy()
    runner = Runner(sweep, kept, lab)
    started_at = time.time()
    search: dict[str, Any] | None = None
    if sweep.fields.find_max is None:
        _run_steps(runner, kept, settings, sweep)
        is_whole = all(kept.has(step) for step in kept.steps)
    else:
        search = _search_all(runner, sweep)
        is_whole = search is not None
    if not is_whole:
        return Outcome(None, [f"step {key}: {message}" for key, message in runner.failed.items()])
    # What Prometheus knew of labs before the last one went with them.
    link = addresses.link(settings, max(started_at, lab.started_at), time.time())
    folder = finish(sweep, kept, search, link)
    if link:
        ui.note(f"Grafana over the last lab's time: {link}")
    return Outcome(folder, problems_of(folder))


def _run_steps(runner: Runner, kept: store.Unfinished, settings: Settings, sweep: SweepFile) -> None:
    steps = kept.steps
    missing = [step for step in steps if not kept.has(step)]
    if len(missing) < len(steps):
        ui.note(f"{len(steps) - len(missing)} of {len(steps)} steps are complete already")
    for number, step in enumerate(missing):
        before = missing[number - 1] if number else None
        left = plan.estimate(missing[number:], settings, fresh=sweep.fields.fresh, before=before)
        progress = Progress(len(steps), len(steps) - len(missing) + number, left.seconds_max)
        try:
            runner.step(step, progress.heading(step))
        except StepFailedError:
            ui.warn(f"step {step.key} is left out for now; `scripts/lab sweep --resume` tries it again")


def _search_all(runner: Runner, sweep: SweepFile) -> dict[str, Any] | None:
    """What the search of every point found, by its label; None when one could not go on."""
    found = {}
    for number, point in enumerate(plan.points_of(sweep)):
        try:
            found[point.label] = find_max(sweep, point, number, runner.answer)
        except StepFailedError:
            return None
        ui.note(f"{point.label}: {found[point.label]['reason']}")
    return found


def found_so_far(sweep: SweepFile, kept: store.Unfinished) -> dict[str, Any] | None:
    """What the steps that are kept say of every search that has begun, by its point's label; None where nothing is searched."""
    if sweep.fields.find_max is None:
        return None

    def answer(step: Step, heading: str) -> bool | None:
        return kept_answer(kept, step)

    found = {point.label: find_max(sweep, point, number, answer) for number, point in enumerate(plan.points_of(sweep))}
    return {label: outcome for label, outcome in found.items() if outcome["answers"]}


def is_sustained(measured: Measured) -> bool:
    """Whether a step of a search showed that its rate is sustained."""
    return bool(measured.step["thresholds"]["passed"])


def kept_answer(kept: store.Unfinished, step: Step) -> bool | None:
    """Whether a step showed that its rate is sustained; None when it has not been run. One that broke the lab did not."""
    if kept.has(step):
        return is_sustained(kept.read(step))
    return False if kept.has_broken(step) else None


def find_max(sweep: SweepFile, point: Point, number: int, answer: Answer) -> dict[str, Any]:
    """Search the highest rate that a point sustains, as far as there are answers."""
    wanted = sweep.fields.find_max
    assert wanted is not None
    search = Search(wanted.rate_min, wanted.rate_max, wanted.precision, wanted.steps_max)
    count = 0
    while (rate := search.next()) is not None:
        count += 1
        phase = search.phase or "probe"
        step = plan.step_of(
            sweep,
            point,
            number * 100 + count,
            1,
            phase=phase,
            key=f"{point.key}_{count:02d}-{phase}",
            rate=rate,
            measure=(wanted.confirm, wanted.confirm) if phase == "confirm" else None,
            # A rate that is asked again has to meet other arrivals.
            seed=sweep.fields.seed + count - 1,
        )
        heading = f"{point.label}: step {count} of at most {wanted.steps_max}, {phase} {rate:g}/s"
        found = answer(step, heading)
        if found is None:
            break
        search.tell(rate, found)
    outcome = search.so_far
    return {
        "rate": outcome.rate,
        "low": outcome.low,
        "high": outcome.high,
        "reason": outcome.reason,
        "answers": [{"rate": one.rate, "sustained": one.sustained, "phase": one.phase} for one in outcome.answers],
    }


def finish(sweep: SweepFile, kept: store.Unfinished, search: dict[str, Any] | None, link: str | None = None) -> Path:
    """Make a run of the steps that are complete."""
    with ui.phase("Keeping the run, making its report"):
        return kept.finish(sweep_manifest(sweep, search), dict(ui.phase_times.seconds), grafana=link)


def problems_of(folder: Path) -> list[str]:
    """Why a finished sweep has failed, a sentence for each step that broke something, or for each search."""
    steps = folders.read_json(folder / "steps.json")["steps"]
    sweep = folders.read_json(folder / "run.json")["sweep"]
    if sweep["find_max"]:
        # Its steps are meant to find where the system breaks, so only what the search found counts.
        outcomes = sweep["find_max"]["outcomes"].items()
        return [f"{label}: {outcome['reason']}" for label, outcome in outcomes if outcome["rate"] is None]
    return [*_problems(steps), *(_unchecked(steps) if any(sweep["thresholds"].values()) else ())]


def _problems(steps: list[dict[str, Any]]) -> Iterator[str]:
    for step in steps:
        reasons = [*step["verdict"]["reasons"], *step["thresholds"]["reasons"]]
        if reasons:
            yield f"step {step['key']}: {'; '.join(reasons)}"


def _unchecked(steps: list[dict[str, Any]]) -> Iterator[str]:
    """The points whose thresholds nothing valid was held against."""
    is_valid: dict[tuple[str, str], bool] = {}
    for step in steps:
        point = (step["workload"], step["label"])
        is_valid[point] = is_valid.get(point, False) or step["validity"]["valid"]
    for (_, label), found in is_valid.items():
        if not found:
            yield f"{label}: has no valid step, so whether it keeps the thresholds is not known"
