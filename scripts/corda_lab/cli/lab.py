"""The verbs that manage the lab: ``doctor``, ``up``, ``down``, ``status``."""

import json
from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corda_lab.cli.locking import locks_lab
from corda_lab.cli.options import (
    ImagesOption,
    JsonOption,
    OnOption,
    forced_images,
    takes,
)
from corda_lab.errors import LabError
from corda_lab.knobs.shape import SHAPE_OPTIONS, SIZE, variables_of
from corda_lab.lab.settings import load_settings
from corda_lab.text import ui

if TYPE_CHECKING:
    from corda_lab.lab.checks import Check


def doctor(as_json: JsonOption = False, on: OnOption = None) -> None:
    """Check Docker, Compose, memory, disk, ports and existing volumes, and show a remedy for every problem.

    Also warns of what bends measurements: CPU governor and turbo, CPU steal, and other programs that use the CPU now.

    With --on, check every host of the placement, that it reaches the registry, and that its clock is synchronised.

    Exit status 2 if a check fails. A warning is no failure.

    Example: `scripts/lab doctor`
    """
    from corda_lab.lab import project
    from corda_lab.lab.checks import Level

    project.settle()
    checks = examine(on)
    if as_json:
        print(json.dumps([check.as_dict() for check in checks], indent=2))
    else:
        colours = {"ok": "green", "unknown": "dim", "warning": "yellow", "failure": "red"}
        for check in checks:
            ui.console.print(f"{check.level.value:<8}", style=colours[check.level.value], end="")
            ui.console.print(f" {check.name}: {check.finding}", markup=False)
            if check.level is not Level.OK and check.remedy:
                ui.console.print(f"         {check.remedy}", markup=False)
    if any(check.level is Level.FAILURE for check in checks):
        raise typer.Exit(2)


def examine(placement: str | None) -> "list[Check]":
    """Run the checks of this machine, or of the hosts of a placement."""
    if placement is not None:
        from corda_lab.swarm import lifecycle as swarm

        return swarm.examine(swarm.prepare(load_settings(), placement))
    from corda_lab.lab import doctor as doctor_module
    from corda_lab.lab import shape

    return doctor_module.examine(shape.of_running(load_settings()))


@takes(SHAPE_OPTIONS)
@locks_lab
def up(
    images: ImagesOption = None,
    on: OnOption = None,
    recover: Annotated[
        str | None,
        typer.Option(
            "--recover",
            metavar="NODE",
            help="First recover the H2 database of a node that cannot be opened. The damaged file is kept.",
        ),
    ] = None,
    **shape_of_lab: Any,
) -> None:
    """Pull or build the images, start every service and wait until all are healthy.

    Options that you leave out come from .env. CorDapps in cordapps/extra/ are checked and installed on every node.

    With --on, this machine must be a manager of the swarm.

    Example: `scripts/lab up --parties 5 --database postgres`
    """
    from corda_lab.faults import inject
    from corda_lab.lab import lifecycle, shape
    from corda_lab.runs import leftovers, start

    settings = shape.with_options(load_settings(), variables_of(shape_of_lab), size=shape_of_lab[SIZE.name])
    if on is not None:
        from corda_lab.swarm import deployment
        from corda_lab.swarm import lifecycle as swarm

        if recover:
            raise LabError("--recover is not for a lab on several hosts", "Leave it out, or start a new network.")
        lifecycle.require_engine()
        if stack := deployment.find(settings):
            if inject.is_left(stack.project):
                inject.heal_left(stack.project)
            leftovers.stop_loads(stack)
        swarm.up(settings, on, forced_images(images))
        if stack := deployment.find(settings):
            leftovers.collect(stack)
        lifecycle.print_urls(settings)
        return
    start.start(settings, forced_images(images), recover=recover)
    lifecycle.print_urls(settings)


@locks_lab
def down(
    volumes: Annotated[
        bool, typer.Option("--volumes", help="Also delete the volumes: ledgers, identities and metrics.")
    ] = False,
    stop_engine: Annotated[bool, typer.Option("--engine", help="Also stop Docker, if scripts/lab started it.")] = False,
    on: OnOption = None,
) -> None:
    """Stop the lab. Volumes (ledgers, identities, metrics) are kept unless you pass --volumes. Results are always kept.

    With --on, on the hosts on which the lab was started, and on those of the placement.

    Example: `scripts/lab down --volumes`
    """
    from corda_lab.faults import inject
    from corda_lab.host import engine
    from corda_lab.lab import lifecycle
    from corda_lab.lab.compose import Compose
    from corda_lab.runs import by_hand, leftovers

    settings = load_settings()
    lifecycle.require_engine()
    if on is not None:
        from corda_lab.swarm import deployment
        from corda_lab.swarm import lifecycle as swarm

        known = deployment.find(settings) or deployment.former(settings)
        # A host of the stack may be gone for good.
        with inject.removing(known.project) if known else nullcontext():
            if known:
                # Rows of a run whose command was killed are not the lab's to delete.
                collect = leftovers.collect_before_removal if volumes else leftovers.collect
                collect(known)
            swarm.down(settings, on, volumes=volumes)
        return
    with inject.removing(settings.project):
        loads = () if volumes else by_hand.here().loads
        if volumes:
            # Rows of a run whose command was killed, and of loads of the web UI, are not the lab's to delete.
            leftovers.collect_before_removal(Compose(settings))
            by_hand.keep_all(settings)
        lifecycle.down(settings, volumes=volumes)
    by_hand.told_kept(loads)
    if stop_engine and engine.stop_engine_if_ours():
        ui.note("stopped the Docker engine that scripts/lab had started")


def status(as_json: JsonOption = False) -> None:
    """Show the state of every service, the outstanding flows, the URLs and the alerts.

    If the lab is on several hosts, the state is that of Swarm's task, with its host.

    Exit status 1 if the lab is not ready. Alerts do not change it.

    Example: `scripts/lab status --json`
    """
    from corda_lab.cli import status as status_module
    from corda_lab.lab import project

    # Otherwise the first command in a second checkout would show the lab of the first checkout.
    project.settle()
    state = status_module.gather(load_settings())
    if as_json:
        print(json.dumps(asdict(state), indent=2))
    else:
        status_module.show(state)
    if not state.ready:
        raise typer.Exit(1)
