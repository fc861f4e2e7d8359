"""The verb ``flow``: where the time of one flow went."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from corda_lab import atomic
from corda_lab.cli.options import JsonOption
from corda_lab.errors import LabError
from corda_lab.report import waterfall
from corda_lab.report.waterfall import Waterfall
from corda_lab.results import folders, stored
from corda_lab.results.stored import StoredRun
from corda_lab.text import ui

FORMATS = (".svg", ".json")


def flow(
    identity: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="A flow, client, transaction or trace id of a request, or the beginning of one."
        ),
    ],
    run_name: Annotated[
        str, typer.Option("--run", metavar="RUN", help="Name of a run, the beginning of a name, or latest.")
    ] = "latest",
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a picture, .svg, or its trace as OTLP, .json."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show where the time of one request went: at the client, the bridge, the nodes and the notary, span by span.

    The report of a run has the slowest, the median and a failed request; this shows any that was traced, of any CorDapp
    on Corda 4.10. requests.parquet in the folder of a run has the ids. The id of another party's flow, from its log,
    finds the request that it answered.

    Example: `scripts/lab flow c5084132 --run latest --output flow.svg`
    """
    suffix = "" if output is None else output.suffix.lower()
    if output is not None and suffix not in FORMATS:
        raise LabError(f"--output: {output.name} is neither .svg nor .json", "Give a name with one of these endings.")
    run = stored.read(folders.find_run(run_name))
    chosen = waterfall.by_identity(run, identity)
    if output is not None:
        _write(output, suffix, chosen, run)
    if as_json:
        ui.print_json({"run": run.identity, **asdict(chosen), "largest": chosen.largest})
        return
    step = f", step {chosen.request['step']}" if run.is_sweep else ""
    ui.say(f"{waterfall.headline_of(chosen)}  ({run.identity}{step})", "bold")
    if words := waterfall.largest_words(chosen):
        ui.say(words)
    if error := chosen.text("error"):
        ui.say(f"error: {error}", "red")
    for name, value in waterfall.identity_of(chosen):
        ui.say(f"{name:<12} {value}")
    ui.console.print()
    ui.console.print(waterfall.table(chosen), soft_wrap=False)
    for note in (*chosen.notes, waterfall.CLOCK):
        ui.say(note, "dim")
    if output is not None:
        ui.say(f"written: {output}")


def _write(output: Path, suffix: str, chosen: Waterfall, run: StoredRun) -> None:
    title = f"{run.identity}: {waterfall.headline_of(chosen)}"
    if suffix == ".json":
        text = waterfall.as_otlp(run, [chosen.request])
    else:
        text = waterfall.svg(chosen, title, is_alone=True) + "\n"
    try:
        atomic.write_text(output, text)
    except OSError as error:
        problem = f"--output: {output} cannot be written ({error.strerror})"
        raise LabError(problem, "Choose a folder that you can write.") from None
