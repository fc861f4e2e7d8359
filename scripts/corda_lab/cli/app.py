"""The verbs of ``scripts/lab``: each reads its options, calls the module that does the work, and prints the outcome."""

import json
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from corda_lab.analysis import comparison, listing
from corda_lab.cli import status as status_module
from corda_lab.clients.bridge import Bridge
from corda_lab.errors import LabError
from corda_lab.host import engine
from corda_lab.lab import doctor as doctor_module
from corda_lab.lab import lifecycle, shape
from corda_lab.lab.settings import PARTIES, PARTIES_MIN, Settings, load_settings
from corda_lab.paths import WORKLOADS
from corda_lab.report import page, print_charts
from corda_lab.results import folders as results
from corda_lab.results import stored
from corda_lab.runs import execute
from corda_lab.selftest import overhead, suite
from corda_lab.steps import load
from corda_lab.sweeps import command as sweep_command
from corda_lab.text import ui
from corda_lab.text.durations import parse_duration
from corda_lab.workloads import check as check_workloads
from corda_lab.workloads import flows as flows_module
from corda_lab.workloads import new as new_workload

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Measure what a real Corda network can do on this machine. Start with: scripts/lab quickstart",
)
bench_app = typer.Typer(no_args_is_help=True, help="Measure the lab's own parts.")
app.add_typer(bench_app, name="bench")
workload_app = typer.Typer(no_args_is_help=True, help="Write and check workload files.")
app.add_typer(workload_app, name="workload")


class ImageSource(str, Enum):
    """Where third-party images come from."""

    REGISTRY = "registry"
    LOCAL = "local"


class Arrivals(str, Enum):
    """When requests start."""

    CLOSED = "closed"
    CONSTANT = "constant"
    POISSON = "poisson"


class MetricName(str, Enum):
    """The figure that runs are compared by."""

    THROUGHPUT = "throughput"
    STATES = "states"
    P50 = "p50"
    P95 = "p95"
    P99 = "p99"


