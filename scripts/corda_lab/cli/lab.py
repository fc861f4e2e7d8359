"""The verbs that start, stop and check the lab: ``doctor``, ``up``, ``down``."""

from contextlib import nullcontext
from dataclasses import asdict
from typing import Annotated

import typer

from corda_lab.cli.options import (
    ImagesOption,
    JsonOption,
    PlacementOption,
    declared,
    forced_images,
    shape_variables,
)
from corda_lab.errors import LabError
from corda_lab.faults import inject
from corda_lab.host import engine
from corda_lab.knobs.shape import BY_NAME, SIZE
from corda_lab.lab import doctor as doctor_module
from corda_lab.lab import lifecycle, project, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.doctor import Check, Level
from corda_lab.lab.lock import locks_lab
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.runs import by_hand, leftovers
from corda_lab.swarm import deployment
from corda_lab.swarm import lifecycle as swarm
from corda_lab.text import ui
from corda_lab.text.words import plural

COLOURS = {Level.OK: "green", Level.UNKNOWN: "dim", Level.WARNING: "yellow", Level.FAILURE: "red"}


def doctor(as_json: JsonOption = False, placement: PlacementOption = None) -> None:
    """Check Docker, Compose, memory, disk, ports and existing volumes, and show a remedy for every problem.

    Also warns of what bends measurements: CPU governor and turbo, CPU steal, and other programs that use the CPU now.

    With --on, check every host of the placement, that it reaches the registry, and that its clock is that of this one.

    Exit status 2 if a check fails. A warning is no failure.

    Example: `scripts/lab doctor`
    """
    project.settle()
    checks = examine(placement)
    if as_json:
        ui.print_json([asdict(check) for check in checks])
    else:
        for check in checks:
            ui.console.print(f"{check.level.value:<8}", style=COLOURS[check.level], end="")
            ui.say(f" {check.name}: {check.finding}")
            if check.level is not Level.OK and check.remedy:
                ui.say(f"         {check.remedy}")
    if any(check.level is Level.FAILURE for check in checks):
        raise typer.Exit(2)


def examine(placement: str | None) -> list[Check]:
    if placement is not None:
        return swarm.check(swarm.prepare(load_settings(), placement))
    return doctor_module.examine(shape.of_running(load_settings()))


@locks_lab
def up(
    corda: Annotated[str | None, declared(BY_NAME["corda"])] = None,
    database: Annotated[str | None, declared(BY_NAME["database"])] = None,
    notary: Annotated[str | None, declared(BY_NAME["notary"])] = None,
    parties: Annotated[int | None, declared(BY_NAME["parties"])] = None,
    cordapp: Annotated[str | None, declared(BY_NAME["cordapp"])] = None,
    preset: Annotated[str | None, declared(BY_NAME["preset"])] = None,
    link: Annotated[list[str] | None, declared(BY_NAME["link"])] = None,
    size: Annotated[str | None, declared(SIZE)] = None,
    variables: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="VARIABLE=VALUE",
            help="Set any other variable of .env for this lab: NODE_HEAP=2g. Repeatable.",
        ),
    ] = None,
    images: ImagesOption = None,
    placement: PlacementOption = None,
    recover: Annotated[
        str | None,
        typer.Option(
            metavar="NODE",
            help="First recover the H2 database of a node that cannot be opened. The damaged file is kept.",
        ),
    ] = None,
) -> None:
    """Pull or build the images, start every service and wait until all are healthy.

    What you leave out comes from .env, where every variable is explained. CorDapps in cordapps/extra/ are checked and
    installed on every node.

    With --on, this machine must be a manager of the swarm.

    Example: `scripts/lab up --parties 5 --database postgres --set NODE_HEAP=2g`
    """
    given = {
        "corda": corda,
        "database": database,
        "notary": notary,
        "parties": parties,
        "cordapp": cordapp,
        "preset": preset,
        "link": link,
    }
    known = load_settings()
    settings = shape.with_options(known, shape_variables(given, variables, known), size=size)
    if placement is not None:
        if recover:
            raise LabError("--recover is not for a lab on several hosts", "Leave it out, or start a new network.")
        _start_stack(settings, placement, images=forced_images(images))
    else:
        leftovers.start_lab(settings, forced_images(images), recover=recover)
    lifecycle.print_urls(settings)


def _start_stack(settings: Settings, placement: str, *, images: lifecycle.ImageChoice | None) -> None:
    """Start the lab on the hosts of a placement, without what ended commands have left in it. Raises LabError."""
    lifecycle.require_engine()
    if stack := deployment.find(settings):
        if inject.is_left(stack.project):
            inject.heal_left(stack.project)
        leftovers.stop_loads(stack)
    swarm.up(settings, placement, images)
    if stack := deployment.find(settings):
        leftovers.collect(stack)


@locks_lab
def down(
    volumes: Annotated[
        bool, typer.Option("--volumes", help="Also delete the volumes: ledgers, identities and metrics.")
    ] = False,
    stop_engine: Annotated[bool, typer.Option("--engine", help="Also stop Docker, if scripts/lab started it.")] = False,
    placement: PlacementOption = None,
) -> None:
    """Stop the lab. Volumes (ledgers, identities, metrics) are kept unless you pass --volumes. Results are always kept.

    With --on, on the hosts on which the lab was started, and on those of the placement.

    Example: `scripts/lab down --volumes`
    """
    settings = load_settings()
    lifecycle.require_engine()
    if placement is not None:
        _stop_stack(settings, placement, volumes=volumes)
        return
    with inject.removing(settings.project):
        loads = [] if volumes else by_hand.here()
        if volumes:
            # Rows of a run whose command was killed, and of loads of the web UI, are not the lab's to delete.
            leftovers.collect_before_removal(Compose(settings))
            by_hand.keep_all(settings)
        lifecycle.down(settings, volumes=volumes)
    if loads:
        ui.note(f"kept in the lab's volume: {plural(len(loads), 'load')} of the web UI without a run")
    if stop_engine and engine.stop_engine_if_ours():
        ui.note("stopped the Docker engine that scripts/lab had started")


def _stop_stack(settings: Settings, placement: str, *, volumes: bool) -> None:
    """Stop the lab on several hosts, of which one may be gone for good. Raises LabError."""
    known = deployment.find(settings) or deployment.former(settings)
    with inject.removing(known.project) if known else nullcontext():
        if known:
            # Rows of a run whose command was killed are not the lab's to delete.
            collect = leftovers.collect_before_removal if volumes else leftovers.collect
            collect(known)
        swarm.down(settings, placement, volumes=volumes)
