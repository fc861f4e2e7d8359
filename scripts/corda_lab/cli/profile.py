"""The verb ``profile``."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from corda_lab.cli.options import JsonOption
from corda_lab.lab.settings import load_settings
from corda_lab.profile.events import check_seconds, find_event
from corda_lab.results.profiles import Event
from corda_lab.text import tables, ui

if TYPE_CHECKING:
    from pathlib import Path

    from corda_lab.results.profiles import Profile


def profile(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of a node, such as PartyA, or bridge.")],
    seconds: Annotated[int, typer.Option(help="How long samples are taken, 1 to 600.")] = 30,
    event: Annotated[
        str,
        typer.Option(
            metavar="|".join(Event),
            help="cpu: CPU time. alloc: memory allocated. lock: time waited for locks. wall: the time of all threads.",
        ),
    ] = Event.CPU.value,
    as_json: JsonOption = False,
) -> None:
    """Profile a running node, or the bridge: a flame graph, and the ten components that take the most.

    The node is not restarted. Start load first: the profile states how many flows ended meanwhile. Writes one HTML file
    to results/profiles/, with the stacks and the components beside it. `lab run --profile` does the same under the load
    of a run.

    Example: `scripts/lab profile PartyA --seconds 30 --event cpu`
    """
    from corda_lab.profile import take
    from corda_lab.runs.running import deployed

    chosen = find_event(event)
    check_seconds(seconds)
    lab = deployed(load_settings())
    if as_json:
        _, found = take.take(node, chosen, seconds, lab, lambda _: None)
        print(found.model_dump_json(indent=2))
        return
    with ui.Ticker(every_seconds=10) as ticker:
        path, found = take.take(node, chosen, seconds, lab, ticker.show)
    _show(found, path)


def _show(found: "Profile", path: "Path") -> None:
    from corda_lab.results import profiles

    ui.console.print(profiles.headline(found), style="bold", markup=False)
    ui.console.print(profiles.load_words(found.flows), markup=False)
    if waiting := profiles.waiting_words(found):
        ui.console.print(waiting, markup=False)
    ui.console.print()
    table = tables.table("share", "component", "value", "hottest method", numbers=["share", "value"])
    for row in profiles.rows(found):
        table.add_row(*map(escape, row))
    tables.show(table)
    ui.console.print()
    if found.flows is not None and found.flows.is_idle:
        text = f"warning: {found.node} was idle: no flow started or ended while it was profiled"
        ui.console.print(text, style="yellow", markup=False)
    ui.console.print(f"flame graph: {path}", markup=False)
    ui.console.print(f"components:  {path.with_suffix('.md')}", markup=False)
