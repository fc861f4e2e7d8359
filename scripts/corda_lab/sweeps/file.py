"""Reads a sweep file, and shortens it for ``--quick``."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from corda_lab.errors import LabError
from corda_lab.sweeps.checks import problem, vary_problems, whole_problems
from corda_lab.sweeps.schema import SpanFields, SweepFields
from lab_workload.problems import WorkloadError, in_file_order
from lab_workload.yaml_source import Source, read_fields

QUICK_WARM_UP_SECONDS = 30.0


QUICK_MEASURE_SECONDS = 20.0


QUICK_CONFIRM_SECONDS = 30.0


QUICK_PRECISION = 0.2
"""Precision of the searches in a quick sweep, which is a test and not a measurement."""


QUICK_SUFFIX = "-quick"


_Span = TypeVar("_Span", bound=SpanFields)


@dataclass(frozen=True)
class SweepFile:
    """A valid sweep file."""

    name: str
    """The file's name without its suffix."""
    fields: SweepFields
    source: Source
    text: str
    is_quick: bool = False

    @property
    def run_name(self) -> str:
        """The name of its run."""
        return f"{self.name}{QUICK_SUFFIX}" if self.is_quick else self.name


def read_sweep(path: Path) -> SweepFile:
    """Read a sweep file. Raises LabError with all its problems."""
    try:
        return _read(path)
    except WorkloadError as error:
        raise LabError(problems=error.problems, remedy="docs/sweeps.md describes sweep files.") from None


def quick(sweep: SweepFile) -> SweepFile:
    """Return the sweep with the same points, but one short repeat of each: a test of the sweep and its report."""
    fields = sweep.fields
    steps = None
    if fields.steps is not None:
        steps = [
            step.model_copy(
                update={
                    "warm_up": step.warm_up and _fixed(step.warm_up, QUICK_WARM_UP_SECONDS),
                    "measure": step.measure and _fixed(step.measure, QUICK_MEASURE_SECONDS),
                }
            )
            for step in fields.steps
        ]
    search = fields.find_max and fields.find_max.model_copy(
        update={
            "precision": max(QUICK_PRECISION, fields.find_max.precision),
            "confirm": min(QUICK_CONFIRM_SECONDS, fields.find_max.confirm),
        }
    )
    changes = {
        "repeats": 1,
        "steps": steps,
        "warm_up": _fixed(fields.warm_up, QUICK_WARM_UP_SECONDS),
        "measure": _fixed(fields.measure, QUICK_MEASURE_SECONDS),
        "find_max": search,
    }
    return replace(sweep, fields=fields.model_copy(update=changes), is_quick=True)


def _fixed(span: _Span, seconds_max: float) -> _Span:
    """Return a fixed duration: the maximum, but at most ``seconds_max``. The series is too short to end it early."""
    seconds = min(span.max, seconds_max)
    return span.model_copy(update={"min": seconds, "max": seconds})


def _read(path: Path) -> SweepFile:
    data, source = read_fields(path)
    try:
        fields = SweepFields.model_validate(data)
    except ValidationError as error:
        problems = [problem(detail, source) for detail in error.errors(include_url=False)]
        raise WorkloadError(in_file_order(problems)) from None
    problems = [*vary_problems(fields, source), *whole_problems(fields, source)]
    if problems:
        raise WorkloadError(in_file_order(problems))
    return SweepFile(path.stem, fields, source, path.read_text(encoding="utf-8"))
