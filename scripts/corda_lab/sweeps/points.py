"""The points of a sweep: every combination of what it varies and names."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from corda_lab.errors import LabError
from corda_lab.knobs.options import Kind
from corda_lab.knobs.shape import SIZE, variables_of
from corda_lab.steps.entry import ParameterValue
from corda_lab.steps.faults import Fault
from corda_lab.steps.load import LOAD_OPTIONS
from corda_lab.steps.parameters import AT, value_words
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.planned import (
    KEY_LENGTH_MAX,
)
from corda_lab.sweeps.schema import (
    STEPS_MAX,
    CommonFields,
    Measure,
    SpanFields,
    StepFields,
    peak_factor,
)
from corda_lab.text.durations import parse_duration


@dataclass(frozen=True)
class SweepPoint:
    """What all repeats of a point have in common."""

    values: dict[str, ParameterValue]
    workload: str
    overrides: dict[str, str]
    load: dict[str, ParameterValue]
    variables: dict[str, str]
    warm_up: SpanFields | None
    """None if the point is not measured by time."""
    measure: Measure
    may_break: bool
    is_peak: bool
    faults: tuple[Fault, ...] = ()
    beside_seconds: float | None = None
    """How long a step takes beside its load, as the file says; None if it does not."""

    @property
    def shape_key(self) -> tuple[tuple[str, str], ...]:
        """A key that is equal for points of the same shape."""
        return tuple(sorted(self.variables.items()))

    @property
    def is_multiple(self) -> bool:
        """Whether its rate is a multiple of what was measured before."""
        return peak_factor(self.load.get("rate")) is not None

    @property
    def _named(self) -> dict[str, ParameterValue]:
        """The values that tell points apart. The number of a named step is left out: its name is among them."""
        return {key: value for key, value in self.values.items() if key != AT}

    @property
    def label(self) -> str:
        """The values that vary, in words: ``8 users, PostgreSQL``; the workload's name if nothing varies."""
        return ", ".join(value_words(key, value) for key, value in self._named.items()) or self.workload

    @property
    def key(self) -> str:
        """The values that vary, for file names: ``users-8_database-h2``. A long key is cut, and ends with a hash."""
        words = [f"{key.rpartition('.')[2]}-{_word(value)}" for key, value in self._named.items()]
        whole = "_".join(words) or _word(self.workload)
        if len(whole) <= KEY_LENGTH_MAX:
            return whole
        digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
        return f"{whole[: KEY_LENGTH_MAX - len(digest) - 1]}-{digest}"


def _word(value: ParameterValue) -> str:
    text = " ".join(value) if isinstance(value, list) else str(value)
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.") or "none"


def points_of(sweep: SweepFile) -> list[SweepPoint]:
    """Return every combination of the values that vary, in the order of the file. Raises LabError if too many."""
    fields = sweep.fields
    given = {key: fields.model_dump(exclude_none=True)[key] for key in ("load", "shape", "set")}
    entries: Sequence[StepFields | None] = fields.steps or (None,)
    points = []
    if len(entries) * _size(fields.vary.values()) > STEPS_MAX:
        raise LabError(f"{sweep.source.path}: has more than {STEPS_MAX} steps", "Reduce the number of values in vary.")
    for entry in entries:
        over = entry.model_dump(exclude_none=True) if entry else {}
        for values in product(*fields.vary.values()):
            varied = dict(zip(fields.vary, values, strict=True))
            parts = {key: {**given[key], **over.get(key, {})} for key in ("load", "shape", "set")}
            # A schedule is no value of a parameter, and the load that conditions the nodes has none.
            parts["load"].pop("faults", None)
            workload = over.get("workload", fields.workload)
            for key, value in varied.items():
                group, _, name = key.partition(".")
                if key == "workload":
                    workload = value
                else:
                    parts[group][name] = _seconds(name, value) if group == "load" else value
            variables, size = variables_of(parts["shape"]), parts["shape"].get(SIZE.name)
            points.append(
                SweepPoint(
                    values={**_entry_values(entry), **varied},
                    workload=workload or "",
                    overrides={name: text_of(value) for name, value in parts["set"].items()},
                    load=parts["load"],
                    variables=variables | ({"SIZE": size} if size else {}),
                    warm_up=(entry and entry.warm_up) or fields.warm_up,
                    measure=(entry and entry.measure) or fields.measure,
                    may_break=fields.may_break if entry is None or entry.may_break is None else entry.may_break,
                    is_peak=entry is not None and entry.peak,
                    faults=_faults(fields if entry is None or entry.load.faults is None else entry),
                    beside_seconds=fields.beside if entry is None or entry.beside is None else entry.beside,
                )
            )
    return points


def _faults(fields: CommonFields) -> tuple[Fault, ...]:
    """Return the faults of a whole sweep or of a named step, whose own replace those of the sweep."""
    return tuple(one.fault for one in fields.load.faults or ())


def _entry_values(entry: StepFields | None) -> dict[str, ParameterValue]:
    """Return what a named step adds to the values of its points: its name, and its number if it has one."""
    if entry is None:
        return {}
    return {"step": entry.name} | ({} if entry.at is None else {AT: entry.at})


def _size(lists: Iterable[Sequence[Any]]) -> int:
    size = 1
    for values in lists:
        size *= len(values)
    return size


def _seconds(name: str, value: Any) -> Any:
    return parse_duration(str(value), option=name) if LOAD_OPTIONS[name].kind is Kind.DURATION else value


def text_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
