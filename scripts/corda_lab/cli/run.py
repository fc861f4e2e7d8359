"""The verbs that run one load: ``quickstart`` and ``run``."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperCommand

from corda_lab.cli import sweep as sweep_cli
from corda_lab.cli.locking import locks_lab
from corda_lab.cli.options import ImagesOption, forced_images, load_options, takes
from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import WORKLOADS
from corda_lab.steps import load
from corda_lab.text import tables, ui
from corda_lab.text.words import count_words
from lab_workload.names import names_in

if TYPE_CHECKING:
    from corda_lab.steps.conditioning import Conditioning
    from corda_lab.steps.entry import StepEntry


QUICKSTART = {"users": 8, "warm_up": 5.0, "duration": 30.0}
"""The options of the first load. Eight users saturate two cores, and each completes many flows in half a minute."""
QUICKSTART_CONDITIONING_SECONDS_MAX = 150.0
"""The longest load that conditions the nodes before the first one. It ends when throughput is steady."""

AUDIT_SHOWN_MAX = 5
"""Violations of the ledgers that the summary of a run names."""

CONDITION_HELP = (
    "First bring the nodes to where they stay: the same load, until throughput is steady, for at most four "
    "minutes. Its rows are stored, but not measured."
)


PROFILE = "--profile"
PROFILE_HELP = (
    "Profile the CPU time of nodes in the measuring window, for up to a minute, and put a flame graph of each into the "
    "run: PartyA,Notary; all; bridge. Without names: the nodes that start the flows. It costs some throughput, and the "
    "run says so."
)

COMPONENTS_SHOWN = 3
"""Components of a profile that the summary of a run names."""


class RunCommand(TyperCommand):
    """The command ``run``, of which ``--profile`` may stand without names. Typer knows no such options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the command."""
        return super().parse_args(ctx, with_names(args))


def with_names(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of ``run``, with what is profiled if ``--profile`` stands without names.

    It does if nothing follows it, or another option, or the workload.
    """
    found = []
    for number, word in enumerate(arguments):
        following = arguments[number + 1] if number + 1 < len(arguments) else "-"
        is_bare = word == PROFILE and (following.startswith("-") or _is_workload(following))
        found.append(f"{PROFILE}={load.INITIATORS}" if is_bare else word)
    return found


def _is_workload(word: str) -> bool:
    return "/" not in word and (WORKLOADS / f"{word}.yaml").is_file()


def _ms(value: float | None) -> str:
    if value is None:
        return "–"
    return "not answered" if value == math.inf else f"{value:,.0f} ms"


def line(name: str, text: str) -> None:
    """Print one line of the summary. ``text`` may contain markup."""
    ui.console.print(f"[bold]{name:<12}[/bold] {text}")


def _show_errors(step: "StepEntry") -> None:
    """Print the most frequent errors, each with an example."""
    from corda_lab.steps.failures import SHOWN_MAX, error_words, further, grouped_errors

    kinds = grouped_errors([*step.failures, *step.unknown_outcomes])
    for number, kind in enumerate(kinds[:SHOWN_MAX]):
        line("" if number else "errors", escape(error_words(kind)))
        if kind.example:
            line("", f"  example: {escape(kind.example)}")
    if rest := further(kinds):
        line("", f"{rest}, in the report")


def _show_throughput(step: "StepEntry") -> None:
    """Print the throughput, and of a load that ends after a number of flows how long these took."""
    from corda_lab.steps.bursts import clocks_of
    from corda_lab.steps.load import burst_words, flows_words

    bursts, states = step.bursts, step.throughput_states_per_second
    over = f"over {step.window.seconds:.0f} s" if bursts is None else "within a burst"
    line(
        "throughput",
        f"{step.throughput_per_second:.2f} flows/s {over}" + ("" if states is None else f", {states:.2f} states/s"),
    )
    if step.total_seconds is not None:
        mean, node = step.latency_ms.mean, step.node_latency_ms
        in_node = "" if node is None else f", {_ms(node.mean)} of it in the node"
        line("flows", f"{flows_words(step.load)} in {step.total_seconds:.2f} s, mean {_ms(mean)}{in_node}")
    if bursts is None:
        return
    line("bursts", f"{burst_words(step.load)}; means on three clocks:")
    for clock in clocks_of(bursts):
        total, rate = clock.total_seconds, clock.throughput_per_second
        words = "not known" if total is None or rate is None else f"{total:.2f} s, {rate:.2f} flows/s"
        line("", f"{clock.name}: {words}, latency {_ms(clock.latency_mean_ms)}")


