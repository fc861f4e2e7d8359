"""The verbs that put loads on the lab: ``quickstart``, ``run``, ``sweep``, ``chaos``, ``reproduce``."""

from pathlib import Path
from typing import Annotated

import typer

from corda_lab import atomic
from corda_lab.chaos import command as chaos_command
from corda_lab.cli import summary
from corda_lab.cli.options import (
    AnywayOption,
    ImagesOption,
    PlacementOption,
    load_option,
    load_options,
    refuse_beside_like,
)
from corda_lab.errors import LabError
from corda_lab.figures import command as figures
from corda_lab.figures.figure import Places
from corda_lab.lab import lifecycle, project
from corda_lab.lab.lock import locks_lab
from corda_lab.lab.settings import load_settings
from corda_lab.report import waterfall
from corda_lab.results import folders, stored
from corda_lab.results.sweep import QUICK_REPEATS_MIN
from corda_lab.runs import conditioning, execute, leftovers
from corda_lab.runs.running import machine_only
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.load import COMMON, INITIATORS, WARM_UP_MAX, flag
from corda_lab.sweeps import command as sweeps
from corda_lab.sweeps.command import SweepRequest
from corda_lab.sweeps.like import run_like, sweep_like
from corda_lab.sweeps.run import problems_of
from corda_lab.text import tables, ui
from lab_workload.load import OPTIONS, Arrivals, Load
from lab_workload.names import names_in

QUICKSTART = {"users": 8, "warm_up": 10.0, "warm_up_max": 45.0, "duration": 30.0}
"""The options of the first load. Eight users saturate two cores, and each completes many flows in half a minute."""
QUICKSTART_CONDITIONING_SECONDS_MAX = 150.0
"""The longest load that conditions the nodes before the first one. It ends when throughput is steady."""
CHAOS = {"users": 8, "pacing": 0.25}
"""The load of a trial. Without the pause, the users would fail thousands of times while a node is away."""
TRIALS_MAX = 1000
FAULTS_MAX = 20
ADD_MAX = 100
ALL = "all"
"""In place of a figure: every figure that can be tested here and does not have its repeats yet."""

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
LIKE_HELP = (
    "Repeat this run to the letter: the same load and seed, on a lab of the same shape, versions and settings. If "
    "anything has changed since, nothing runs, and the changes are listed."
)
LIKE_SWEEP_HELP = (
    "Repeat this sweep to the letter, from its first step. If anything has changed since, nothing runs, and the "
    "changes are listed."
)
QUICK_HELP = (
    "The short form that `quick` in the sweep file describes: fewer points or seconds, but at least "
    f"{QUICK_REPEATS_MIN} repeats."
)
FIGURE_HELP = (
    "Name of a figure in configs/figures/, or path of a figure file of your own, with its sweep in sweeps/ beside it. "
    "all: every figure that can be tested here and does not have its repeats yet."
)

