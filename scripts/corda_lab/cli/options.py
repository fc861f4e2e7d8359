"""Options that several verbs share."""

from enum import StrEnum
from typing import Annotated

import typer

from corda_lab.lab import lifecycle
from corda_lab.steps import load
from corda_lab.text.durations import parse_duration


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


def forced_images(images: ImageSource | None) -> lifecycle.ImageChoice | None:
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
