"""Options that several verbs share, and ``--set``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from corda_lab.errors import LabError, chosen
from corda_lab.knobs.options import Kind, Option
from corda_lab.knobs.shape import BY_NAME, BY_VARIABLE, variables_of
from corda_lab.lab.lifecycle import ImageChoice
from corda_lab.lab.settings import Settings
from corda_lab.paths import WORKLOADS
from corda_lab.steps import load
from corda_lab.text.durations import parse_duration
from lab_workload import overrides
from lab_workload.names import did_you_mean
from lab_workload.problems import Problem, WorkloadError
from lab_workload.yaml_source import read_fields


class ImageSource(StrEnum):
    """Source of third-party images: pulled from a registry, or built on this machine."""

    REGISTRY = "registry"
    LOCAL = "local"


ImagesOption = Annotated[
    ImageSource | None,
    typer.Option(
        "--images",
        help="registry: pull images. local: build stand-ins from Debian packages. Default: whichever works here.",
    ),
]


PlacementOption = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="PLACEMENT",
        help="Several hosts instead of this machine: what runs on which, a name in configs/placements/ or a path "
        "(docs/scale-out.md).",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AnywayOption = Annotated[
    bool, typer.Option("--anyway", help="With --like: repeat it although something has changed, and record what.")
]


def declared(option: Option) -> Any:
    return typer.Option(option.flag, help=option.usage)


def load_options(workload: str, given: Mapping[str, Any], *, settings: Sequence[str] | None = None) -> load.LoadOptions:
    """Return the requested load. ``given`` has the values by option name; None means that the option is not given.

    A duration is a text such as ``2m``, or a number of seconds. ``settings`` are the values of ``--set``.
    Raises LabError for an invalid value.
    """
    texts, set_values = _split(workload, _parsed(settings))
    values = {name: _read(_OPTIONS[name], value) for name, value in given.items() if value is not None}
    if twice := texts.keys() & values.keys():
        raise LabError(
            f"--set {min(twice)}: is given twice", f"Leave it out, or leave out {_OPTIONS[min(twice)].flag}."
        )
    values |= {name: _value(_OPTIONS[name], text) for name, text in texts.items()}
    warm_up_max = values.pop(load.WARM_UP_MAX.name, None)
    asked = load.LoadOptions(workload=workload, overrides=set_values, **load.attributes_of(values))
    if asked.is_counted and warm_up_max is not None:
        raise LabError(f"{load.WARM_UP_MAX.flag}: is not for a load that ends after a number of flows", "Leave it out.")
    asked = load.with_limit(asked, values)
    return asked if warm_up_max is None else load.until_steady(asked, warm_up_max)


_OPTIONS = {option.name: option for option in load.RUN_OPTIONS}
LOAD, WORKLOAD = "load.", "workload."
"""Say of a key of ``--set`` whose it is, if the load and the workload have it."""


def _parsed(settings: Iterable[str] | None) -> dict[str, str]:
    values, problems = overrides.parse(list(settings or ()))
    if problems:
        raise LabError(problems=problems)
    return values


def _split(workload: str, settings: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the fields of the load that are set, and the parameters and arguments of its workload. Raises LabError."""
    of_load: dict[str, str] = {}
    of_workload: dict[str, str] = {}
    known = _workload_keys(workload) if settings else ()
    problems = []
    for key, text in settings.items():
        if key in _OPTIONS and key in known:
            both = f"is a field of the load, and of the workload {workload}"
            problems.append(Problem.of(f"--set {key}", both, f"Write {LOAD}{key} or {WORKLOAD}{key}."))
        elif key.removeprefix(LOAD) in _OPTIONS:
            of_load[key.removeprefix(LOAD)] = text
        elif not known or key.removeprefix(WORKLOAD) in known:
            of_workload[key.removeprefix(WORKLOAD)] = text
        else:
            keys = [*_OPTIONS, *known]
            hint = did_you_mean(key, keys) or f"; choose from {', '.join(keys)}"
            problems.append(Problem.of("--set", f"unknown key {key!r}{hint}"))
    if problems:
        raise LabError(problems=problems)
    return of_load, of_workload


def _workload_keys(name: str) -> Sequence[str]:
    """Return what can be set in a workload file; nothing if it cannot be read, which is reported later."""
    try:
        data, _ = read_fields(WORKLOADS / f"{name}.yaml")
    except WorkloadError:
        return ()
    return overrides.keys(data)


_NUMBERS: Mapping[Kind, tuple[Callable[[str], float], str]] = {
    Kind.COUNT: (int, "a whole number"),
    Kind.NUMBER: (float, "a number"),
}
"""How numbers are read, and what they are called."""


def _value(option: load.LoadOption, text: str) -> Any:
    """Read a value of ``--set``, as Typer reads that of an option. Raises LabError."""
    if option.kind is Kind.CHOICE:
        return chosen(f"--set {option.name}: unknown value", text, option.choices)
    if option.kind not in _NUMBERS:
        return _read(option, text)
    read, what = _NUMBERS[option.kind]
    try:
        return read(text)
    except ValueError:
        raise LabError(f"--set {option.name}: {text!r} is not {what}", "For example: --set seed=7") from None


def _read(option: load.LoadOption, value: Any) -> Any:
    """Convert a value from Typer, which passes durations as text."""
    if option.kind is not Kind.DURATION or not isinstance(value, str):
        return value
    return parse_duration(value, option=option.flag, seconds_min=option.at_least or 0.0)


EVERY_COMMAND = ("BRIDGE_ADDRESS", "COMPOSE_PROFILES", "NODE_INPUTS", "LAB_SET")
"""Variables that cannot be set for one start of the lab, apart from ports and secrets."""


def shape_variables(given: Mapping[str, Any], settings: Iterable[str] | None, known: Settings) -> dict[str, str]:
    """Return the variables of ``.env`` that options of ``up`` and its ``--set`` set, also beside the shape."""
    variables, problems = variables_of(given), []
    for name, text in _parsed(settings).items():
        knob = BY_VARIABLE.get(name)
        if name in variables and knob is not None:
            problems.append(Problem.of(f"--set {name}", "is given twice", f"Leave it out, or leave out {knob.flag}."))
        elif knob is not None:
            variables[name] = knob.text(text) if knob.kind is Kind.BYTES else text
        elif name in known.values and (name in EVERY_COMMAND or name.endswith("_PORT") or name not in known.public()):
            problems.append(Problem.of(f"--set {name}", "is read by every command", "Set it in .env."))
        elif "'" in text:
            problems.append(Problem.of(f"--set {name}", "must have no apostrophe", "Set it in .env."))
        elif name in known.values:
            variables[name] = text
        else:
            own = BY_NAME.get(name)
            hint = f", did you mean {own.variable!r}?" if own else did_you_mean(name, known.values)
            problems.append(
                Problem.of("--set", f"unknown setting {name!r}{hint}", "Settings are the variables in .env.")
            )
    if problems:
        raise LabError(problems=problems)
    return variables


def refuse_beside_like(given: Sequence[str]) -> None:
    """Raise LabError if other options are given with ``--like``, which repeats a run to the letter."""
    if given:
        raise LabError(f"{given[0]}: is not for --like, which repeats a run to the letter", "Leave it out.")


def forced_images(images: ImageSource | None) -> ImageChoice | None:
    return None if images is None else images.value