ImagesOption = Annotated[
    ImageSource | None,
    typer.Option("--images", help="Pull images, or build stand-ins from Debian's packages. Default: what works here."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
UsersOption = Annotated[
    int, typer.Option(help="Users, each with one flow in flight; in open load the most requests in flight at once.")
]
DurationOption = Annotated[str, typer.Option(help="How long to measure, after the warm-up: 60s, 2m.")]
WarmUpOption = Annotated[str, typer.Option(help="Load before the measuring begins; its rows are kept, not counted in.")]


def _forced(images: ImageSource | None) -> lifecycle.ImageChoice | None:
    return None if images is None else images.value


def _load_options(
    workload: str,
    users: int,
    duration: str,
    warm_up: str,
    *,
    pacing: str = "0",
    node: str | None = None,
    counterparty: str | None = None,
    name: str | None = None,
    seed: int = 1,
    arrivals: Arrivals = Arrivals.CLOSED,
    rate: float | None = None,
    late_max: str | None = None,
    workers: int | None = None,
    settings: list[str] | None = None,
) -> load.LoadOptions:
    return load.LoadOptions(
        workload=workload,
        users=users,
        duration_seconds=parse_duration(duration, option="--duration", seconds_min=1.0),
        warm_up_seconds=parse_duration(warm_up, option="--warm-up"),
        pacing_seconds=parse_duration(pacing, option="--pacing"),
        node=node,
        counterparty=counterparty,
        name=name,
        seed=seed,
        arrivals=arrivals.value,
        rate=rate,
        late_max_seconds=None if late_max is None else parse_duration(late_max, option="--late-max"),
        workers=workers,
        overrides=load.parse_overrides(settings or []),
    )


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f} ms"


def _show_run(folder: Path, step: dict[str, Any]) -> None:
    """The compact summary at the end of a run."""
    latency, counted, requests = step["latency_ms"], step["counts"], step["requests"]

    def line(name: str, text: str) -> None:
        ui.console.print(f"[bold]{name:<12}[/bold] {text}")

    vaults = "".join(f", vault of {node} {count}" for node, count in counted["vaults"].items())
    agree = "[green]they agree[/green]" if counted["agree"] else "[red]they differ[/red]"
    states = step["throughput_states_per_second"]
    ui.console.print()
    line(
        "throughput",
        f"{step['throughput_per_second']:.2f} flows/s over {step['window']['seconds']:.0f} s"
        + ("" if states is None else f", {states:.2f} states/s"),
    )
    for part in step["parts"] if len(step["parts"]) > 1 else []:
        line("", f"{part['name']} {part['throughput_per_second']:.2f} flows/s, p50 {_ms(part['latency_ms']['p50'])}")
    line("latency", ", ".join(f"{name} {_ms(latency[name])}" for name in ("p50", "p95", "p99", "max")))
    if step["open_load"]:
        intended, offered = step["latency_intended_ms"], step["open_load"]
        line(
            "",
            "from the intended start " + ", ".join(f"{name} {_ms(intended[name])}" for name in ("p50", "p95", "p99")),
        )
        line(
            "arrivals",
            f"{offered['offered']} offered at {offered['rate_per_second']:g}/s, "
            f"{offered['late']} late, {offered['dropped']} dropped",
        )
    expected = f", {requests['expected']} expected failures" if requests["expected"] else ""
    line("requests", f"{requests['ok']} ok{expected}, {requests['errors']} errors (warm-up included)")
    line(
        "four counts",
        f"generator {counted['generator']}, bridge {counted['bridge']}, node {counted['node']}{vaults}: {agree}",
    )
    consensus = step["stages"]["consensus_latency_ms"]
    if consensus["count"]:
        line(
            "consensus", f"latency p50 {_ms(consensus['p50'])}, p95 {_ms(consensus['p95'])}, from notary to last commit"
        )
    for flag in step["flags"]:
        ui.console.print(f"note: {flag}", style="yellow", markup=False)
    for reason in step["verdict"]["reasons"]:
        ui.console.print(f"failed: {reason}", style="red", markup=False)
    ui.console.print(f"[bold]report[/bold]       {folder / 'report.html'}")


def _run(options: load.LoadOptions, settings: Settings) -> None:
    folder, step = execute.execute(options, settings)
    _show_run(folder, step)
    if not step["verdict"]["passed"]:
        raise typer.Exit(1)


@app.command()
def quickstart(images: ImagesOption = None) -> None:
    """From nothing to a first number: prepare, build, start, run the IOU workload for a minute, report.

    Example: `scripts/lab quickstart`
    """
    settings = load_settings()
    lifecycle.up(settings, _forced(images))
    folder, step = execute.execute(_load_options("iou", 20, "60s", "15s"), settings)
    _show_run(folder, step)
    ui.console.print()
    table = Table("phase", "seconds", box=None, pad_edge=False, header_style="bold")
    table.columns[1].justify = "right"
    for title, seconds in ui.phase_times.seconds.items():
        table.add_row(title, f"{seconds:.1f}")
    table.add_row("all", f"{sum(ui.phase_times.seconds.values()):.1f}", style="bold")
    ui.console.print(table)
    ui.console.print()
    lifecycle.print_urls(settings)
    ui.console.print("The lab is still up; stop it with `scripts/lab down`.", markup=False)
    if not step["verdict"]["passed"]:
        raise typer.Exit(1)


@app.command()
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


@app.command()
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
    lifecycle.up(settings, _forced(images))
    lifecycle.print_urls(settings)


@app.command()
def down(
    volumes: Annotated[bool, typer.Option("--volumes", help="Also forget ledgers, identities and metrics.")] = False,
    stop_engine: Annotated[bool, typer.Option("--engine", help="Also stop Docker, if scripts/lab started it.")] = False,
) -> None:
    """Stop the lab. Ledgers and identities stay unless --volumes is given; results stay always.

    Example: `scripts/lab down --volumes`
    """
    lifecycle.require_engine()
    lifecycle.down(load_settings(), volumes=volumes)
    if stop_engine and engine.stop_engine_if_ours():
        ui.note("the Docker engine that scripts/lab had started is stopped")


@app.command()
def status(as_json: JsonOption = False) -> None:
    """Show services, addresses and flows that are under way.

    Example: `scripts/lab status --json`
    """
    state = status_module.gather(load_settings())
    if as_json:
        print(json.dumps(state, indent=2))
    else:
        status_module.show(state)
    if not state["ready"]:
        raise typer.Exit(1)


@app.command()
def run(
    workload: Annotated[str, typer.Argument(metavar="WORKLOAD", help="Name of a file in configs/workloads/.")],
    users: UsersOption = 20,
    duration: DurationOption = "60s",
    warm_up: WarmUpOption = "15s",
    pacing: Annotated[str, typer.Option(help="Least time from one start of a user to its next.")] = "0",
    node: Annotated[str | None, typer.Option(help="Node that starts the flows. Default: the workload's.")] = None,
    counterparty: Annotated[str | None, typer.Option(help="The other party. Default: the workload's.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run. Default: the workload's.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the workload's random values and of Poisson arrivals.")] = 1,
    arrivals: Annotated[
        Arrivals, typer.Option(help="closed: users wait for answers; constant, poisson: open load at --rate.")
    ] = Arrivals.CLOSED,
    rate: Annotated[float | None, typer.Option(help="Open load: arrivals per second.")] = None,
    late_max: Annotated[
        str | None, typer.Option(help="Open load: an arrival later than this is dropped. Default: 1s.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Generator processes beside a master. Default: a single process does it all.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override an argument of the workload; repeat it."),
    ] = None,
) -> None:
    """Load the lab with a workload, and keep rows, metrics, figures and a report in results/.

    Status 0: no errors and agreeing counts; 1: not so. An interrupted run keeps nothing.

    Example: `scripts/lab run iou --users 40 --duration 2m --warm-up 30s`

    Open load: `scripts/lab run iou --arrivals poisson --rate 5 --users 100`
    """
    options = _load_options(
        workload,
        users,
        duration,
        warm_up,
        pacing=pacing,
        node=node,
        counterparty=counterparty,
        name=name,
        seed=seed,
        arrivals=arrivals,
        rate=rate,
        late_max=late_max,
        workers=workers,
        settings=settings,
    )
    _run(options, load_settings())


@app.command()
def sweep(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A sweep file, or the name of one in configs/sweeps/.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan and how long it takes.")] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Every point once, for 20 s after 30 s: to see that it works, not for numbers."),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the newest unfinished sweep, or the newest of FILE.")
    ] = False,
    finish: Annotated[
        bool, typer.Option("--finish", help="Run nothing more: make a run and its report of an unfinished sweep.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Forget a lab that is there, with its ledger: every sweep starts anew.")
    ] = False,
    images: ImagesOption = None,
) -> None:
    """Run every step of a sweep file, on a lab that is started for it, and make one report of them all.

    Each step is kept as it ends. Ctrl-C, a crash or a power cut lose the step under way and nothing else: --resume goes on.
    Status 0: every step is without errors, its counts agree and its thresholds are kept, or a search has confirmed a rate;
    1: not so.

    Example: `scripts/lab sweep configs/sweeps/smoke.yaml`
    """
    if sum((dry_run, resume, finish)) > 1:
        raise LabError("--dry-run, --resume, --finish: only one of them can be given", "Leave the others out.")
    if quick and (resume or finish):
        raise LabError("--quick: an unfinished sweep goes on as it began", "Leave it out.")
    settings = load_settings()
    wanted = sweep_command.Wanted(file, _forced(images), replace, quick)
    if dry_run:
        sweep_command.dry_run(wanted, settings)
        return
    if finish:
        outcome = sweep_command.finish(wanted)
    else:
        outcome = (sweep_command.resume if resume else sweep_command.begin)(wanted, settings)
    for problem in outcome.problems:
        ui.console.print(f"failed: {problem}", style="red", markup=False)
    if outcome.folder is not None:
        ui.console.print(f"[bold]report[/bold]       {outcome.folder / 'report.html'}")
    if outcome.problems:
        raise typer.Exit(1)


