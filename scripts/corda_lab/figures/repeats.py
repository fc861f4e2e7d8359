"""The stored repeats of sweeps, ``docs/reproduction/<sweep>/<utc>-<form>.json``. Claims are judged from them.

A repeat is a table: a row for each point of the sweep with what varies, its outcome and its metrics. It has only
ratios, exponents and levels of its own points to give. So repeats of several days add up.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.figures.figure import Figure, Form
from corda_lab.figures.points import Point, Stored
from corda_lab.knobs.shape import LAB_IMAGES
from corda_lab.lab import shape
from corda_lab.paths import WORKLOADS
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.plan import points_of
from corda_lab.text.words import listed, plural

DIGEST_LENGTH = 16
WORKLOAD, PRESET = "workload", "preset"
"""The kinds of files of ``configs/`` that a repeat is measured with, in their names: ``workload iou``."""
REPEATS_MIN = 3
"""Fewer repeats hardly show their own scatter, and decide nothing."""
NOT_MEASURED = {"description", "x", "repeats", "seed", "retries", "thresholds", "quick", "beside"}
"""Fields of a sweep file that change nothing about one repeat. All others enter its digest."""
RESTORE = "Restore it with git, or delete it and measure again."


def is_enterprise_image(image: str) -> bool:
    """Return whether nodes of an image are Corda Enterprise: the lab did not build it, and its name says so."""
    return not image.startswith(LAB_IMAGES) and "enterprise" in image.lower()


class Site(NamedTuple):
    """What a claim may need."""

    cores: int
    enterprise: bool
    """Whether the nodes are Corda Enterprise."""


class Repeat(Stored):
    """One repeat of all points of a sweep."""

    sweep: str
    form: Form
    repeat: int
    """Its number within its run, from 1."""
    seed: int | None = None
    """The seed of its loads, which also says in which direction it went; None if it is not known."""
    at: str
    """When it began: ISO 8601, UTC."""
    run: str
    """The folder of its run in ``results/``."""
    lab_version: str
    commit: str | None
    machine: str
    """``AMD EPYC, 2 cores, 25 GB``."""
    cores: int
    images: dict[str, str]
    """The images of the Corda nodes: name → id."""
    calibration: list[float] = Field(default_factory=list)
    """How long a fixed piece of work took, in ms: the means over the cores and over each half of the readings.

    Empty where it was not measured.
    """
    sweep_digest: str
    """Digest of what the sweep file says about the measurement. Repeats with different digests are not joined."""
    files: dict[str, str] = Field(default_factory=dict)
    """Digests of the workloads and presets that it was measured with: ``workload iou`` → digest. A repeat whose files
    are others today is not judged. Files that are not named are not known."""
    points: list[Point]
    left_out: dict[str, str] = Field(default_factory=dict)
    """The points that this machine cannot have, and why."""
    spoilt: dict[int, str] = Field(default_factory=dict)
    """The numbers of the repeats of the same run that do not count, and why."""

    @property
    def file(self) -> str:
        """Its file in the folder of all repeats. The same repeat always has the same file, so it counts once."""
        utc = re.sub(r"[-:]", "", self.at)
        return f"{self.sweep}/{utc}-{self.form}.json"

    @property
    def site(self) -> Site:
        return Site(self.cores, bool(self.images) and all(map(is_enterprise_image, self.images)))

    def lacking(self, metrics: Sequence[str]) -> list[str]:
        """Return the metrics that were never collected for it. If every point broke, it lacks none."""
        known = {name for point in self.points for name in point.metrics}
        return [name for name in metrics if name not in known] if known else []


# Files.


def write(repeats: Iterable[Repeat], folder: Path) -> list[Path]:
    """Write a file for each repeat, with a line for each point, and return their paths. The same repeat is replaced."""
    paths = []
    for repeat in repeats:
        head = repeat.model_dump_json(exclude={"points"}, indent=2).removesuffix("\n}")
        points = (
            json.dumps(point.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False)
            for point in repeat.points
        )
        lines = ",\n".join(f"    {point}" for point in points)
        paths.append(folder / repeat.file)
        atomic.write_text(paths[-1], f'{head},\n  "points": [\n{lines}\n  ]\n}}\n')
    return paths


def read(folder: Path) -> list[Repeat]:
    """Read all stored repeats, oldest first. Raises LabError."""
    repeats: list[Repeat] = []
    for path in sorted(folder.glob("*/*.json")):
        try:
            repeats.append(Repeat.model_validate_json(path.read_bytes()))
        except (OSError, ValidationError) as error:
            raise LabError(f"{path}: cannot be read: {error}", RESTORE) from error
        if folder / repeats[-1].file != path:
            raise LabError(f"{path}: its name must be {repeats[-1].file}", RESTORE)
    return sorted(repeats, key=lambda repeat: (repeat.at, repeat.sweep))


# Which repeats count.


@dataclass(frozen=True)
class Kept:
    """The stored repeats of one sweep that measured what its files say now, oldest first."""

    current: tuple[Repeat, ...]
    outdated: tuple[str, ...]
    """The others: ``3 repeats, quick: measured with another workload iou``."""

    def of(self, form: Form) -> tuple[Repeat, ...]:
        return tuple(repeat for repeat in self.current if repeat.form == form)

    @property
    def chosen(self) -> tuple[Repeat, ...]:
        """The repeats of the whole sweep; if they are too few, those of its short form."""
        full, quick = self.of("full"), self.of("quick")
        return full if len(full) >= REPEATS_MIN or not quick else quick


def kept(figure: Figure, repeats: Iterable[Repeat]) -> Kept:
    """Return the repeats of a figure's sweep. Those of an earlier version of its files are never judged."""
    forms: list[Form] = ["full"] if figure.sweep.short is None else ["full", "quick"]
    digests = {form: digest_of(figure.in_form(form)) for form in forms}
    reasons = [(repeat, _why_outdated(repeat, digests)) for repeat in repeats if repeat.sweep == figure.sweep.name]
    outdated = Counter(f"{repeat.form}: {why}" for repeat, why in reasons if why)
    return Kept(
        tuple(repeat for repeat, why in reasons if not why),
        tuple(f"{plural(count, 'repeat')}, {words}" for words, count in outdated.items()),
    )


