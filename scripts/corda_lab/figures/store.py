"""The two forms of a sweep, and its committed repeats: ``docs/reproduction/<sweep>/<utc>-<form>.json``."""

import hashlib
import json
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.figures.repeat import Form, Repeat, days
from corda_lab.lab import shape
from corda_lab.lab.settings import Settings
from corda_lab.paths import WORKLOADS
from corda_lab.results.stored import StoredRun
from corda_lab.results.sweep import SweepFields
from corda_lab.results.sweep_parts import CommonFields
from corda_lab.steps.entry import ParameterValue, StepEntry
from corda_lab.steps.parameters import STEP
from corda_lab.sweeps.file import SweepFile, quick, read_sweep
from corda_lab.sweeps.plan import points_of, run_time, steps_of
from corda_lab.text.words import listed, plural
from lab_workload.problems import Problem

DIGEST_LENGTH = 16

QUICK: Form = "quick"
FULL: Form = "full"
FORMS: tuple[Form, ...] = get_args(Form)

NOT_MEASURED = {"description", "x", "repeats", "seed", "retries", "thresholds", "quick", "beside"}
"""Fields of a sweep file that change nothing about one repeat. All others enter its digest."""


def in_form(sweep: SweepFile, form: Form) -> SweepFile:
    """Return a sweep in one of its forms. Raises LabError if it has no short form."""
    return quick(sweep) if form == QUICK else sweep


def digest_of(sweep: SweepFile) -> str:
    """Return the digest of what a sweep, in its form, says about one repeat. Comments and repeats do not count."""
    said = sweep.fields.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=NOT_MEASURED)
    for step in said.get("steps") or ():
        step.pop("beside", None)
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:DIGEST_LENGTH]


def run_form(run: StoredRun) -> Form:
    """Return the form in which the sweep of a run was measured."""
    return QUICK if run.sweep.is_quick else FULL


def sweep_of(run: StoredRun) -> SweepFile:
    """Read the sweep of a run as it was measured, in its form. Raises LabError."""
    if not run.is_sweep:
        raise LabError(f"{run.identity} is not the run of a sweep", "Figures are judged from runs of their sweeps.")
    if run.sweep.find_max:
        raise LabError(f"{run.identity} is a search for the highest rate", "Figures are judged from other sweeps.")
    return in_form(read_sweep(run.folder / "sweep.yaml"), run_form(run))


ESTIMATES = (
    "Times are those of the stored repeats. Without any, they are estimates for two cores, without the time of image "
    "builds. Set-ups, backlogs, bursts and counted flows take as long as the sweep file says (beside)."
)
"""What the times of figures are, and what they leave out."""


def seconds_of(sweep: SweepFile, settings: Settings, stored: Iterable[Repeat]) -> float:
    """Return how long a sweep takes in its form: as long as stored repeats did, else an estimate for all its points."""
    fields = sweep.fields
    known = [repeat.seconds for repeat in stored if repeat.seconds is not None]
    if known:
        # Not the median: where repeats share a start, the first of them has it, and its time would be left out.
        return statistics.fmean(known) * fields.repeats
    return run_time(steps_of(sweep), settings, fresh=fields.fresh).seconds_max


def are_of_one_start(sweep: SweepFile, repeats: Sequence[Repeat]) -> bool:
    """Return whether two or more repeats all ran on one start of the nodes.

    They are of one run, whose labs have one shape, and are not started again for a repeat.
    """
    if len(repeats) < 2 or len({one.run for one in repeats}) > 1:
        return False
    measured = in_form(sweep, repeats[0].form)
    return measured.fields.fresh == "shape" and len({point.shape_key for point in points_of(measured)}) == 1


Values = Mapping[str, ParameterValue]
"""A point by what varies."""


@dataclass(frozen=True)
class SweepNames:
    """The points of a sweep in the order of the file, and what each named step sets that does not vary.

    The constants of a sweep without named steps have the key "".
    """

    points: tuple[Values, ...]
    constants: Mapping[str, Values]

    @cached_property
    def axes(self) -> dict[str, list[ParameterValue]]:
        """The values of what varies, by its name."""
        found: dict[str, list[ParameterValue]] = {}
        for point in self.points:
            for name, value in point.items():
                if value not in (values := found.setdefault(name, [])):
                    values.append(value)
        return found

    def constants_at(self, values: Values) -> Values:
        """Return what a point has besides the values that vary: ``set.backchainSize``, ``load.users``."""
        return self.constants.get(str(values.get(STEP, "")), {})


def names_of(sweep: SweepFile) -> SweepNames:
    """Return what varies in a sweep, and what does not. Raises LabError if it has too many points."""
    fields = sweep.fields
    named = {step.name: {**_given(fields), **_given(step)} for step in fields.steps or ()}
    return SweepNames(tuple(step.point for step in points_of(sweep)), {"": _given(fields), **named})


def corda_versions(fields: SweepFields) -> list[str]:
    """Return the versions of Corda that a sweep sets; none if it starts that of ``.env``."""
    found = [str(version) for version in fields.vary.get("shape.corda", [])]
    for one in (fields, *(fields.steps or ())):
        version = one.shape.model_dump(exclude_none=True).get("corda")
        found += [] if version is None else [str(version)]
    return list(dict.fromkeys(found))


def _given(fields: CommonFields) -> dict[str, ParameterValue]:
    whole = fields.model_dump(exclude_none=True)
    found: dict[str, ParameterValue] = {
        f"{group}.{name}": value for group in ("load", "shape", "set") for name, value in whole.get(group, {}).items()
    }
    if fields.workload is not None:
        found["workload"] = fields.workload
    return found


# The committed repeats.

