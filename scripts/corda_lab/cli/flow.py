"""The verb ``flow``: where the time of one flow went."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from corda_lab import atomic
from corda_lab.cli.options import JsonOption
from corda_lab.errors import LabError
from corda_lab.report import waterfall
from corda_lab.results import folders, stored
from corda_lab.steps.waterfall import Waterfall
from corda_lab.text import ui

FORMATS = (".svg", ".html")


def flow(
    identity: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="A flow id, client id or transaction id of a request, or the beginning of one."
        ),
    ],
    run_name: Annotated[
        str, typer.Option("--run", metavar="RUN", help="Name of a run, the beginning of a name, or latest.")
    ] = "latest",
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the picture to this file: .svg or .html.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show where the time of one request went: at the client, the bridge, the nodes and the notary, span by span.

    The report of a run has the slowest, the median and a failed request; this shows any. requests.parquet in the folder
    of a run has the ids. The id of another party's flow, from its log, finds the request that it answered.

    Flows of CorDapps that do not time their stages show the time of the client and the bridge only.

    Example: `scripts/lab flow c5084132 --run latest --output flow.svg`
    """
    suffix = "" if output is None else output.suffix.lower()
    if output is not None and suffix not in FORMATS:
        raise LabError(f"--output: {output.name} is neither .svg nor .html", "Give a name with one of these endings.")
    run = stored.read(folders.find_run(run_name))
    found = waterfall.by_identity(run, identity)
    if output is not None:
        _write(output, suffix, found, run.identity)
    if as_json:
        ui.print_json({"run": run.identity, **asdict(found), "largest": found.largest})
        return
    _show(found, run.identity, run.is_sweep)
    if output is not None:
        ui.say(f"picture: {output}")


def _write(output: Path, suffix: str, found: Waterfall, run: str) -> None:
    title = f"{run}: {waterfall.headline_of(found)}"
    text = waterfall.svg(found, title, is_alone=True) + "\n" if suffix == ".svg" else waterfall.page(found, title, run)
    try:
        atomic.write_text(output, text)
    except OSError as error:
        raise LabError(
            f"--output: {output} cannot be written ({error.strerror})", "Choose a folder that you can write."
        ) from None


def _show(found: Waterfall, run: str, is_sweep: bool) -> None:
    step = f", step {found.step}" if is_sweep else ""
    ui.say(f"{waterfall.headline_of(found)}  ({run}{step})", "bold")
    if words := waterfall.largest_words(found):
        ui.say(words)
    if found.error:
        ui.say(f"error: {found.error}", "red")
    for name, value in waterfall.identity_of(found):
        ui.say(f"{name:<12} {value}")
    ui.console.print()
    for line in waterfall.lines(found, ui.console.width):
        ui.say(line)
    ui.say(waterfall.LEGEND, "dim")
    for note in (*found.notes, waterfall.CLOCK):
        ui.say(note, "dim")
