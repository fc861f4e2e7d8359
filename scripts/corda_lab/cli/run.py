"""The verbs that run one load: ``quickstart`` and ``run``."""

from typing import Annotated

import typer

from corda_lab import atomic
from corda_lab.cli import summary
from corda_lab.cli.options import (
    AnywayOption,
    load_option,
    load_options,
    refuse_beside_like,
)
from corda_lab.errors import LabError
from corda_lab.lab import lifecycle, project
from corda_lab.lab.lock import locks_lab
from corda_lab.lab.settings import load_settings
from corda_lab.report import waterfall
from corda_lab.results import folders, stored
from corda_lab.runs import conditioning, execute, leftovers
from corda_lab.runs.running import machine_only
from corda_lab.steps.load import COMMON, INITIATORS, WARM_UP_MAX, flag
from corda_lab.sweeps.like import run_like
from corda_lab.text import tables, ui
from lab_workload.load import OPTIONS, Arrivals, Load
from lab_workload.names import names_in

QUICKSTART = {"users": 8, "warm_up": 10.0, "warm_up_max": 45.0, "duration": 30.0}
"""The options of the first load. Eight users saturate two cores, and each completes many flows in half a minute."""
QUICKSTART_CONDITIONING_SECONDS_MAX = 150.0
"""The longest load that conditions the nodes before the first one. It ends when throughput is steady."""

CONDITION_HELP = (
    "First bring the nodes to where they stay: the same load, until throughput is steady, for at most four "
    "minutes. Nothing of it is measured."
)
PROFILE_HELP = (
    "Profile the CPU time of the nodes that start the flows in the measuring window, for up to a minute, and put a "
    "flame graph of each into the run. It costs some throughput, and the run says so."
)
SET_HELP = (
    f"Set any other field of the load ({', '.join(key for key in (*OPTIONS, WARM_UP_MAX) if key not in COMMON)}), "
    "or a parameter or an argument of the workload. Repeatable."
)


TRACE_HELP = "Also store all traces as one OTLP file, traces.json, which Jaeger and Tempo open."
LIKE_HELP = (
    "Repeat this run to the letter: the same load and seed, on a lab of the same shape, versions and settings. If "
    "anything has changed since, nothing runs, and the changes are listed."
)

WorkloadArgument = Annotated[
    str | None, typer.Argument(metavar="WORKLOAD", help="Name of a file in configs/workloads/.")
]
ProfileNodesOption = Annotated[
    str | None, typer.Option(metavar="NODES", help="Profile these nodes: PartyA,Notary; all; bridge.")
]


@locks_lab
def quickstart() -> None:
    """Go from nothing to a first result: start the lab, run the IOU workload and write a report.

    Installs and builds whatever is missing. A load conditions the nodes until throughput is steady, for up to two and a
    half minutes. After a short warm-up, the workload is measured for 30 seconds in which throughput is steady.

    Example: `scripts/lab quickstart`
    """
    settings = load_settings()
    machine_only(settings)
    folders.require_writable()
    leftovers.start_lab(settings, None)
    options = load_options("iou", QUICKSTART)
    before = conditioning.before_run(options, QUICKSTART_CONDITIONING_SECONDS_MAX)
    folder, step = execute.execute(options, settings, before=before)
    summary.show_run(folder, step)
    ui.console.print()
    table = tables.table("phase", "seconds", numbers=["seconds"])
    for title, seconds in ui.phase_seconds.items():
        table.add_row(title, f"{seconds:.1f}")
    table.add_row("all", f"{sum(ui.phase_seconds.values()):.1f}", style="bold")
    tables.show(table)
    ui.console.print()
    lifecycle.print_urls(settings)
    ui.say("The lab is still up; stop it with `scripts/lab down`.")
    if not step.verdict.passed:
        raise typer.Exit(1)


