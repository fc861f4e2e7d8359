"""Options that several verbs share."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer

from corda_lab.knobs.options import Kind, Option
from corda_lab.steps import load
from corda_lab.text.durations import parse_duration

if TYPE_CHECKING:
    from corda_lab.lab.lifecycle import ImageChoice


class ImageSource(StrEnum):
    """Where third-party images come from."""

    REGISTRY = "registry"
    LOCAL = "local"


class Arrivals(StrEnum):
    """When requests start."""

    CLOSED = "closed"
    CONSTANT = "constant"
    POISSON = "poisson"


class MetricName(StrEnum):
    """The figure that runs are compared by."""

    THROUGHPUT = "throughput"
    STATES = "states"
    P50 = "p50"
    P95 = "p95"
    P99 = "p99"


ImagesOption = Annotated[
    ImageSource | None,
    typer.Option("--images", help="Pull images, or build stand-ins from Debian's packages. Default: what works here."),
]


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


UsersOption = Annotated[
    int, typer.Option(help="Users, each with one flow in flight; in open load the most requests in flight at once.")
]


DurationOption = Annotated[str, typer.Option(help="How long to measure, after the warm-up: 60s, 2m.")]


WarmUpOption = Annotated[str, typer.Option(help="Load before the measuring begins; its rows are kept, not counted in.")]


Verb = TypeVar("Verb", bound=Callable[..., None])

_TYPES: Mapping[Kind, Any] = {
    Kind.COUNT: int,
    Kind.NUMBER: float,
    Kind.CORES: float,
    Kind.FLAG: bool,
    Kind.WORDS: list[str],
}
"""What Typer reads, where it is not text."""


def takes(options: Iterable[Option]) -> Callable[[Verb], Verb]:
    """Give a verb the declared options in the place of its ``**`` parameter, each None where it is not given.

    They stand behind the verb's positional parameters and before those that are by keyword only.
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
    """What Typer makes an option of."""
    flags = [f"{option.flag}/{option.negative_flag}"] if option.kind is Kind.FLAG else [option.flag]
    more = " Repeat it for more." if option.kind is Kind.WORDS else ""
    annotation: Any = Annotated[_TYPES.get(option.kind, str) | None, typer.Option(*flags, help=option.help + more)]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def forced_images(images: ImageSource | None) -> "ImageChoice | None":
    return None if images is None else images.value


def load_options(
    workload: str,
    users: int,
    duration: str,
    warm_up: str,
    *,
    pacing: str = "0",
    node: str | None = None,
    counterparty: str | None = None,
    name: str | None = None,
    seed: int = 1,
    arrivals: Arrivals = Arrivals.CLOSED,
    rate: float | None = None,
    late_max: str | None = None,
    workers: int | None = None,
    settings: list[str] | None = None,
) -> load.LoadOptions:
    return load.LoadOptions(
        workload=workload,
        users=users,
        duration_seconds=parse_duration(duration, option="--duration", seconds_min=1.0),
        warm_up_seconds=parse_duration(warm_up, option="--warm-up"),
        pacing_seconds=parse_duration(pacing, option="--pacing"),
        node=node,
        counterparty=counterparty,
        name=name,
        seed=seed,
        arrivals=arrivals.value,
        rate=rate,
        late_max_seconds=None if late_max is None else parse_duration(late_max, option="--late-max"),
        workers=workers,
        overrides=load.parse_overrides(settings or []),
    )