WorkloadArgument = Annotated[
    str | None, typer.Argument(metavar="WORKLOAD", help="Name of a file in configs/workloads/.")
]
ProfileNodesOption = Annotated[
    str | None, typer.Option(metavar="NODES", help="Profile these nodes: PartyA,Notary; all; bridge.")
]
TraceOption = Annotated[
    bool,
    typer.Option("--trace", help="Also store all traces as one OTLP file, traces.json, which Jaeger and Tempo open."),
]
FileArgument = Annotated[
    str | None, typer.Argument(metavar="FILE", help="Path of a sweep file, or its name in configs/sweeps/.")
]
KeptArgument = Annotated[
    str | None, typer.Argument(metavar="[FILE]", help="The sweep file. Default: the latest unfinished sweep.")
]
QuickOption = Annotated[bool, typer.Option("--quick", help=QUICK_HELP)]
ReplaceOption = Annotated[
    bool,
    typer.Option(
        "--replace", help="Delete the existing lab and its ledger first; every sweep starts from an empty ledger."
    ),
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
    _end(step)


def _end(step: StepEntry) -> None:
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
    trace: TraceOption = False,
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
    profiled: tuple[str, ...] = (INITIATORS,) if profile else ()
    if profile_nodes is not None and not (profiled := names_in(profile_nodes)):
        raise LabError("--profile-nodes: names no node", "Use --profile for the nodes that start the flows.")
    others = {"WORKLOAD": workload, **{flag(key): value for key, value in given.items()}}
    others |= {"--condition": condition, "--set": settings, "--profile": profiled, "--trace": trace}
    refuse_beside_like(like, anyway, others)
    if like is not None:
        _run_again(like, anyway=anyway)
        return
    if workload is None:
        raise LabError("WORKLOAD: is missing", "For example: scripts/lab run iou --users 20")
    options = load_options(workload, given, settings=settings).updated(profile=profiled)
    _run(options, condition=condition, trace=trace)


@locks_lab
def _run(options: Load, *, condition: bool, trace: bool) -> None:
    before = conditioning.before_run(options) if condition else None
    folder, step = execute.execute(options, load_settings(), before=before)
    summary.show_run(folder, step)
    if trace:
        path = folder / "traces.json"
        atomic.write_text(path, waterfall.as_otlp(stored.read(folder)))
        ui.say(f"traces       {path}")
    _end(step)


def _run_again(name: str, *, anyway: bool) -> None:
    project.settle()
    stored_run = stored.read(folders.find_run(name))
    if stored_run.is_sweep:
        raise LabError(f"--like: {stored_run.identity} is a sweep", f"Use `scripts/lab sweep --like {name}`.")
    folder, step = run_like(stored_run, load_settings(), anyway=anyway)
    summary.show_run(folder, step)
    ui.say(f"compare with `scripts/lab compare {stored_run.identity} {folder.name}`")
    _end(step)


def sweep(
    file: FileArgument = None,
    quick: QuickOption = False,
    replace: ReplaceOption = False,
    images: ImagesOption = None,
    placement: PlacementOption = None,
    like: Annotated[str | None, typer.Option(metavar="RUN", help=LIKE_SWEEP_HELP)] = None,
    anyway: AnywayOption = False,
) -> None:
    """Run every step of a sweep file, each on a lab of the shape that it needs, and write one report.

    Every step is stored as soon as it ends. After Ctrl-C, a crash or a power cut, only the current step is lost;
    continue with `scripts/lab sweep resume`.

    With --on, each lab is a stack on several hosts. A resumed sweep goes on where it began.

    Exit status 0 if no request failed, all counts agree and every threshold is met (for a search: a rate was
    confirmed), otherwise 1.

    Example: `scripts/lab sweep configs/sweeps/smoke.yaml`

    The same again: `scripts/lab sweep --like latest`
    """
    refuse_beside_like(like, anyway, {"FILE": file, "--quick": quick, "--on": placement})
    request = SweepRequest(file, images, replace, quick, placement=placement)
    project.settle()
    if like is None:
        _show_sweep(sweeps.begin(request, load_settings()))
        return
    stored_run = stored.read(folders.find_run(like))
    if not stored_run.is_sweep:
        raise LabError(f"--like: {stored_run.identity} is no sweep", f"Use `scripts/lab run --like {like}`.")
    _show_sweep(sweep_like(stored_run, request, load_settings(), anyway=anyway))


def plan(
    file: FileArgument = None,
    quick: QuickOption = False,
    detect: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Instead, show how many repeats it takes to see a difference this small, such as 5%.",
        ),
    ] = None,
    placement: PlacementOption = None,
) -> None:
    """Show the steps of a sweep and how long they take. Nothing runs.

    Example: `scripts/lab sweep plan smoke`
    """
    request = SweepRequest(file, quick=quick, placement=placement)
    if detect is not None:
        sweeps.show_detection(request, detect)
    else:
        sweeps.dry_run(request, load_settings())


def resume(file: KeptArgument = None, replace: ReplaceOption = False, images: ImagesOption = None) -> None:
    """Run the missing steps of an unfinished sweep, on the hosts on which it began.

    Example: `scripts/lab sweep resume`
    """
    project.settle()
    _show_sweep(sweeps.resume(SweepRequest(file, images, replace), load_settings()))


def finish(file: KeptArgument = None) -> None:
    """Store and report an unfinished sweep as it is. No more steps run.

    Example: `scripts/lab sweep finish`
    """
    _show_sweep(sweeps.finish(SweepRequest(file)))


def _show_sweep(folder: Path) -> None:
    problems = problems_of(stored.read(folder))
    for problem in problems:
        ui.say(f"failed: {problem}", "red")
    summary.line("report", str(folder / "report.html"))
    if problems:
        raise typer.Exit(1)


