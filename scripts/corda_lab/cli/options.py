"""Options that several verbs share."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

import typer

from corda_lab.errors import LabError
from corda_lab.knobs.options import Kind, Option
from corda_lab.steps import load
from corda_lab.text.durations import parse_duration

if TYPE_CHECKING:
    from corda_lab.lab.lifecycle import ImageChoice


class ImageSource(StrEnum):
    """Source of third-party images: pulled from a registry, or built on this machine."""

    REGISTRY = "registry"
    LOCAL = "local"


class MetricName(StrEnum):
    """The metric by which runs are compared."""

    THROUGHPUT = "throughput"
    STATES = "states"
    P50 = "p50"
    P95 = "p95"
    P99 = "p99"


ImagesOption = Annotated[
    ImageSource | None,
    typer.Option(
        "--images",
        help="registry: pull images. local: build stand-ins from Debian packages. Default: whichever works here.",
    ),
]


OnOption = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="PLACEMENT",
        help="Several hosts: what runs on which, a file or a name in configs/placements/ (docs/scale-out.md).",
    ),
]


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


Verb = TypeVar("Verb", bound=Callable[..., None])

_TYPES: Mapping[Kind, Any] = {
    Kind.COUNT: int,
    Kind.NUMBER: float,
    Kind.CORES: float,
    Kind.FLAG: bool,
    Kind.WORDS: list[str],
}
"""The Python type of an option's value. Kinds that are not listed are str."""


def takes(options: Iterable[Option]) -> Callable[[Verb], Verb]:
    """Replace a verb's ``**`` parameter by the declared options. The value of an option that is not given is None.

    The options follow the verb's positional parameters and precede its keyword-only parameters.
    """
    declared = [_parameter(option) for option in options]

    def give(verb: Verb) -> Verb:
        signature = inspect.signature(verb, eval_str=True)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        last = [each for each in own if each.kind is inspect.Parameter.KEYWORD_ONLY]
        first = [each for each in own if each not in last]
        cast(Any, verb).__signature__ = signature.replace(parameters=[*first, *declared, *last])
        return verb

    return give


def _parameter(option: Option) -> inspect.Parameter:
    """Return the function parameter from which Typer makes the option."""
    flags = [f"{option.flag}/{option.negative_flag}"] if option.kind is Kind.FLAG else [option.flag]
    read = cast(Any, Literal)[option.choices] if option.kind is Kind.CHOICE else _TYPES.get(option.kind, str)
    annotation: Any = Annotated[read | None, typer.Option(*flags, help=option.usage)]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def forced_images(images: ImageSource | None) -> "ImageChoice | None":
    return None if images is None else images.value


def load_options(workload: str, given: Mapping[str, Any], *, settings: Sequence[str] | None = None) -> load.LoadOptions:
    """Return the requested load. ``given`` has the values by option name; None means that the option is not given.

    A duration is a text such as ``2m``, or a number of seconds. ``settings`` are the values of ``--set``.
    Raises LabError for an invalid value.
    """
    from lab_workload import overrides

    options = {option.name: option for option in load.RUN_OPTIONS}
    values = {name: _read(options[name], value) for name, value in given.items() if value is not None}
    warm_up_max = values.pop(load.WARM_UP_MAX.name, None)
    set_values, problems = overrides.parse(settings or [])
    if problems:
        raise LabError(problems=problems)
    asked = load.LoadOptions(workload=workload, overrides=set_values, **load.attributes_of(values))
    if asked.is_counted and warm_up_max is not None:
        raise LabError(f"{load.WARM_UP_MAX.flag}: is not for a load that ends after a number of flows", "Leave it out.")
    asked = load.with_limit(asked, values)
    return asked if warm_up_max is None else load.until_steady(asked, warm_up_max)


def _read(option: load.LoadOption, value: Any) -> Any:
    """Convert a value from Typer, which passes durations as text."""
    if option.kind is not Kind.DURATION or not isinstance(value, str):
        return value
    return parse_duration(value, option=option.flag, seconds_min=option.at_least or 0.0)
