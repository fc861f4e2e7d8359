"""The verbs that look into the lab: ``flow``, ``profile``, ``audit``, and ``test``, which tests the lab itself."""

import importlib
import sys
from contextlib import nullcontext
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from corda_lab import atomic
from corda_lab.audit import audit_lab
from corda_lab.cli.options import ImagesOption, JsonOption
from corda_lab.cli.summary import verdict_words
from corda_lab.errors import LabError
from corda_lab.lab import lifecycle, lock, project
from corda_lab.lab.lock import locks_lab
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ROOT
from corda_lab.profile import jvm
from corda_lab.profile.jvm import Histogram
from corda_lab.profile.session import take
from corda_lab.report import waterfall
from corda_lab.report.waterfall import Waterfall
from corda_lab.results import folders, profiles, stored
from corda_lab.results.audits import Audit
from corda_lab.results.profiles import Event
from corda_lab.results.stored import StoredRun
from corda_lab.runs.running import deployed, tell
from corda_lab.text import tables, ui
from corda_lab.text.words import plural, size

FORMATS = (".svg", ".json")
AUDIT_SECONDS = 60.0
"""How long reading the ledgers may take: about a thousand transactions a second on a node, and ten seconds a gigabyte.
"""
NodeArgument = Annotated[str, typer.Argument(metavar="NODE", help="Name of a node, such as PartyA, or bridge.")]
Part = StrEnum("Part", ["lint", "unit", "java", "pipeline", "e2e"])
Suite = StrEnum("Suite", ["nightly", "swarm"])
"""The parts and the suites of tests/runner.py."""


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


def profile(
    node: NodeArgument,
    seconds: Annotated[int, typer.Option(min=1, max=600, help="How long samples are taken.")] = 30,
    event: Annotated[
        Event,
        typer.Option(
            help="cpu: CPU time. alloc: memory allocated. lock: time waited for locks. wall: the time of all threads.",
        ),
    ] = Event.CPU,
    as_json: JsonOption = False,
) -> None:
    """Profile a running node, or the bridge: a flame graph, and the ten components that take the most.

    The node is not restarted. Start load first: the profile states how many flows ended meanwhile. Writes one HTML file
    to results/profiles/, with the stacks and the components beside it. `lab run --profile` does the same under the load
    of a run.

    Example: `scripts/lab profile PartyA --seconds 30 --event cpu`
    """
    lab = deployed(load_settings())
    if as_json:
        _, taken = take(node, event, seconds, lab, lambda _: None)
        print(taken.model_dump_json(indent=2))
        return
    with ui.Ticker(every_seconds=10) as ticker:
        path, taken = take(node, event, seconds, lab, ticker.show)
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
    node: NodeArgument,
    top: Annotated[int, typer.Option(min=1, help="How many classes are shown: those with the most bytes.")] = 20,
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
    project.settle()
    settings = load_settings()
    with nullcontext() if during_run else lock.held(settings.project):
        lifecycle.require_engine()
        lab = deployed(settings)
        found = jvm.find(jvm.find_name(node, lab.settings), lab)
        counted = found.histogram(jvm.ALL if everything else jvm.LIVE)
    if as_json:
        ui.print_json(asdict(counted))
    else:
        _show(counted, top)


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


@locks_lab
def audit(
    run_name: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="Name of a run, the beginning of a name, or latest. Without it, the whole ledgers are audited.",
        ),
    ] = None,
    *,
    deadline: Annotated[
        float,
        typer.Option("--deadline", metavar="SECONDS", min=1, max=3600, help="How long reading may take."),
    ] = AUDIT_SECONDS,
    as_json: Annotated[bool, typer.Option("--json", help="Print the audit as JSON, with all ids.")] = False,
) -> None:
    """Prove from the ledgers of all nodes that nothing was lost, doubled or made from nothing.

    Reads the databases of the nodes, and changes nothing in them. The lab should be at rest. Every run and step is
    audited when it ends (audit.json in its folder); this audits a run again on the ledgers as they are now.

    Exit status 0 if the ledgers are right, 1 if there are violations or the ledgers cannot tell.

    Example: `scripts/lab audit latest`
    """
    run = folders.find_run(run_name) if run_name else None
    lab = deployed(load_settings())
    if not as_json:
        tell(lab)
    end(audit_lab(lab, run, deadline), as_json=as_json)


def end(result: Audit, *, as_json: bool) -> None:
    """Print an audit, and exit with 1 unless it passed."""
    if as_json:
        ui.print_json(result.model_dump(mode="json"))
    else:
        table = tables.table("counted", "number", numbers=["number"])
        for name, count in result.counts.items():
            table.add_row(name.replace("_", " "), f"{count:,}")
        if result.counts:
            tables.show(table)
        for one in result.violations:
            ui.console.print(f"[red]{one.kind}[/red] {escape(one.text)}", soft_wrap=True)
        for reason in result.reasons:
            ui.console.print(f"[yellow]cannot tell[/yellow] {escape(reason)}", soft_wrap=True)
        ui.console.print(f"{verdict_words(result)}, in {result.seconds:.1f} s", soft_wrap=True)
    if result.verdict != "passed":
        raise typer.Exit(1)


def run_tests(
    part: Annotated[list[Part] | None, typer.Option(help="Run only this part. Repeatable.")] = None,
    suite: Annotated[
        list[Suite] | None,
        typer.Option(
            help="Run only this suite. nightly: what takes too long to run every time. swarm: the lab on three "
            "engines of this machine; needs root on Linux. Repeatable."
        ),
    ] = None,
    images: ImagesOption = None,
) -> None:
    """Run the checks and tests of the lab itself. The last line is `N passed, N failed`.

    Example: `scripts/lab test --part lint --part unit`
    """
    sys.path.insert(0, str(ROOT / "tests"))
    runner = importlib.import_module("runner")
    if not runner.run(part or (), suite or (), images):
        raise typer.Exit(1)
