"""The committed repeats: one small file each, ``docs/reproduction/<sweep>/<utc>-<form>.json``."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.figures.forms import FORMS, digest_of, in_form
from corda_lab.figures.repeat import Form, Repeat
from corda_lab.lab import shape
from corda_lab.paths import WORKLOADS
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.sweeps.file import SweepFile
from corda_lab.text.words import listed
from lab_workload.problems import Problem

FILES_MAX = 10_000
"""More files than this are not repeats of figures."""
DIGEST_LENGTH = 16
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
    """The stored repeats of one sweep: those that measured what its file says now, by form, and the others."""

    by_form: dict[Form, tuple[Repeat, ...]]
    outdated: tuple[Outdated, ...]

    def of(self, form: Form) -> tuple[Repeat, ...]:
        """The repeats of a form that measured what the file says now, oldest first."""
        return self.by_form.get(form, ())


def kept(sweep: SweepFile, repeats: Sequence[Repeat]) -> Kept:
    """Return the repeats of a sweep. Those of an earlier version of its files are outdated, and never judged."""
    digests = {}
    for form in FORMS:
        if form == "full" or sweep.fields.quick is not None:
            digests[form] = digest_of(in_form(sweep, form))
    by_form: dict[Form, list[Repeat]] = {form: [] for form in digests}
    outdated = []
    for one in repeats:
        if one.sweep != sweep.name:
            continue
        if why := _why_outdated(one, digests.get(one.form)):
            outdated.append(Outdated(one, why))
        else:
            by_form[one.form].append(one)
    return Kept({form: tuple(found) for form, found in by_form.items()}, tuple(outdated))


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
