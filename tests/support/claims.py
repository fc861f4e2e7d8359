"""A small figure, its sweep, and repeats whose values follow from a formula, for the tests of claims."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from corda_lab.figures.figure import Figure, Form, read_figure
from corda_lab.figures.points import Point
from corda_lab.figures.repeats import Repeat
from corda_lab.steps.entry import ParameterValue

SWEEP = """\
description: Two versions, four numbers of users.
workload: iou
set: {depth: 10}
vary:
  shape.corda: ["4.9", "4.10"]
  load.users: [1, 10, 40, 70]
x: load.users
repeats: 3
warm_up: {min: 5s, max: 15s}
measure: 15s
quick:
  vary: {shape.corda: ["4.9"], load.users: [1, 10, 40]}
"""

HEAD = """\
title: Latency of a burst
source: {document: iitb-2019, place: "section 3.4.1, figure 3.5"}
words:
  - Latency also increases in a linear fashion.
  - The throughput is around 8.
conditions: Corda 3.3, H2
published:
  - {id: IIT-3.5, x: requests in 1s, y: mean latency, by: edition, beside: x}
  - {id: IIT-3.4, x: requests in 1s, y: throughput, by: edition}
sweep: own
chart: {x: load.users, y: p50, by: shape.corda, anchor: {load.users: 10}}
"""
"""A figure without its claims and deviations."""

POINTS: Sequence[Mapping[str, ParameterValue]] = [
    {"shape.corda": version, "load.users": users} for version in ("4.9", "4.10") for users in (1, 10, 40, 70)
]

Values = Callable[[Mapping[str, ParameterValue]], Mapping[str, float | None]]
"""The metrics of a point, by what varies."""


def write_figure(folder: Path, claims: str, *, head: str = HEAD, sweep: str = SWEEP, deviations: str = "[]") -> Path:
    """Write a figure and its sweep into a folder, and return the path of the figure. ``claims`` has one a line."""
    listed = "\n".join(f"  - {{{line}}}" for line in claims.strip().splitlines())
    (folder / "own.yaml").write_text(sweep, encoding="utf-8")
    path = folder / "fig.yaml"
    path.write_text(f"{head}claims:\n{listed}\ndeviations: {deviations}\n", encoding="utf-8")
    return path


def figure_of(folder: Path, claims: str, *, head: str = HEAD, sweep: str = SWEEP) -> Figure:
    """Read the figure that ``write_figure`` writes."""
    return read_figure(write_figure(folder, claims, head=head, sweep=sweep), folder)


def repeat_of(
    number: int,
    values: Values,
    *,
    points: Sequence[Mapping[str, ParameterValue]] = POINTS,
    form: Form = "full",
    digest: str = "same",
    cores: int = 2,
    enterprise: bool = False,
    broke: Sequence[Mapping[str, ParameterValue]] = (),
    invalid: Sequence[Mapping[str, ParameterValue]] = (),
    failed: int | None = 0,
) -> Repeat:
    """Return a repeat. The points in ``broke`` ended a node, and those in ``invalid`` have no valid step.

    ``failed`` requests of every other point did not succeed.
    """
    made = []
    for point in points:
        if point in broke:
            made.append(Point(values=dict(point), outcome="broke", reason="PartyA ended: OutOfMemoryError"))
        elif point in invalid:
            made.append(Point(values=dict(point), outcome="invalid", reason="the machine swapped"))
        else:
            made.append(Point(values=dict(point), metrics=dict(values(point)), failed=failed))
    return Repeat(
        sweep="own",
        form=form,
        repeat=number,
        at=f"2026-01-{number:02d}T00:00:00Z",
        run=f"2026010{number}T000000Z-own",
        lab_version="0.2.0",
        commit="0123456789ab",
        machine="A processor",
        cores=cores,
        images={"example.org/corda-enterprise" if enterprise else "corda-lab/node:4.9": "sha256:1"},
        sweep_digest=digest,
        points=made,
    )
