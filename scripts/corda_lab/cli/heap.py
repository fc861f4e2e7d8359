"""The verb ``heap``."""

import json
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from corda_lab.cli.options import JsonOption
from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.text import tables, ui

if TYPE_CHECKING:
    from corda_lab.profile.histogram import Histogram

TOP_DEFAULT = 20
TOP_MAX = 100_000


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

    Example: `scripts/lab heap PartyA --top 10`
    """
    from corda_lab.lab import lifecycle, project
    from corda_lab.profile import histogram, jvm
    from corda_lab.runs.running import deployed

    if not 1 <= top <= TOP_MAX:
        raise LabError(f"--top: {top} is out of range", f"Use 1 to {TOP_MAX}.")
    project.settle()
    settings = load_settings()
    with ExitStack() as stack:
        if not during_run:
            _hold(stack, settings)
        lifecycle.require_engine()
        lab = deployed(settings)
        name = jvm.find_name(node, lab.settings)
        found = jvm.find(name, lab)
        counted = histogram.count(found, histogram.ALL if everything else histogram.LIVE)
        _show(counted, top, as_json=as_json)


def _hold(stack: ExitStack, settings: Settings) -> None:
    """Hold the lock of the lab, so that nothing is measured meanwhile. Raises LabError if another command holds it."""
    from corda_lab.lab import lock

    try:
        stack.enter_context(lock.held(settings.project))
    except LabError as error:
        remedy = "Or count anyway with --during-run: the node stands still meanwhile, which bends its values."
        raise LabError(error.message, f"{error.remedy} {remedy}") from None


def _show(counted: "Histogram", top: int, *, as_json: bool) -> None:
    """Print the classes with the most bytes, or all of them as JSON."""
    from corda_lab.text.words import plural, size

    if as_json:
        print(json.dumps(asdict(counted), indent=2))
        return
    what = "live objects, after a full collection" if counted.is_live else "objects, garbage included"
    ui.console.print(f"{counted.node}: {counted.instances:,} {what}, {size(counted.bytes)}", style="bold", markup=False)
    ui.console.print()
    table = tables.table("bytes", "share", "instances", "class", numbers=["bytes", "share", "instances"])
    for one in counted.classes[:top]:
        share = 100 * one.bytes / counted.bytes if counted.bytes else 0.0
        table.add_row(size(one.bytes), f"{share:.1f} %", f"{one.instances:,}", escape(one.name))
    tables.show(table)
    if rest := counted.classes[top:]:
        ui.console.print()
        further = f"{len(rest):,} further {'class' if len(rest) == 1 else 'classes'}"
        ui.console.print(
            f"{further}: {plural(sum(one.instances for one in rest), 'object')}, "
            f"{size(sum(one.bytes for one in rest))}",
            markup=False,
        )