def _show_audit(folder: Path) -> None:
    """Print what the ledgers prove."""
    from corda_lab.cli.audit import verdict_words
    from corda_lab.results import audits

    for found in audits.read(folder).values():
        line("ledgers", f"{verdict_words(found)}, in {found.seconds:.1f} s")
        for one in found.violations[:AUDIT_SHOWN_MAX]:
            line("", escape(f"{one.kind}: {one.text}"))
        if len(found.violations) > AUDIT_SHOWN_MAX:
            line("", f"{len(found.violations) - AUDIT_SHOWN_MAX:,} more, in the report and in audit.json")


def _show_profiles(folder: Path) -> None:
    """Print the largest components of each profile, and where its flame graph is."""
    from corda_lab.results import profiles
    from corda_lab.results.folders import read_model
    from corda_lab.results.manifest import Manifest

    for entry in read_model(folder / "run.json", Manifest).profiles:
        found = profiles.read(folder, entry)
        if found is None or entry.file is None:
            line("profile", escape(f"{entry.node}: failed: {entry.problem}"))
            continue
        shares = [f"{share} {name}" for share, name, _, _ in profiles.rows(found)[:COMPONENTS_SHOWN]]
        line("profile", escape(f"{entry.node}: {', '.join(shares) or 'nothing was sampled'}"))
        line("", str(folder / entry.file))


def show_run(folder: Path, step: "StepEntry") -> None:
    """Print the summary at the end of a run."""
    from corda_lab.steps.build import conditioning_words, warm_up_words
    from corda_lab.steps.failures import unwanted_words

    latency, counted, requests = step.latency_ms, step.counts, step.requests

    counts = {"generator": counted.generator, "bridge": counted.bridge, "node": counted.node}
    counts |= {f"vault of {node}": count for node, count in counted.vaults.items()}
    agree = {"agree": "[green]they agree[/green]", "differ": "[red]they differ[/red]"}.get(counted.verdict, "not known")
    ui.console.print()
    _show_throughput(step)
    if step.conditioning is not None:
        line("conditioned", conditioning_words(step.conditioning))
    if step.warm_up.seconds_max > step.warm_up.seconds_min:
        line("warm-up", warm_up_words(step.warm_up))
    for part in step.parts if len(step.parts) > 1 else []:
        line("", f"{part.name} {part.throughput_per_second:.2f} flows/s, p50 {_ms(part.latency_ms.p50)}")
    for own in step.by_node:
        line("", f"{own.node} {own.throughput_per_second:.2f} flows/s, p50 {_ms(own.latency_ms.p50)}")
    line("latency", ", ".join(f"{name} {_ms(latency.quantile(name))}" for name in ("p50", "p95", "p99", "max")))
    if step.has_intended_starts:
        intended = step.latency_intended_ms
        line(
            "",
            "from the intended start "
            + ", ".join(f"{name} {_ms(intended.quantile(name))}" for name in ("p50", "p95", "p99")),
        )
    if step.open_load:
        offered = step.open_load
        line(
            "arrivals",
            f"{offered.offered} offered at {offered.rate_per_second:g}/s, "
            f"{offered.late} late, {offered.dropped} dropped",
        )
    expected = f", {requests.expected} expected failures" if requests.expected else ""
    unwanted = unwanted_words(requests.failed, requests.unknown)
    line("requests", f"{requests.ok} ok{expected}, {unwanted} (warm-up included)")
    _show_errors(step)
    line(
        "four counts",
        ", ".join(f"{name} {count_words(count)}" for name, count in counts.items()) + f": {agree}",
    )
    _show_audit(folder)
    _show_profiles(folder)
    consensus = step.stages.consensus_latency_ms
    if consensus.count:
        line("consensus", f"latency p50 {_ms(consensus.p50)}, p95 {_ms(consensus.p95)}, from notary to last commit")
    for reason in step.validity.reasons:
        ui.console.print(f"invalid: {reason}", style="red", markup=False)
    for flag in step.flags:
        ui.console.print(f"warning: {flag}", style="yellow", markup=False)
    for reason in step.verdict.reasons:
        ui.console.print(f"failed: {reason}", style="red", markup=False)
    ui.console.print(f"[bold]report[/bold]       {folder / 'report.html'}")


def _run(options: load.LoadOptions, settings: Settings, before: "Conditioning | None") -> None:
    from corda_lab.runs import execute

    folder, step = execute.execute(options, settings, before=before)
    show_run(folder, step)
    if not step.verdict.passed:
        raise typer.Exit(1)