def _bridge() -> Bridge:
    return Bridge(load_settings().url("BRIDGE_PORT"))


@app.command()
def flows(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of a node: PartyA.")],
    as_json: JsonOption = False,
) -> None:
    """List every flow that can be started on a node, with its parameters and their types.

    Example: `scripts/lab flows PartyA`
    """
    bridge = _bridge()
    found = flows_module.find_node(node, bridge)
    definitions = bridge.flow_definitions(found.name)
    if as_json:
        print(json.dumps(flows_module.as_dicts(definitions), indent=2))
    else:
        flows_module.show(found.name, definitions)


@workload_app.command()
def new(
    node: Annotated[str, typer.Option(help="Node that starts the flow.")],
    flow: Annotated[str, typer.Option(help="Class of the flow, full or short; `scripts/lab flows NODE` lists them.")],
    name: Annotated[str | None, typer.Option(help="Name of the workload. Default: made of the flow's.")] = None,
) -> None:
    """Write a workload file for a flow, with an example value for every parameter. Never overwrites.

    Example: `scripts/lab workload new --node PartyA --flow com.example.MyFlow`
    """
    bridge = _bridge()
    found = flows_module.find_node(node, bridge)
    definition = new_workload.find_flow(flow, found.name, bridge.flow_definitions(found.name))
    file_name = new_workload.check_name(name or new_workload.default_name(definition))
    parties = [one.name for one in bridge.nodes().values() if not one.is_notary and one.name != found.name]
    path = WORKLOADS / f"{file_name}.yaml"
    new_workload.write(path, new_workload.text_of(definition, found, next(iter(parties), None)))
    ui.console.print(f"written: configs/workloads/{file_name}.yaml. Put true values in, then:", markup=False)
    ui.console.print(f"  scripts/lab workload check {file_name}", markup=False)
    ui.console.print(f"  scripts/lab run {file_name} --users 5 --duration 30s", markup=False)


