"""The verb ``profile``, and its mode ``heap``."""

from contextlib import ExitStack
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape

from corda_lab.cli.options import JsonOption
from corda_lab.errors import LabError, chosen
from corda_lab.lab import lifecycle, lock, project
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.profile import jvm
from corda_lab.profile.jvm import Histogram
from corda_lab.profile.session import take
from corda_lab.results import profiles
from corda_lab.results.profiles import Event
from corda_lab.runs.running import deployed
from corda_lab.text import tables, ui
from corda_lab.text.words import plural, size

SECONDS_MIN, SECONDS_MAX = 1, 600
"""How long samples can be taken."""
TOP_DEFAULT = 20
TOP_MAX = 100_000


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
    kind = Event(chosen("--event: unknown event", event, [kind.value for kind in Event]))
    if not SECONDS_MIN <= seconds <= SECONDS_MAX:
        raise LabError(f"--seconds: {seconds} is out of range", f"Use {SECONDS_MIN} to {SECONDS_MAX}.")
    lab = deployed(load_settings())
    if as_json:
        _, taken = take(node, kind, seconds, lab, lambda _: None)
        print(taken.model_dump_json(indent=2))
        return
    with ui.Ticker(every_seconds=10) as ticker:
        path, taken = take(node, kind, seconds, lab, ticker.show)
    ui.say(profiles.headline(taken), "bold")
    ui.say(profiles.load_words(taken.flows))
    if waiting := profiles.waiting_words(taken):
        ui.say(waiting)
    ui.console.print()
    table = tables.table("share", "component", "value", "hottest method", numbers=["share", "value"])
    for share, name, value, _, method in profiles.rows(taken):
        table.add_row(*map(escape, (share, name, value, method)))
    tables.show(table)
    ui.console.print()
    if taken.flows is not None and taken.flows.is_idle:
        ui.say(f"warning: {taken.node} was idle: no flow started or ended while it was profiled", "yellow")
    ui.say(f"flame graph: {path}")
    ui.say(f"components:  {path.with_suffix('.json')}")


def heap(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of a node, such as PartyA, or bridge.")],
    top: Annotated[int, typer.Option(help="How many classes are shown: those with the most bytes.")] = TOP_DEFAULT,
    everything: Annotated[
        bool, typer.Option("--all", help="Count garbage too. Then nothing is collected before.")
    ] = False,
    during_run: Annotated[
        bool, typer.Option("--during-run", help="Do it even if a command is measuring this lab. That bends its values.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Count the objects on the heap of a running node, or of the bridge, by class.

    The JVM collects all its garbage first, and stands still until it has counted, about a second or less. So while
    another command uses the lab, such as `lab run`, it is refused.

    Example: `scripts/lab profile heap PartyA --top 10`
    """
    if not 1 <= top <= TOP_MAX:
        raise LabError(f"--top: {top} is out of range", f"Use 1 to {TOP_MAX}.")
    project.settle()
    settings = load_settings()
    with ExitStack() as stack:
        if not during_run:
            _hold(stack, settings)
        lifecycle.require_engine()
        lab = deployed(settings)
        found = jvm.find(jvm.find_name(node, lab.settings), lab)
        counted = jvm.histogram(found, jvm.ALL if everything else jvm.LIVE)
    if as_json:
        ui.print_json(asdict(counted))
    else:
        _show(counted, top)


def _hold(stack: ExitStack, settings: Settings) -> None:
    """Hold the lock of the lab, so that nothing is measured meanwhile. Raises LabError if another command holds it."""
    try:
        stack.enter_context(lock.held(settings.project))
    except LabError as error:
        remedy = "Or count anyway with --during-run: the node stands still meanwhile, which bends its values."
        raise LabError(error.message, f"{error.remedy} {remedy}") from None


def _show(counted: Histogram, top: int) -> None:
    what = "live objects, after a full collection" if counted.is_live else "objects, garbage included"
    ui.say(f"{counted.node}: {counted.instances:,} {what}, {size(counted.bytes)}", "bold")
    ui.console.print()
    table = tables.table("bytes", "share", "instances", "class", numbers=["bytes", "share", "instances"])
    for one in counted.classes[:top]:
        share = 100 * one.bytes / counted.bytes if counted.bytes else 0.0
        table.add_row(size(one.bytes), f"{share:.1f} %", f"{one.instances:,}", escape(one.name))
    tables.show(table)
    if rest := counted.classes[top:]:
        ui.console.print()
        objects, length = sum(one.instances for one in rest), sum(one.bytes for one in rest)
        further = f"{len(rest):,} further {'class' if len(rest) == 1 else 'classes'}"
        ui.say(f"{further}: {plural(objects, 'object')}, {size(length)}")
