"""The content of the report of a single run."""

from typing import Any

import polars as pl

from corda_lab.analysis import conclusions, points, saturation, values, wording
from corda_lab.faults import effects
from corda_lab.knobs import labels
from corda_lab.report import (
    charts_run,
    commands,
    ledgers,
    tables,
    waterfall,
)
from corda_lab.report.chart import Chart
from corda_lab.report.facts import (
    conditioning_facts,
    environment_facts,
    load_facts,
    more_files,
    profile_facts,
    rerun_facts,
    web_ui_facts,
)
from corda_lab.results import node_logs, profiles
from corda_lab.results.audits import Audit
from corda_lab.results.manifest import Environment, Manifest
from corda_lab.results.stored import StoredRun
from corda_lab.steps import stages
from corda_lab.steps.build import warm_up_words
from corda_lab.steps.bursts import CLOCKS
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.load import LOAD_OPTIONS, burst_words
from corda_lab.steps.rows import ERRORS_SHOWN_MAX, Window, counted, grouped_errors, timed_within
from corda_lab.text.words import (
    STAGE_MEANINGS,
    count_words,
    listed,
    milliseconds,
    plural,
    short,
)


def flow_names(step: StepEntry) -> list[str]:
    return list(dict.fromkeys(short(part.flow) for part in step.parts))


def achievement(step: StepEntry) -> str:
    """The load, the achieved rate, the flows and the nodes, as a sentence without its full stop."""
    load, names = step.load, flow_names(step)
    rate = f"{step.throughput_per_second:,.2f}"
    flows = (
        f"{rate} {names[0]} flows per second"
        if len(names) == 1
        else f"{rate} flows per second (a mix of {listed(names)})"
    )
    place = f"on {step.node}" + (f" with {step.counterparty}" if step.counterparty else "")
    if step.bursts is not None:
        took = step.bursts.mean("total_seconds") or 0.0
        each = "each " if len(step.bursts.bursts) > 1 else ""
        return f"{burst_words(load)} {place} took {took:.2f} s {each}and achieved {flows}"
    if load.model == "closed":
        return f"{plural(load.users, 'user')} achieved {flows} {place}"
    return f"At {load.rate:g} {load.arrivals} arrivals per second, the lab achieved {flows} {place}"


def headline(step: StepEntry) -> str:
    text = achievement(step)
    latency = step.judged_latency
    if latency.p50 is None:
        return f"{text}: no flow was completed in the measuring window."
    # p99 of fewer than 100 requests is the slowest of them.
    slow = f"p99 {milliseconds(latency.p99)}" if latency.count >= 100 else f"slowest {milliseconds(latency.max)}"
    since = " from the intended start" if step.has_intended_starts else ""
    return f"{text}. Latency{since}: p50 {milliseconds(latency.p50)}, {slow}."


def sentences(step: StepEntry) -> list[str]:
    """What a reader needs to know before using the values, and no table says."""
    lacks = "A single run has no interval: measure several repeats before you compare it with another run."
    return [*hidden_by_percentiles(step), lacks]


def hidden_by_percentiles(step: StepEntry) -> list[str]:
    """What the percentiles of a step do not show, or count as not answered. Empty if there is nothing of either."""
    requests, arrivals, latency = step.requests, step.open_load, step.judged_latency
    if not step.has_intended_starts:
        lost = plural(requests.window_failed + requests.window_unknown, "request")
        words = (
            f"The percentiles are of completed flows. {lost} of the measuring window failed or had an unknown outcome."
        )
        return [words] if requests.window_failed + requests.window_unknown else []
    dropped = f", {arrivals.dropped_in_window:,} of them dropped" if arrivals and arrivals.dropped_in_window else ""
    missing = f"{latency.unanswered:,} of {plural(latency.count, 'request')}"
    words = f"{missing} of the measuring window were not answered{dropped}. In every percentile, they rank last."
    return [words] if latency.unanswered else []


def tile(name: str, value: str, unit: str, detail: str, state: str = "") -> dict[str, str]:
    """A tile at the top of a report. ``state`` is ``good``, ``bad``, ``warning`` or empty."""
    return {"name": name, "value": value, "unit": unit, "detail": detail, "state": state}


def failed_tile(failed: int, unknown: int, total: int) -> dict[str, str]:
    detail = f"of {plural(total, 'request')}" + (f"; {unknown:,} with unknown outcome" if unknown else "")
    return tile("failed", f"{failed:,}", "", detail, "bad" if failed or unknown else "good")


