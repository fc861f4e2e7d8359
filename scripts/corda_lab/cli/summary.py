"""The summary of a run that ``run``, ``quickstart`` and ``report web-ui`` print."""

import math
from pathlib import Path

from rich.markup import escape

from corda_lab.results import audits, profiles, stored
from corda_lab.results.audits import Audit
from corda_lab.steps.build import conditioning_words, warm_up_words
from corda_lab.steps.bursts import CLOCKS
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.load import burst_words, flows_words
from corda_lab.steps.rows import ERRORS_SHOWN_MAX, error_words, further, grouped_errors, unwanted_words
from corda_lab.text import ui
from corda_lab.text.words import count_words

AUDIT_SHOWN_MAX = 5
"""Violations of the ledgers that the summary of a run names."""

COMPONENTS_SHOWN = 3
"""Components of a profile that the summary of a run names."""
VERDICT_COLOURS = {"passed": "green", "violations": "red", "cannot tell": "yellow"}


def _ms(value: float | None) -> str:
    if value is None:
        return "–"
    return "not answered" if value == math.inf else f"{value:,.0f} ms"


def verdict_words(audit: Audit) -> str:
    """The verdict in one line, with markup."""
    return f"[{VERDICT_COLOURS[audit.verdict]}]{escape(audit.summary)}[/]"


def line(name: str, text: str) -> None:
    """Print one line of the summary. ``text`` may contain markup."""
    ui.console.print(f"[bold]{name:<12}[/bold] {text}")


def _show_errors(step: StepEntry) -> None:
    kinds = grouped_errors([*step.failures, *step.unknown_outcomes])
    for number, kind in enumerate(kinds[:ERRORS_SHOWN_MAX]):
        line("" if number else "errors", escape(error_words(kind)))
        if kind.example:
            line("", f"  example: {escape(kind.example)}")
    if rest := further(kinds):
        line("", f"{rest}, in the report")


def _show_throughput(step: StepEntry) -> None:
    """Print the throughput, and of a load that ends after a number of flows how long these took."""
    states, total_seconds = step.throughput_states_per_second, step.value("total_seconds")
    over = "within a burst" if step.load.is_burst else f"over {step.window.seconds:.0f} s"
    line(
        "throughput",
        f"{step.throughput_per_second:.2f} flows/s {over}" + ("" if states is None else f", {states:.2f} states/s"),
    )
    if total_seconds is not None:
        mean, node = step.latency_ms.mean, step.node_latency_ms
        in_node = "" if node is None else f", {_ms(node.mean)} of it in the node"
        line("flows", f"{flows_words(step.load)} in {total_seconds:.2f} s, mean {_ms(mean)}{in_node}")
    if not step.load.is_burst:
        return
    line("bursts", f"{burst_words(step.load)}; means on three clocks:")
    for clock, names in CLOCKS.items():
        total, rate, latency_ms = (step.mean(name) for name in names)
        words = "not known" if total is None or rate is None else f"{total:.2f} s, {rate:.2f} flows/s"
        line("", f"{clock}: {words}, latency {_ms(latency_ms)}")


def _show_audit(folder: Path) -> None:
    for found in audits.read(folder).values():
        line("ledgers", f"{verdict_words(found)}, in {found.seconds:.1f} s")
        for one in found.violations[:AUDIT_SHOWN_MAX]:
            line("", escape(f"{one.kind}: {one.text}"))
        if len(found.violations) > AUDIT_SHOWN_MAX:
            line("", f"{len(found.violations) - AUDIT_SHOWN_MAX:,} more, in the report and in audit.json")


def _show_profiles(folder: Path) -> None:
    """Print the largest components of each profile, and where its flame graph is."""
    for entry in stored.read(folder).manifest.profiles:
        found = profiles.read(folder, entry)
        if found is None or entry.file is None:
            line("profile", escape(f"{entry.node}: failed: {entry.problem}"))
            continue
        shares = [f"{share} {name}" for share, name, *_ in profiles.rows(found)[:COMPONENTS_SHOWN]]
        line("profile", escape(f"{entry.node}: {', '.join(shares) or 'nothing was sampled'}"))
        line("", str(folder / entry.file))


def show_run(folder: Path, step: StepEntry) -> None:
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
    if step.load.is_open:
        offered, late, dropped = (step.value(name) for name in ("offered", "late", "dropped"))
        line("arrivals", f"{offered} offered at {step.load.rate:g}/s, {late} late, {dropped} dropped")
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
        ui.say(f"invalid: {reason}", "red")
    for flag in step.flags:
        ui.say(f"warning: {flag}", "yellow")
    for reason in step.verdict.reasons:
        ui.say(f"failed: {reason}", "red")
    ui.console.print(f"[bold]report[/bold]       {folder / 'report.html'}")