@locks_lab
def quickstart(images: ImagesOption = None) -> None:
    """Go from nothing to a first result: start the lab, run the IOU workload and write a report.

    Installs and builds whatever is missing. A load conditions the nodes until throughput is steady, for up to two and a
    half minutes. After a short warm-up, the workload is measured for 30 seconds.

    Example: `scripts/lab quickstart`
    """
    from corda_lab.lab import lifecycle
    from corda_lab.results import folders
    from corda_lab.runs import conditioning, execute, start
    from corda_lab.runs.running import machine_only

    settings = load_settings()
    machine_only(settings)
    folders.require_writable()
    start.start(settings, forced_images(images))
    options = load_options("iou", QUICKSTART)
    before = conditioning.before_run(options, QUICKSTART_CONDITIONING_SECONDS_MAX)
    folder, step = execute.execute(options, settings, before=before)
    show_run(folder, step)
    ui.console.print()
    table = tables.table("phase", "seconds", numbers=["seconds"])
    for title, seconds in ui.phase_times.seconds.items():
        table.add_row(title, f"{seconds:.1f}")
    table.add_row("all", f"{sum(ui.phase_times.seconds.values()):.1f}", style="bold")
    tables.show(table)
    ui.console.print()
    lifecycle.print_urls(settings)
    ui.console.print("The lab is still up; stop it with `scripts/lab down`.", markup=False)
    if not step.verdict.passed:
        raise typer.Exit(1)


@takes(load.RUN_OPTIONS)
@locks_lab
def run(
    workload: Annotated[str, typer.Argument(metavar="WORKLOAD", help="Name of a file in configs/workloads/.")],
    *,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Override a parameter or an argument of the workload. Repeatable."
        ),
    ] = None,
    condition: Annotated[bool, typer.Option("--condition", help=CONDITION_HELP)] = False,
    profile: Annotated[list[str] | None, typer.Option(PROFILE, metavar="[NODES]", help=PROFILE_HELP)] = None,
    **given: Any,
) -> None:
    """Run a workload against the lab, and store its rows, metrics, values and report in results/.

    Exit status 0 if no request failed and the counts agree, otherwise 1. The rows of a run that fails or is interrupted
    are kept in results/unfinished/; see `scripts/lab list`.

    Nodes that have just been started become faster for some minutes. --condition waits for that.

    Example: `scripts/lab run iou --users 40 --duration 2m --warm-up 30s --condition`

    Open load: `scripts/lab run iou --arrivals poisson --rate 5 --users 100`

    Bursts: `scripts/lab run iou --arrivals burst --users 70 --within 1s --bursts 10`

    A number of flows: `scripts/lab run settlement --users 1 --flows 20 --flows-after 2`

    Where the CPU time goes: `scripts/lab run iou --users 16 --profile PartyA,Notary`
    """
    from corda_lab.runs import conditioning

    options = load_options(workload, given, settings=settings)
    options = replace(options, profile=_profiled(profile))
    _run(options, load_settings(), conditioning.before_run(options) if condition else None)


def _profiled(given: list[str] | None) -> tuple[str, ...]:
    """Return what is to be profiled. Raises LabError if the option is there, but names nothing."""
    found = names_in(given or ())
    if given and not found:
        raise LabError(f"{PROFILE}: names no node", "Leave out the value to profile the nodes that start the flows.")
    return found


def rerun(
    run_name: Annotated[str, typer.Argument(metavar="RUN", help="Name of a run, the beginning of a name, or latest.")],
    *,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Repeat it although something has changed, and record what.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="For a sweep: delete the existing lab and its ledger first.")
    ] = False,
    images: ImagesOption = None,
) -> None:
    """Repeat a run or a sweep to the letter: the same load, seed, versions, images, settings and shape.

    A run uses the running lab, which must have the same shape; a sweep starts its own. If anything has changed since,
    nothing runs, and the changes are listed.

    Example: `scripts/lab rerun latest`
    """
    from corda_lab.lab import project
    from corda_lab.sweeps import rerun as reruns

    project.settle()
    settings, stored_run = load_settings(), reruns.read(run_name)
    wanted = reruns.Wanted(run_name, anyway, replace, forced_images(images))
    if stored_run.is_sweep:
        sweep_cli.show(reruns.sweep(stored_run, wanted, settings))
        return
    folder, step = reruns.single(stored_run, wanted, settings)
    show_run(folder, step)
    ui.console.print(f"compare with `scripts/lab compare {stored_run.identity} {folder.name}`", markup=False)
    if not step.verdict.passed:
        raise typer.Exit(1)
