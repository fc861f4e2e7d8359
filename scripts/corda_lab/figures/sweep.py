"""What a sweep file says about the points that claims name: what varies, in which order, and what does not vary."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, product

from corda_lab.steps.entry import ParameterValue
from corda_lab.sweeps.file import SweepFile, quick
from corda_lab.sweeps.schema import STEPS_MAX, CommonFields, SweepFields

STEP, AT = "step", "at"
"""The names of a named step, and of the number that it has on the axis."""

Values = Mapping[str, ParameterValue]
"""A point by what varies."""


@dataclass(frozen=True)
class SweepNames:
    """The points of a sweep in the order of the file, and what each named step sets that does not vary.

    The constants of a sweep without named steps have the key "".
    """

    points: tuple[Values, ...]
    constants: Mapping[str, Values]

    @property
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


def names_of(fields: SweepFields) -> SweepNames:
    """Return what varies in a sweep, and what does not."""
    named: list[dict[str, ParameterValue]] = [{}]
    constants: dict[str, Values] = {"": _given(fields)}
    if fields.steps:
        named = []
        for step in fields.steps:
            place = step.at
            named.append({STEP: step.name} | ({} if place is None else {AT: place}))
            constants[step.name] = {**_given(fields), **_given(step)}
    combinations = ((one, values) for one in named for values in product(*fields.vary.values()))
    points = tuple(
        {**one, **dict(zip(fields.vary, values, strict=True))} for one, values in islice(combinations, STEPS_MAX)
    )
    return SweepNames(points, constants)


def names_in(sweep: SweepFile, form: str) -> SweepNames:
    """Return the names of the whole sweep, or of its short form. Raises LabError if it has no short form."""
    return names_of(quick(sweep).fields if form == "quick" else sweep.fields)


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