def tiles(step: StepEntry, audit: Audit | None) -> list[dict[str, str]]:
    requests, counted = step.requests, step.counts
    since = ", from the intended start" if step.has_intended_starts else ""
    done = f"{requests.window_ok + requests.window_expected:,} in {step.window.seconds:.0f} s"
    detail = done if step.bursts is None else f"mean of {plural(len(step.bursts.bursts), 'burst')}"
    shown = [tile("throughput", f"{step.throughput_per_second:,.2f}", "flows/s", detail)]
    if (states := step.throughput_states_per_second) is not None:
        shown.append(tile("states", f"{states:,.2f}", "states/s", "created by these flows"))
    for name in ("p50", "p95", "p99"):
        value, unit = values.with_unit(step.judged_latency.quantile(name), name)
        shown.append(tile(name, value, unit, f"{name[1:]} % took no longer{since}"))
    state = {"agree": "good", "differ": "bad"}.get(counted.verdict, "")
    return [
        *shown,
        failed_tile(requests.failed, requests.unknown, requests.total),
        tile("four counts", counted.verdict, "", f"generator: {counted.generator:,}", state),
        tile("ledgers", audit.verdict if audit else "not audited", "", ledgers.detail(audit), ledgers.state(audit)),
    ]


def count_rows(step: StepEntry) -> list[dict[str, str]]:
    """The four counts as table rows: each flow class by three observers, then each class of state in each vault.

    ``state`` is ``good`` or ``bad``, and empty for the count of the generator, with which the others are compared, and
    for a count that is not known.
    """

    def compared(name: str, what: str, count: str, expected: str) -> dict[str, str]:
        state = "" if count == count_words(None) else "good" if count == expected else "bad"
        return {"name": name, "what": what, "count": count, "expected": expected, "state": state}

    entries = []
    for flow in step.counts.flows:
        name, generator, node = short(flow.flow), f"{flow.generator:,}", flow.started_by or step.node
        successes = f"{name}: successful requests" + (f" to {flow.started_by}" if flow.started_by else "")
        entries += [
            {"name": "generator", "what": successes, "count": generator, "expected": "", "state": ""},
            compared("bridge", f"{name}: completions on {node}", count_words(flow.bridge), generator),
            compared("node", f"{name}: JMX counter of {node}", count_words(flow.node), generator),
        ]
    for vault in step.counts.vault_states:
        what = f"{short(vault.state)}: change in unconsumed states"
        changed = count_words(None) if vault.counted is None else f"{vault.counted:+,}"
        entries.append(compared(f"vault of {vault.node}", what, changed, f"{vault.expected:+,}"))
    return entries


def facts(manifest: Manifest, environment: Environment, step: StepEntry) -> list[tuple[str, str]]:
    load, law = step.load, step.littles_law
    deviation = law.deviation_percent
    return [
        *rerun_facts(manifest),
        *web_ui_facts(manifest),
        ("Load", load_facts(load)),
        ("Overrides", ", ".join(f"{key}={value}" for key, value in load.overrides.items()) or "none"),
        ("Conditioning", conditioning_facts(step.conditioning)),
        ("Time", time_words(step)),
        ("Started", manifest.started_at),
        (
            "Workload",
            f"{step.workload}: {step.flow} on {step.node}"
            + (f" with {step.counterparty}" if step.counterparty else ""),
        ),
        ("Unit of work", ", ".join(dict.fromkeys(part.unit for part in step.parts))),
        ("Shape of the lab", labels.describe(environment.shape)),
        *(
            (f"Link {link.name}", f"round trip {link.through_ms:.1f} ms, without the proxy {link.direct_ms:.1f} ms")
            for link in environment.links_measured
        ),
        *environment_facts(environment),
        (
            "Little's law",
            f"{law.throughput_per_second:.2f}/s × {law.latency_mean_seconds:.3f} s = {law.product:.2f}; "
            f"in flight: {law.in_flight_mean:.2f} at the generator"
            + ("" if deviation is None else f" ({deviation:+.1f} %)")
            + ("" if law.bridge_in_flight_mean is None else f", {law.bridge_in_flight_mean:.2f} at the bridge"),
        ),
        *speed_facts(step),
        (
            "Generator",
            "CPU not known"
            if step.generator.cpu_percent_max is None
            else f"at most {step.generator.cpu_percent_max:.0f} % of one core",
        ),
        *profile_facts(manifest),
    ]


def time_words(step: StepEntry) -> str:
    measured = f"measuring window {step.window.seconds:.0f} s"
    if not step.load.is_counted:
        return f"warm-up {warm_up_words(step.warm_up)}; {measured}"
    before = f"{plural(step.load.flows_after, 'flow')} first; " if step.load.flows_after else ""
    return f"{before}{measured}, from the first start to the last end"


