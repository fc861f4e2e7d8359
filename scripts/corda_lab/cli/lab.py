"""The verbs of the lab itself: ``doctor``, ``up``, ``down``, ``status``."""

import json
from typing import Annotated

import typer

from corda_lab.cli.options import ImagesOption, JsonOption, forced_images
from corda_lab.host import dockerd
from corda_lab.lab import doctor as doctor_module
from corda_lab.lab import lifecycle, shape
from corda_lab.lab.settings import PARTIES, PARTIES_MIN, load_settings
from corda_lab.text import ui


def doctor(as_json: JsonOption = False) -> None:
    """Check engine, Compose, memory, disk, ports and kept volumes, and say how to mend each.

    Example: `scripts/lab doctor`
    """
    checks = doctor_module.examine(shape.of_running(load_settings()))
    if as_json:
        print(json.dumps([check.as_dict() for check in checks], indent=2))
    else:
        marks = {"ok": "[green]ok[/green]", "warning": "[yellow]warning[/yellow]", "failure": "[red]failure[/red]"}
        for check in checks:
            ui.console.print(f"{marks[check.level.value]:<24}", end="")
            ui.console.print(f" {check.name}: {check.finding}", markup=False)
            if check.level is not doctor_module.Level.OK and check.remedy:
                ui.console.print(f"         {check.remedy}", markup=False)
    if any(check.level is doctor_module.Level.FAILURE for check in checks):
        raise typer.Exit(2)


def up(
    images: ImagesOption = None,
    parties: Annotated[
        int | None, typer.Option(help=f"Parties besides the notary, {PARTIES_MIN} to {len(PARTIES)}.")
    ] = None,
    corda: Annotated[str | None, typer.Option(help="Version of Corda: 4.1, 4.3 to 4.10.")] = None,
    database: Annotated[str | None, typer.Option(help="h2, inside each node, or postgres.")] = None,
    notary: Annotated[str | None, typer.Option(help="simple, validating, jpa, raft or bft.")] = None,
    preset: Annotated[str | None, typer.Option(help="Settings of the nodes: a file of configs/nodes/.")] = None,
    dev_mode: Annotated[
        bool | None, typer.Option("--dev-mode/--no-dev-mode", help="Corda's development mode, or a root of its own.")
    ] = None,
    size: Annotated[str | None, typer.Option(help="Heap and cores of each node: small, medium or large.")] = None,
    heap: Annotated[str | None, typer.Option(help="Heap of each node: 1g; its memory limit follows.")] = None,
    cores: Annotated[str | None, typer.Option(help="Cores that each node may use: 2, 0.5; 0 for all.")] = None,
    cpuset: Annotated[str | None, typer.Option(help="Which cores nodes may use: 0-3 or 0,2.")] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(help="Condition of a link: partya-partyb=+40ms, partya-postgres=+8ms,10mbit. Repeat it."),
    ] = None,
) -> None:
    """Prepare images, build, start every service and wait until all are healthy.

    What is not given comes from .env. CorDapps in cordapps/extra/ are checked first, and installed on every node.

    Example: `scripts/lab up --parties 5 --database postgres`
    """
    given = {
        "parties": None if parties is None else str(parties),
        "corda": corda,
        "database": database,
        "notary": notary,
        "preset": preset,
        "dev_mode": None if dev_mode is None else str(dev_mode).lower(),
        "heap": heap,
        "cores": cores,
        "cpuset": cpuset,
        "link": None if link is None else " ".join(link),
    }
    options = {shape.OPTIONS[name]: value for name, value in given.items()}
    settings = shape.with_options(load_settings(), options, size=size)
    lifecycle.up(settings, forced_images(images))
    lifecycle.print_urls(settings)


def down(
    volumes: Annotated[bool, typer.Option("--volumes", help="Also forget ledgers, identities and metrics.")] = False,
    stop_engine: Annotated[bool, typer.Option("--engine", help="Also stop Docker, if scripts/lab started it.")] = False,
) -> None:
    """Stop the lab. Ledgers and identities stay unless --volumes is given; results stay always.

    Example: `scripts/lab down --volumes`
    """
    lifecycle.require_engine()
    lifecycle.down(load_settings(), volumes=volumes)
    if stop_engine and dockerd.stop_engine_if_ours():
        ui.note("the Docker engine that scripts/lab had started is stopped")


def status(as_json: JsonOption = False) -> None:
    """Show services, addresses and flows that are under way.

    Example: `scripts/lab status --json`
    """
    from corda_lab.cli import status as status_module

    state = status_module.gather(load_settings())
    if as_json:
        print(json.dumps(state, indent=2))
    else:
        status_module.show(state)
    if not state["ready"]:
        raise typer.Exit(1)
