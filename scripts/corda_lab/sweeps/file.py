"""Reads a sweep file, with its short form for ``--quick``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from corda_lab.errors import LabError
from corda_lab.paths import ROOT
from corda_lab.results.sweep import QUICK_REPEATS_MIN, LeftOut, SearchOutcome, SweepFields, SweepPlan
from lab_workload.field_problems import field_problem, known_fields
from lab_workload.problems import Location, Problem, WorkloadError, in_file_order
from lab_workload.yaml_source import Source, read_fields

QUICK = "quick"
QUICK_SUFFIX = "-quick"


@dataclass(frozen=True)
class SweepFile:
    name: str
    fields: SweepFields
    source: Source
    text: str
    short: SweepFields | None = None
    """The fields of its short form; None if it has none."""
    is_quick: bool = False
    """Whether ``fields`` are those of the short form."""
    left_out: Sequence[LeftOut] = ()
    """The points that the machine cannot have, if the sweep leaves them out."""

    @property
    def run_name(self) -> str:
        return f"{self.name}{QUICK_SUFFIX}" if self.is_quick else self.name

    def entry(self, outcomes: Mapping[str, SearchOutcome]) -> SweepPlan:
        """Return the entry ``sweep`` of ``run.json``, with the outcomes of its searches by the label of the point."""
        path = self.source.path.resolve()
        return SweepPlan.model_construct(
            **{**dict(self.fields), "quick": None},
            file=str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path),
            text=self.text,
            name=self.name,
            is_quick=self.is_quick,
            left_out=list(self.left_out),
            outcomes=dict(outcomes),
        )


def read_sweep(path: Path) -> SweepFile:
    """Read a sweep file. Raises LabError with all its problems."""
    try:
        data, source = read_fields(path)
        fields = _validated(data, source, ())
        short = None if fields.quick is None else _validated(short_form(data), source, (QUICK,))
        return SweepFile(path.stem, fields, source, path.read_text(encoding="utf-8"), short)
    except WorkloadError as error:
        raise LabError(problems=error.problems, remedy="docs/sweeps.md describes sweep files.") from None


def quick(sweep: SweepFile) -> SweepFile:
    """Return the short form of a sweep, with fewer points, repeats or seconds, as its ``quick`` says.

    Raises LabError if the file has none: what may be left out without changing the question, only its author knows.
    """
    if sweep.short is None:
        raise LabError(
            f"{sweep.source.path}: quick: is missing, so --quick does not know what to leave out",
            "Add it, for example `quick: {vary: {load.users: [1, 16]}, measure: 20s}`, or leave out --quick.",
        )
    return replace(sweep, fields=sweep.short, is_quick=True)


def with_repeats(sweep: SweepFile, repeats: int | None, seed: int | None = None) -> SweepFile:
    """Return a sweep with another number of repeats and another seed of the first of them, unless they are None."""
    changes = {name: value for name, value in (("repeats", repeats), ("seed", seed)) if value is not None}
    return replace(sweep, fields=sweep.fields.model_copy(update=changes))


Data = Mapping[str, Any]
"""The plain data of a YAML file."""


def short_form(data: Data) -> Data:
    """Return the data of a sweep with the fields that its ``quick`` has in their place.

    Groups of fields are merged. ``steps`` names those that are left, and the form has three repeats unless it says so.
    """
    whole = {name: value for name, value in data.items() if name != QUICK}
    repeats = {} if data.get("find_max") else {"repeats": QUICK_REPEATS_MIN}
    short = _merged(whole, {**repeats, **data[QUICK]})
    if (names := data[QUICK].get("steps")) is None:
        return short
    return {**short, "steps": [step for step in whole.get("steps") or () if step["name"] in names]}


def _merged(whole: Data, short: Data) -> Data:
    merged = {**whole, **short}
    for name, value in short.items():
        before = whole.get(name)
        if name != "measure" and isinstance(before, dict) and isinstance(value, dict):
            merged[name] = _merged(before, value)
    return merged


def _validated(data: Data, source: Source, base: Location) -> SweepFields:
    """Return the fields of a sweep, whose places in the file begin with ``base``. Raises WorkloadError."""
    try:
        return SweepFields.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False)
    raise WorkloadError(in_file_order(_problem(detail, source, base) for detail in details))


_ALTERNATIVES = ("constrained-str", "str")
"""What pydantic adds to a location to name one of several types that a field may have."""


def _problem(detail: Any, source: Source, base: Location) -> Problem:
    location: Location = tuple(part for part in detail["loc"] if part not in _ALTERNATIVES)
    known = known_fields(SweepFields, location[:-1])
    return field_problem({**detail, "loc": (*base, *location)}, source, known)