def speed_facts(step: StepEntry) -> list[tuple[str, str]]:
    """How long the fixed piece of work took, as a row of the table of facts; none if it was not timed."""
    found = step.calibration
    if found is None or not found.before or not found.after:
        return []
    before, after = (sum(times.values()) / len(times) for times in (found.before, found.after))
    cores = plural(len(found.before), "core")
    return [
        ("CPU speed", f"the same work took {before:.2f} ms before and {after:.2f} ms after the load (mean of {cores})")
    ]


def consensus_latencies(rows: pl.DataFrame, stage_rows: pl.DataFrame | None, step: StepEntry) -> pl.Series | None:
    """The sorted consensus latencies of the transactions in the window, in ms. None if no transaction has one."""
    if stage_rows is None or not step.stages.consensus_latency_ms.count:
        return None
    window = Window(step.window.started_at, step.window.ended_at)
    meant = stages.as_meant_within(counted(rows, step.load.flows_after), window)
    latencies = stages.consensus_latency(stage_rows, meant["trace_id"].drop_nulls())
    return stages.complete_only(latencies)["latency_ms"].sort()


def limits_and_costs(run: StoredRun) -> dict[str, Any]:
    """Saturation and costs of a run, in the form in which the report of a sweep has them for each point."""
    (point,) = points.points(run)
    samples = run.table("metrics").filter(pl.col("name").is_in(saturation.SERIES))
    uses = saturation.uses(run, point, samples)
    is_kept = bool(run.steps[0].open_load) and bool(point.valid) and conclusions.keeps_rate(point)
    limit = f"{conclusions.KEPT_UP}, so no limit was reached" if is_kept else conclusions.evidence(uses)
    return {
        "limit": wording.sentence(limit),
        "use_rows": [{"label": point.label, "is_best": False, "uses": uses}],
        "cost_names": [title for _, title, _ in tables.COSTS],
        "cost_rows": tables.cost_rows([point]),
        "cost_hint": tables.database_hint(run, [point]),
    }


def traces(run: StoredRun, step: StepEntry) -> dict[str, Any]:
    """What the traced requests of the window waited for, and the own time of spans on each node."""
    window = Window(step.window.started_at, step.window.ended_at)
    requests = timed_within(counted(run.table("requests"), step.load.flows_after), window)
    spans = run.spans()
    return {
        # What one host waited for on another needs one clock.
        "waits": []
        if run.environment(step).placement
        else waterfall.waits(requests, spans, step.judged_latency_column),
        "self_times": waterfall.self_times(requests, spans).to_dicts(),
        "label": waterfall.label,
    }


def charts(run: StoredRun) -> list[Chart]:
    step, rows = run.steps[0], run.table("requests")
    consensus = consensus_latencies(rows, run.stage_rows(), step)
    return charts_run.all_charts(rows, run.table("metrics"), run.samples(), step, consensus)


def content(run: StoredRun) -> dict[str, Any]:
    step = run.steps[0]
    environment = run.environment(step)
    audit = run.audits().get(step.index)
    return {
        "environment": environment,
        "step": step,
        "errors": grouped_errors([*step.failures, *step.unknown_outcomes]),
        "expected_failures": grouped_errors(step.expected_failures),
        "errors_shown": ERRORS_SHOWN_MAX,
        "headline": headline(step),
        "sentences": sentences(step),
        "tiles": tiles(step, audit),
        "audit": audit,
        "audit_counts": ledgers.count_rows(audit) if audit else [],
        "audit_shown": ledgers.SHOWN_MAX,
        "count_rows": count_rows(step),
        "facts": facts(run.manifest, environment, step),
        "profiles": [(entry, profiles.read(run.folder, entry)) for entry in run.manifest.profiles],
        "profile_words": profiles,
        "charts": charts(run),
        "clocks": list(CLOCKS),
        "fault_rows": effects.rows(step),
        "trend_rows": tables.trend_rows(run, step),
        "trend_titles": tables.TREND_TITLES,
        "late_max_seconds": LOAD_OPTIONS["late_max"].value(step.load),
        "replay": f"scripts/lab chaos {run.identity}",
        "burst_table": [] if step.bursts is None else tables.burst_rows(step.bursts),
        "stage_meanings": STAGE_MEANINGS,
        "more_files": more_files(run.folder),
        "has_conditioning": step.conditioning is not None,
        "up_command": commands.up(environment),
        "value_table": tables.values_by_node(step),
        **traces(run, step),
        "waterfalls": waterfall.of_run(run, step),
        "clock": waterfall.CLOCK,
        "node_logs": node_logs.section(run.folder),
        "logs": node_logs,
        **limits_and_costs(run),
    }
