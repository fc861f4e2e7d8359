"""Measures repeats of a sweep by the code of ``lab sweep``, and stores each of them as a small file."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.figures import store
from corda_lab.figures.collect import Collected, collect
from corda_lab.figures.file import Figure, Places
from corda_lab.figures.metrics import metrics_of
from corda_lab.figures.repeat import Repeat
from corda_lab.lab.settings import Settings
from corda_lab.paths import ROOT
from corda_lab.results import folders, stored
from corda_lab.results.stored import StoredRun
from corda_lab.sweeps import command, execute
from corda_lab.sweeps import store as sweeps_store
from corda_lab.sweeps.command import SweepRequest
from corda_lab.sweeps.file import SweepFile
from corda_lab.text import ui
from corda_lab.text.words import plural

AGAIN_MAX = 2
"""How often spoilt repeats are measured again before that is left to the user."""


@dataclass(frozen=True)
class Outcome:
    """The runs that were measured, oldest first, and their repeats."""

    runs: tuple[Path, ...]
    repeats: tuple[Repeat, ...]


def measure(request: SweepRequest, figures: Sequence[Figure], settings: Settings, places: Places) -> Outcome:
    """Measure the repeats of a request, those that are spoilt again, and store them. The sweep serves all ``figures``.

    An unfinished sweep of the same form is resumed first. Raises LabError if steps are missing in the end.
    """
    runs: list[Path] = []
    repeats: list[Repeat] = []
    sweep = command.read(request)
    count, seed = sweep.fields.repeats, sweep.fields.seed
    for attempt in range(1 + AGAIN_MAX):
        folder = _run(replace(request, repeats=count, seed=seed), sweep, settings, places)
        collected = keep(stored.read(folder), figures, places)
        runs.append(folder)
        repeats += collected.repeats
        if not collected.spoilt:
            break
        again = seed + collected.spoilt[0].repeat - 1
        seed += count
        # In the same direction, which is that of the parity (``sweeps.step.steps_of``).
        seed += (seed - again) % 2
        count = len(collected.spoilt)
        if attempt < AGAIN_MAX:
            ui.note(f"{plural(count, 'repeat')} will be measured again")
        else:
            ui.warn(f"{plural(count, 'repeat')} could not be measured; try later with --add {count}")
    return Outcome(tuple(runs), tuple(repeats))


def keep(run: StoredRun, figures: Sequence[Figure], places: Places) -> Collected:
    """Store the repeats of a run for the figures that its sweep serves, and say which of them are spoilt."""
    found = collect(run, metrics_of(figure.fields for figure in figures))
    for one in found.spoilt:
        ui.warn(f"repeat {one.repeat} of {run.identity} does not count: {one.why}")
    for path in store.write(found.repeats, places.repeats):
        ui.note(f"stored: {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    return found


def _run(request: SweepRequest, sweep: SweepFile, settings: Settings, places: Places) -> Path:
    """Run a sweep, or resume it, and return the folder of its run. Raises LabError if steps are missing."""
    left = unfinished(sweep, settings, places)
    if left is None:
        result = command.begin(request, settings)
    else:
        result = command.resume(replace(request, file=left.identity), settings)
    for problem in result.problems:
        ui.warn(problem)
    if result.folder is None:
        raise LabError(
            f"{sweep.run_name}: not every step could be measured, so nothing is judged yet",
            "The same command tries the missing steps again.",
        )
    return result.folder


def unfinished(sweep: SweepFile, settings: Settings, places: Places) -> sweeps_store.Unfinished | None:
    """Return the latest unfinished run of a sweep in this form that can be resumed; None if there is none."""
    for folder in reversed(folders.unfinished_sweeps(results=places.results)):
        if folders.name_of(folder.name) != sweep.run_name:
            continue
        try:
            kept = sweeps_store.read(folder)
            execute.require_unchanged(kept, sweep, settings)
        except LabError as error:
            ui.note(f"{folder.name} is left as it is: {error.message}")
            continue
        return kept
    return None