def run(
    workload: WorkloadArgument = None,
    *,
    users: Annotated[int | None, load_option("users")] = None,
    duration: Annotated[str | None, load_option("duration")] = None,
    warm_up: Annotated[str | None, load_option("warm_up")] = None,
    condition: Annotated[bool, typer.Option("--condition", help=CONDITION_HELP)] = False,
    arrivals: Annotated[Arrivals | None, load_option("arrivals")] = None,
    rate: Annotated[float | None, load_option("rate")] = None,
    flows: Annotated[int | None, load_option("flows")] = None,
    node: Annotated[str | None, load_option("node")] = None,
    name: Annotated[str | None, load_option("name")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=SET_HELP)] = None,
    profile: Annotated[bool, typer.Option("--profile", help=PROFILE_HELP)] = False,
    profile_nodes: ProfileNodesOption = None,
    trace: Annotated[bool, typer.Option("--trace", help=TRACE_HELP)] = False,
    like: Annotated[str | None, typer.Option(metavar="RUN", help=LIKE_HELP)] = None,
    anyway: AnywayOption = False,
) -> None:
    """Run a workload against the lab, and store its rows, metrics, values and report in results/.

    Exit status 0 if no request failed and the counts agree, otherwise 1. The rows of a run that fails or is interrupted
    are kept in the folder of the run; see `scripts/lab list`.

    Nodes that have just been started become faster for some minutes. --condition waits for that.

    Example: `scripts/lab run iou --users 40 --duration 2m --warm-up 30s --condition`

    Open load: `scripts/lab run iou --arrivals poisson --rate 5 --users 100`

    Bursts: `scripts/lab run iou --arrivals burst --users 70 --set within=1s --set bursts=10`

    A number of flows: `scripts/lab run settlement --users 1 --flows 20 --set flows_after=2`

    The same again: `scripts/lab run --like latest`
    """
    given: dict[str, object] = {"users": users, "duration": duration, "warm_up": warm_up, "arrivals": arrivals}
    given |= {"rate": rate, "flows": flows, "node": node, "name": name}
    profiled = _profiled(profile, profile_nodes)
    if like is not None:
        others: dict[str, object] = {"WORKLOAD": workload, "--condition": condition, "--set": settings}
        others |= {"--profile": profiled, "--trace": trace}
        used = {flag(key): value for key, value in given.items()} | others
        refuse_beside_like([flag for flag, value in used.items() if value])
        _repeat(like, anyway=anyway)
        return
    if anyway:
        raise LabError("--anyway: is only for --like", "Leave it out.")
    if workload is None:
        raise LabError("WORKLOAD: is missing", "For example: scripts/lab run iou --users 20")
    options = load_options(workload, given, settings=settings).updated(profile=profiled)
    _run(options, condition=condition, trace=trace)


def _profiled(is_asked: bool, nodes: str | None) -> tuple[str, ...]:
    """Return what is to be profiled. Raises LabError if nodes are asked for, but none is named."""
    if nodes is None:
        return (INITIATORS,) if is_asked else ()
    if not names_in(nodes):
        raise LabError("--profile-nodes: names no node", "Use --profile for the nodes that start the flows.")
    return names_in(nodes)


@locks_lab
def _run(options: Load, *, condition: bool, trace: bool) -> None:
    before = conditioning.before_run(options) if condition else None
    folder, step = execute.execute(options, load_settings(), before=before)
    summary.show_run(folder, step)
    if trace:
        path = folder / "traces.json"
        atomic.write_text(path, waterfall.as_otlp(stored.read(folder)))
        ui.say(f"traces       {path}")
    if not step.verdict.passed:
        raise typer.Exit(1)


def _repeat(name: str, *, anyway: bool) -> None:
    project.settle()
    stored_run = stored.read(folders.find_run(name))
    if stored_run.is_sweep:
        raise LabError(f"--like: {stored_run.identity} is a sweep", f"Use `scripts/lab sweep --like {name}`.")
    folder, step = run_like(stored_run, load_settings(), anyway=anyway)
    summary.show_run(folder, step)
    ui.say(f"compare with `scripts/lab compare {stored_run.identity} {folder.name}`")
    if not step.verdict.passed:
        raise typer.Exit(1)