FILES_MAX = 10_000
"""More files than this are not repeats of figures."""
WORKLOAD, PRESET = "workload", "preset"
"""The kinds of files of ``configs/`` that a repeat is measured with, in their names: ``workload iou``."""


def path_of(repeat: Repeat, folder: Path) -> Path:
    """Return the file of a repeat in the folder of all repeats. The same repeat always has the same file."""
    utc = re.sub(r"[-:]", "", repeat.at)
    return folder / repeat.sweep / f"{utc}-{repeat.form}.json"


def text_of(repeat: Repeat) -> str:
    """Return the content of the file of a repeat, with a line for each point."""
    content = repeat.model_dump(mode="json", by_alias=True, exclude={"points"})
    head = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False).removesuffix("\n}")
    lines = [
        f"    {json.dumps(point.model_dump(mode='json', exclude_defaults=True), ensure_ascii=False, allow_nan=False)}"
        for point in repeat.points
    ]
    return f'{head},\n  "points": [\n' + ",\n".join(lines) + "\n  ]\n}\n"


def write(repeats: Iterable[Repeat], folder: Path) -> list[Path]:
    """Write the files of repeats and return their paths. A repeat that is stored already is replaced."""
    paths = []
    for repeat in repeats:
        path = path_of(repeat, folder)
        atomic.write_text(path, text_of(repeat))
        paths.append(path)
    return paths


def read(folder: Path) -> list[Repeat]:
    """Read all stored repeats, oldest first. Raises LabError with every file that cannot be read."""
    paths = sorted(folder.glob("*/*.json"))
    if len(paths) > FILES_MAX:
        raise LabError(f"{folder}: has more than {FILES_MAX:,} files", "Move the files that are not repeats away.")
    found: list[Repeat] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            found.append(read_file(path))
        except LabError as error:
            problems += error.problems
    if problems:
        raise LabError(problems=problems)
    return sorted(found, key=lambda one: (one.at, one.sweep))


def read_file(path: Path) -> Repeat:
    """Read one repeat. Raises LabError with the file and its first wrong field."""
    remedy = "Restore it with git, or delete it and measure again."
    try:
        repeat = Repeat.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"{path}: cannot be read ({error.strerror})", remedy) from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(name) for name in first["loc"]) or "file"
        raise LabError(f"{path}: {field}: {first['msg']}", remedy) from None
    if path_of(repeat, path.parents[1]) != path:
        raise LabError(f"{path}: its name does not say what it has: {path_of(repeat, path.parents[1])}", remedy)
    return repeat


@dataclass(frozen=True)
class Outdated:
    """A repeat that measured something else than its sweep says now, and what."""

    repeat: Repeat
    why: str
    """``measured with another workload iou``."""


@dataclass(frozen=True)
class Kept:
    """The stored repeats of one sweep, oldest first: those that measured what its file says now, and the others."""

    current: tuple[Repeat, ...]
    outdated: tuple[Outdated, ...]

    def of(self, form: Form) -> tuple[Repeat, ...]:
        """The current repeats of a form."""
        return tuple(repeat for repeat in self.current if repeat.form == form)


def kept(sweep: SweepFile, repeats: Sequence[Repeat]) -> Kept:
    """Return the repeats of a sweep. Those of an earlier version of its files are outdated, and never judged."""
    forms = [form for form in FORMS if form == FULL or sweep.fields.quick is not None]
    digests = {form: digest_of(in_form(sweep, form)) for form in forms}
    reasons = [
        (repeat, _why_outdated(repeat, digests.get(repeat.form))) for repeat in repeats if repeat.sweep == sweep.name
    ]
    return Kept(
        tuple(repeat for repeat, why in reasons if not why),
        tuple(Outdated(repeat, why) for repeat, why in reasons if why),
    )


def outdated_words(outdated: Sequence[Outdated]) -> list[str]:
    """Return which repeats do not count: ``3 repeats, quick, 23 Nov 2026: measured with another workload iou``."""
    groups: dict[tuple[Form, str], list[Repeat]] = {}
    for each in outdated:
        groups.setdefault((each.repeat.form, each.why), []).append(each.repeat)
    return [f"{plural(len(group), 'repeat')}, {form}, {days(group)}: {why}" for (form, why), group in groups.items()]


def _why_outdated(repeat: Repeat, digest: str | None) -> str:
    """Return what a repeat was measured with that is another today; empty if all is the same."""
    if repeat.sweep_digest != digest:
        return "measured before the sweep changed"
    names = changed_files(repeat.files)
    return f"measured with another {listed(names)}" if names else ""


def files_of(run: StoredRun, steps: Sequence[StepEntry]) -> dict[str, str]:
    """Return the digests of the files that steps of a run were measured with, by name."""
    found: dict[str, str] = {}
    texts = run.manifest.workload_files
    for step in steps:
        names = [step.workload, *([step.conditioning.workload] if step.conditioning else [])]
        found |= {f"{WORKLOAD} {name}": _digest(texts[name]) for name in names if name in texts}
        environment = run.environment(step)
        if environment.preset_sha256:
            preset = environment.shape.get("NODE_PRESET", "")
            found[f"{PRESET} {preset}"] = environment.preset_sha256[:DIGEST_LENGTH]
    return dict(sorted(found.items()))


def changed_files(files: Mapping[str, str]) -> list[str]:
    """Return the names of the files that are not today what they were: changed, or gone."""
    return [name for name, digest in files.items() if digest != _today(name)]


def _today(name: str) -> str:
    kind, _, own = name.partition(" ")
    if kind == PRESET:
        return shape.preset_sha256(own)[:DIGEST_LENGTH]
    path = WORKLOADS / f"{own}.yaml"
    return _digest(path.read_text(encoding="utf-8")) if path.is_file() else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]