def _why_outdated(repeat: Repeat, digests: Mapping[Form, str]) -> str:
    if repeat.sweep_digest != digests.get(repeat.form):
        return "measured before the sweep changed"
    names = changed_files(repeat.files)
    return f"measured with another {listed(names)}" if names else ""


def digest_of(sweep: SweepFile) -> str:
    """Return the digest of what a sweep, in its form, says about one repeat. Comments and repeats do not count."""
    said = sweep.fields.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=NOT_MEASURED)
    for step in said.get("steps") or ():
        step.pop("beside", None)
    return text_digest(json.dumps(said, sort_keys=True))


def text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def changed_files(files: Mapping[str, str]) -> list[str]:
    """Return the names of the files that are not today what they were: changed, or gone."""
    changed = []
    for name, digest in files.items():
        kind, _, file = name.partition(" ")
        path = WORKLOADS / f"{file}.yaml"
        text = path.read_text(encoding="utf-8") if kind == WORKLOAD and path.is_file() else ""
        today = shape.preset_sha256(file)[:DIGEST_LENGTH] if kind == PRESET else text_digest(text)
        if digest != today:
            changed.append(name)
    return changed


def are_of_one_start(figure: Figure, repeats: Sequence[Repeat]) -> bool:
    """Return whether two or more repeats all ran on one start of the nodes.

    They are of one run, whose labs have one shape, and are not started again for a repeat.
    """
    if len(repeats) < 2 or len({repeat.run for repeat in repeats}) > 1:
        return False
    sweep = figure.in_form(repeats[0].form)
    return sweep.fields.fresh == "shape" and len({point.shape_key for point in points_of(sweep)}) == 1


# In words.


def days(repeats: Iterable[Repeat]) -> str:
    """Return the days of repeats: ``22 Nov 2026``, ``22 Nov 2026 to 1 Dec 2026``."""
    known = [f"{at.day} {at:%b %Y}" for at in sorted(datetime.fromisoformat(repeat.at) for repeat in repeats)]
    return " to ".join(dict.fromkeys((known[0], known[-1]))) if known else ""


def machine_words(cpu: str | None, cores: int, memory_bytes: int | None) -> str:
    """Return a machine: ``AMD EPYC, 2 cores, 25 GB``. What the operating system does not report is None."""
    memory = "" if memory_bytes is None else f", {memory_bytes / 1e9:.0f} GB"
    return f"{cpu or 'unknown CPU'}, {plural(cores, 'core')}{memory}"


def images(repeat: Repeat) -> str:
    """Return the images of a repeat with the beginnings of their ids: ``corda-lab/node:4.10 (0123456789ab)``."""
    return ", ".join(f"{name} ({identity.removeprefix('sha256:')[:12]})" for name, identity in repeat.images.items())
