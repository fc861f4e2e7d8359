"""Options that several verbs share, and ``--set``."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from corda_lab.errors import LabError
from corda_lab.knobs.shape import BY_NAME, BY_VARIABLE, Kind, Knob, variables_of
from corda_lab.lab.lifecycle import ImageChoice
from corda_lab.lab.settings import Settings
from corda_lab.paths import WORKLOADS
from corda_lab.steps.load import WARM_UP_MAX, flag, read_load, text_of, until_steady, with_limit
from corda_lab.text.durations import parse_duration
from lab_workload import overrides
from lab_workload.load import OPTIONS, Load
from lab_workload.names import did_you_mean
from lab_workload.problems import Problem

ImagesOption = Annotated[
    ImageChoice | None,
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


def declared(knob: Knob) -> Any:
    return typer.Option(knob.flag, help=knob.help)


def load_option(key: str) -> Any:
    """The option of ``lab run`` for a field of a load."""
    field = OPTIONS[key]
    default = field.default
    usage = field.description or ""
    return typer.Option(flag(key), help=usage if default is None else f"{usage} Default: {text_of(key, default)}.")


def load_options(workload: str, given: Mapping[str, Any], *, settings: Sequence[str] | None = None) -> Load:
    """Return the requested load. ``given`` has the values by key; None means that the option is not given.

    A duration is a text such as ``2m``, or a number of seconds. ``settings`` are the values of ``--set``.
    Raises LabError for an invalid value.
    """
    keys = overrides.keys_in(WORKLOADS / f"{workload}.yaml") if settings else ()
    texts, set_values, problems = overrides.split(_parsed(settings), (*OPTIONS, WARM_UP_MAX), keys)
    values = {key: value for key, value in given.items() if value is not None}
    problems += [
        Problem.of(f"--set {key}", "is given twice", "Leave one of them out.") for key in texts if key in values
    ]
    if problems:
        raise LabError(problems=problems)
    values |= texts
    longest = values.pop(WARM_UP_MAX, None)
    asked = read_load({**values, "workload": workload, "overrides": set_values})
    if longest is None:
        return with_limit(asked, values)
    if asked.is_counted:
        raise LabError(f"{flag(WARM_UP_MAX)}: is not for a load that ends after a number of flows", "Leave it out.")
    return until_steady(asked, parse_duration(str(longest), option=flag(WARM_UP_MAX)))


def _parsed(settings: Iterable[str] | None) -> dict[str, str]:
    values, problems = overrides.parse(list(settings or ()))
    if problems:
        raise LabError(problems=problems)
    return values


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


def refuse_beside_like(like: str | None, anyway: bool, others: Mapping[str, object]) -> None:
    """Raise LabError if other options are given with ``--like``, or ``--anyway`` without it."""
    given = [name for name, value in others.items() if value]
    if like is not None and given:
        raise LabError(f"{given[0]}: is not for --like, which repeats a run to the letter", "Leave it out.")
    if like is None and anyway:
        raise LabError("--anyway: is only for --like", "Leave it out.")