@workload_app.command()
def check(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Workloads; all, if none is named.")
    ] = None,
) -> None:
    """Check workload files, against the running lab too when there is one. All problems at once; status 2 if there are any.

    Example: `scripts/lab workload check my-workload`
    """
    bridge = _bridge()
    is_up = bridge.is_ready()
    found = check_workloads.problems_of(
        WORKLOADS, names or (), (lambda workload: execute.lab_problems(workload, bridge)) if is_up else None
    )
    for name, problems in found.items():
        ui.console.print(f"{name}: {'ok' if not problems else f'{len(problems)} problems'}", markup=False)
        for problem in problems:
            ui.console.print(f"  {problem}", style="red", markup=False)
    if not is_up:
        ui.console.print("The lab is not up, so flows and arguments were not compared with any node's.", markup=False)
    if any(found.values()):
        raise typer.Exit(2)


@app.command()
def report(
    run_name: Annotated[
        str, typer.Argument(metavar="[RUN]", help="A run's name, the start of one, or latest.")
    ] = "latest",
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw the main charts into this folder, as PNG and SVG.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a run's report and its summaries again from the stored files, and print the report's path.

    Example: `scripts/lab report latest --figures paper/figures`
    """
    folder = results.find_run(run_name)
    path = page.render(folder)
    drawn = print_charts.write(stored.read(folder), figures) if figures else []
    if as_json:
        summary = results.read_json(folder / "summary.json")
        print(json.dumps({**summary, "report": str(path), "figures": [str(one) for one in drawn]}, indent=2))
        return
    ui.console.print(f"report: {path}", markup=False)
    for one in drawn:
        ui.console.print(f"figure: {one}", markup=False)


@app.command()
def compare(
    run_names: Annotated[
        list[str], typer.Argument(metavar="A B [C]...", help="Runs of either kind; the others are compared with A.")
    ],
    threshold: Annotated[
        str | None,
        typer.Option(
            help="Status 1 when a point is shown to be worse by more than this (5%), or has no figure any more."
        ),
    ] = None,
    metric: Annotated[MetricName, typer.Option(help="The figure that is judged.")] = MetricName.THROUGHPUT,
    as_json: JsonOption = False,
) -> None:
    """Compare runs point by point: what differs in their environment first, then ratios with intervals.

    Writes a page, Markdown and JSON to results/comparisons/. Runs with one measurement of a point have no interval, so nothing
    is shown to differ there. Of searches the confirmed rates are compared.

    Example: `scripts/lab compare 20260102T030405Z-before latest --threshold 5%`
    """
    if len(run_names) < 2:
        raise LabError("A B: two runs are needed", "`scripts/lab list` shows them all.")
    limit = None if threshold is None else comparison.parse_threshold(threshold)
    folders = [results.find_run(name) for name in run_names]
    found = comparison.compare(folders, metric=metric.value, threshold=limit)
    folder = comparison.write(found)
    if as_json:
        print(json.dumps({**found.as_dict(), "folder": str(folder)}, indent=2))
    else:
        _show_comparison(found, folder)
    if found.regressions:
        raise typer.Exit(1)


def _show_comparison(found: comparison.Comparison, folder: Path) -> None:
    for one in found.others:
        ui.console.print(f"{one.second.identity} against {one.first.identity}", style="bold", markup=False)
        ui.console.print(comparison.unlike_headline(one), style="yellow" if one.unlike else None, markup=False)
        for entry in one.unlike:
            ui.console.print(f"  {entry.kind} {entry.name}: {entry.first} → {entry.second}", markup=False)
        ui.console.print()
        table = Table("point", "before", "now", "ratio", "verdict", box=None, pad_edge=False, header_style="bold")
        for cells in comparison.shown_rows(one, found.metric):
            style = {"slower": "red", "faster": "green"}.get(cells["verdict"])
            table.add_row(*(cells[name] for name in ("label", "first", "second", "ratio", "verdict")), style=style)
        ui.console.print(table)
        for label in one.alone:
            ui.console.print(f"left out: {label}", markup=False)
        ui.console.print(comparison.headline(one, found.metric), markup=False)
        ui.console.print()
    if found.threshold is not None:
        style = {"bad": "red", "doubt": "yellow", "good": "green"}[found.state]
        ui.console.print(comparison.threshold_words(found), style=style, markup=False)
    ui.console.print(f"comparison: {folder / 'compare.html'}", markup=False)


@app.command(name="list")
def list_runs(as_json: JsonOption = False) -> None:
    """List the runs in results/, newest last, and the sweeps that were broken off.

    Of a sweep the figures are those of its best point, of a search those of the rate that it confirmed.

    Example: `scripts/lab list`
    """
    summaries = listing.summaries()
    broken_off = results.unfinished()
    if as_json:
        print(json.dumps(summaries + broken_off, indent=2))
        return
    if not summaries and not broken_off:
        ui.console.print("There is no run yet. Make one with `scripts/lab run iou`.", markup=False)
        return
    if summaries:
        ui.console.print(_table_of_runs(summaries))
    for summary in broken_off:
        # A search plans no steps beforehand.
        planned = f" of {summary['steps_planned']}" if summary["steps_planned"] else ""
        ui.console.print(
            f"unfinished: {summary['run']}, {summary['steps']}{planned} steps; `scripts/lab sweep --resume` goes on",
            style="yellow",
            markup=False,
        )


def _table_of_runs(summaries: list[dict[str, Any]]) -> Table:
    table = Table(
        "run",
        "kind",
        "load",
        "flows/s",
        "p50",
        "p99",
        "errors",
        "counts",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    table.columns[0].no_wrap = True
    for column in table.columns[2:7]:
        column.justify = "right"
    for summary in summaries:
        if "damaged" in summary:
            table.add_row(summary["run"], "cannot be read", summary["damaged"], style="red")
            continue
        rate = summary["throughput_per_second"]
        table.add_row(
            summary["run"],
            f"sweep, {summary['steps_valid']}/{summary['steps']} valid" if summary["kind"] == "sweep" else "run",
            _load_words(summary),
            "–" if rate is None else f"{rate:.2f}",
            *("–" if summary[name] is None else f"{summary[name]:,.0f} ms" for name in ("p50_ms", "p99_ms")),
            str(summary["errors"]),
            "agree" if summary["counts_agree"] else "differ",
        )
    return table


def _load_words(summary: dict[str, Any]) -> str:
    """The load whose figures stand in a line of ``lab list``."""
    if rates := summary["rates_confirmed_per_second"]:
        return "highest: " + ", ".join("none" if rate is None else f"{rate:g}/s" for rate in rates.values())
    if summary["kind"] == "sweep":
        return f"best: {summary['label']}" if summary["label"] else "nothing valid"
    if summary["arrivals"] is None:
        return f"{summary['users']} users"
    return f"{summary['rate_per_second']:g}/s {summary['arrivals']}"


@app.command(name="test")
def run_tests(
    unit: Annotated[bool, typer.Option("--unit", help="Everything but the end-to-end tests.")] = False,
    e2e: Annotated[bool, typer.Option("--e2e", help="Only the end-to-end tests, on a lab of their own.")] = False,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Instead, every database with every version of Corda; takes an hour.")
    ] = False,
    images: ImagesOption = None,
) -> None:
    """Run formatters, linters, unit, structure and end-to-end tests. The last line is `N passed, N failed`.

    Example: `scripts/lab test --unit`
    """
    if matrix:
        totals = suite.run_matrix(_forced(images))
        print(totals.closing_line, flush=True)
        if totals.failed:
            raise typer.Exit(1)
        return
    both = unit == e2e
    totals = suite.run(load_settings(), unit=unit or both, end_to_end=e2e or both, images=_forced(images))
    print(totals.closing_line, flush=True)
    if totals.failed or not totals.passed:
        raise typer.Exit(1)


@bench_app.command()
def bridge(
    users: UsersOption = 20,
    duration: DurationOption = "30s",
    warm_up: WarmUpOption = "10s",
    rounds: Annotated[int, typer.Option(min=1, max=50, help="Pairs of one measurement each.")] = 3,
    workload: Annotated[str, typer.Option(help="Workload whose flow is compared.")] = "iou",
) -> None:
    """Compare Locust through the bridge with a direct RPC client: paired, alternating, at the same number in flight.

    Example: `scripts/lab bench bridge --rounds 5`
    """
    overhead.bridge(_load_options(workload, users, duration, warm_up), load_settings(), rounds=rounds)


@bench_app.command()
def stages() -> None:
    """Measure what timing its stages costs a flow. Needs the images, not a running lab.

    Example: `scripts/lab bench stages`
    """
    overhead.stages(load_settings())