@locks_lab
def chaos(
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Make the faults of this run again, under the same load.")
    ] = None,
    *,
    trials: Annotated[
        int, typer.Option(min=1, max=TRIALS_MAX, help="Number of loads, each with faults and an audit of its own.")
    ] = 1,
    faults: Annotated[int, typer.Option(min=1, max=FAULTS_MAX, help="Faults in each load, one after the other.")] = 4,
    seed: Annotated[
        int, typer.Option(min=0, help="The seed of the first trial, of which its faults are drawn; then one more each.")
    ] = 1,
    workload: Annotated[str, typer.Option(help="Workload of the load.")] = "iou",
    kinds: Annotated[
        str, typer.Option(help="Only these faults, separated by commas: kill,pause,partition. Default: all.")
    ] = "",
    targets: Annotated[
        str, typer.Option(help="Only at these parts, separated by commas: notary,partya,bridge. Default: all.")
    ] = "",
) -> None:
    """Kill, freeze, restart and cut off parts of the lab under load, and prove from the ledgers that nothing was lost.

    Each trial is a run with faults that its seed draws: kill, pause, restart, partition, slow-link, reset-link,
    full-disk and memory-limit, on nodes, PostgreSQL, bridge, load generator and Prometheus. Then all is healed, and
    every ledger is audited. Links can be slowed and reset if the lab has some (`lab up --link`). The verdict of a trial
    is chaos.json in the folder of its run.

    Exit status 1 if a trial fails: something lost, doubled or made from nothing, or a flow that nobody can explain.

    Example: `scripts/lab chaos --trials 10 --seed 100`

    Only kills of the notary: `scripts/lab chaos --kinds kill --targets notary`

    The same again: `scripts/lab chaos 20260102T030405Z-chaos`
    """
    if run is not None:
        passed = chaos_command.replay(run, load_settings())
    else:
        load = load_options(workload, {**CHAOS, "seed": seed})
        passed = chaos_command.make(load, load_settings(), trials=trials, faults=faults, kinds=kinds, targets=targets)
    if not passed:
        raise typer.Exit(1)


def reproduce(
    figure: Annotated[str | None, typer.Argument(metavar="FIGURE", help=FIGURE_HELP)] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Run the short form of the sweep. Its repeats are judged apart from those of the whole sweep.",
        ),
    ] = False,
    add: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=ADD_MAX,
            metavar="N",
            help="Measure this many further repeats, and judge them together with those that are stored. Not with all.",
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete the existing lab and its ledger first, as `lab sweep` does.")
    ] = False,
) -> None:
    """Repeat a published figure, and judge every claim that was made about it.

    Runs the sweep of the figure, draws its curve beside the published one, and gives the verdict on every claim: held,
    did not hold, cannot tell, or not testable here. Each repeat becomes a small file in docs/reproduction/, so that
    repeats of several days add up. An interrupted measurement continues with the same command.

    A claim that does not hold is a result, and the exit status is 0. It is 1 if steps could not be measured.

    Example: `scripts/lab reproduce iitb-latency --quick`
    """
    if figure is None:
        raise LabError(
            "FIGURE: is missing",
            "For example: `scripts/lab reproduce iitb-latency --quick`. `scripts/lab reproduce list` shows all.",
        )
    if figure == ALL and add is not None:
        raise LabError(f"--add: does not apply to {ALL}", "Name the figure that needs more repeats.")
    project.settle()
    settings = load_settings()
    machine_only(settings)
    options = figures.Options("quick" if quick else "full", add, replace=replace)
    if figure == ALL:
        if not figures.everything(options, settings):
            raise typer.Exit(1)
        return
    places, name = Places.of_figure(figure)
    figures.one(name, options, settings, places)


def list_figures() -> None:
    """Show every figure: its claims, how long it takes, and its last verdicts.

    Example: `scripts/lab reproduce list`
    """
    figures.list_figures(load_settings())


def judge(
    run_name: Annotated[str, typer.Argument(metavar="RUN", help="Name of a run, the beginning of a name, or latest.")],
) -> None:
    """Judge the figures of an existing run of their sweep. Nothing is measured.

    Example: `scripts/lab reproduce judge latest`
    """
    figures.from_run(run_name)


def book() -> None:
    """Write docs/reproduction.md and the page of every figure from the stored repeats. Nothing is measured.

    Example: `scripts/lab reproduce book`
    """
    figures.write_book()
