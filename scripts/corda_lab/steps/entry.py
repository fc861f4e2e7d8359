"""The entry of ``steps.json``: every figure of one load on one shape of the lab, what makes it doubtful, and the verdict."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from corda_lab.errors import LabError
from corda_lab.stats import steady
from corda_lab.steps import costs, counts, open_load, rows
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.plan import Plan, Subject
from corda_lab.steps.rows import Window
from corda_lab.steps.validity import flags, invalidity, machine_trouble, verdict

CONFIDENCE_DEFAULT = 0.95


StageFigures = Callable[[Window], dict[str, Any]]
"""The figures of the stages over a measuring window."""


@dataclass(frozen=True)
class MachineUse:
    """What the host did over a measuring window; None where it is not known."""

    busy_percent: float | None
    """Share of all processors' time, of which ``stolen_percent`` is a part."""
    stolen_percent: float | None
    """CPU steal: what the hypervisor gave to other guests."""
    swapped_pages: int | None


MachineUses = Callable[[Window], MachineUse]
"""What the host did over any window of the load."""


def warm_up_of(
    options: LoadOptions, requests: pl.DataFrame, end: dict[str, Any], decided: steady.WarmUp | None
) -> dict[str, Any]:
    """The entry ``warm_up`` of the step: how long it took, by which rule, and whether that found its end.

    ``decided`` is where the load was seen to have warmed up when it was ended for that; only a load that went on to its limit is
    looked at anew.
    """
    least, most = options.warm_up_seconds_min, options.warm_up_seconds
    if options.stopping is None or least == most:
        return {"method": "fixed", "seconds_min": most, "seconds_max": most, "cut_seconds": most, "found": True}
    times = requests.filter(rows.is_done())["ended_at"].sort().to_list()
    started_at, stopped_at = float(end["started_at"]), float(end["stop_at"])
    found = decided or steady.warm_up_end(
        times,
        started_at=started_at,
        stopped_at=stopped_at,
        seconds_min=least,
        seconds_max=most,
        bin_seconds=steady.bin_seconds_for(stopped_at - started_at),
    )
    return {
        "method": steady.WARM_UP_METHOD,
        "seconds_min": least,
        "seconds_max": most,
        "cut_seconds": found.cut_seconds,
        "found": found.found,
    }


def precision_of(options: LoadOptions, requests: pl.DataFrame, window: Window, end: dict[str, Any]) -> dict[str, Any]:
    """The entry ``precision`` of the step: how closely its own mean throughput is known."""
    stopping = options.stopping
    series = steady.completions_per_bin(
        requests.filter(rows.is_done())["ended_at"].to_list(),
        started_at=window.started_at,
        stopped_at=window.ended_at,
        bin_seconds=steady.bin_seconds_for(window.seconds),
    )
    return {
        "wanted": stopping.precision if stopping else None,
        "reached": steady.relative_half_width(series, stopping.confidence if stopping else CONFIDENCE_DEFAULT),
        # A load that is told to stop may have been measured for all the time there was, after a short warm-up.
        "ended_early": end.get("exit_reason") == "enough" and window.seconds < options.duration_seconds,
    }


def measuring_window(end: dict[str, Any], warm_up_seconds: float) -> Window:
    """After the warm-up until the load was told to stop."""
    window = Window(float(end["started_at"]) + warm_up_seconds, float(end["stop_at"]))
    if window.seconds <= 0:
        raise LabError("The load stopped before the warm-up was over", "Was Locust stopped by hand?", exit_code=1)
    return window


def mean_in_window(metrics: pl.DataFrame, name: str, window: Window, *, label: str | None = None) -> dict[str, float]:
    """Mean over the window of one named series, by node or by another label."""
    samples = metrics.filter(
        (pl.col("name") == name) & (pl.col("time") >= window.started_at) & (pl.col("time") <= window.ended_at)
    )
    key = pl.col("labels").str.json_path_match(f"$.{label}") if label else pl.col("node")
    means = samples.group_by(key.alias("key")).agg(pl.col("value").mean()).drop_nulls("key").sort("key")
    return {str(found): float(value) for found, value in means.iter_rows()}


def others_cpu_cores(step: dict[str, Any]) -> float | None:
    """Cores that the machine spent on something else than the lab; None where that is not known."""
    resources = step["resources"]
    busy, stolen = resources["host_busy_percent"], resources["host_stolen_percent"]
    if busy is None or stolen is None:
        return None
    own: list[float] = [*resources["node_cpu_cores"].values(), *resources["lab_cpu_cores"].values()]
    database = step["costs"]["cpu_seconds_per_flow"].get(costs.DATABASE, 0.0) * step["throughput_per_second"]
    return max(0.0, float(busy - stolen) / 100 * (os.cpu_count() or 1) - sum(own) - float(database))


def generator_cpu_percent(end: dict[str, Any]) -> float | None:
    """The highest share of one core that a process of the generator used: the busiest worker's, where there are several."""
    shares = [worker.get("cpu_percent_max") for worker in end.get("workers") or []] + [end.get("cpu_percent_max")]
    known = [float(share) for share in shares if share is not None]
    return max(known, default=None)


def with_parts(figures: dict[str, Any], subject: Subject) -> dict[str, Any]:
    """The figures of the rows, each part with its flow, its weight and its unit in front."""
    by_name = {part.name: part for part in subject.parts}
    described = []
    for entry in figures["parts"]:
        part = by_name[entry["name"]]
        about = {
            "name": part.name,
            "flow": part.flow,
            "counterparty": part.counterparty,
            "weight": part.weight,
            "unit": part.unit,
            "states_per_flow": part.states_per_flow,
        }
        described.append({**about, **entry})
    return {**figures, "parts": described}


def build_step(
    plan: Plan,
    requests: pl.DataFrame,
    metrics: pl.DataFrame,
    end: dict[str, Any],
    counted: counts.Counts,
    decided: steady.WarmUp | None,
    machine_uses: MachineUses,
    stage_figures: StageFigures,
    readings: tuple[costs.Reading, costs.Reading],
) -> dict[str, Any]:
    """The entry of ``steps.json``; ``docs/methodology.md`` defines every figure in it.

    ``decided`` is where the warm-up was seen to end, in a load that was ended for that.
    """
    options, subject = plan.options, plan.subject
    warm_up = warm_up_of(options, requests, end, decided)
    window = measuring_window(end, warm_up["cut_seconds"])
    machine = machine_uses(window)
    in_flight = mean_in_window(metrics, "bridge_flows_in_flight", window).get(subject.node)
    states = {part.name: part.states_per_flow for part in subject.parts}
    step: dict[str, Any] = {
        "name": plan.workload.name,
        "workload": plan.workload.name,
        "flow": " + ".join(subject.flows),
        "node": subject.node,
        "counterparty": ", ".join(subject.counterparties) or None,
        "load": options.as_dict(),
        "setup": end.get("setup") or [],
        "window": {
            "load_started_at": end["started_at"],
            "spawned_at": end.get("spawned_at"),
            "started_at": window.started_at,
            "ended_at": window.ended_at,
            "load_ended_at": end["ended_at"],
            "warm_up_seconds": warm_up["cut_seconds"],
            "seconds": window.seconds,
        },
        "warm_up": warm_up,
        "precision": precision_of(options, requests, window, end),
        **with_parts(rows.request_figures(requests, window, states, bridge_in_flight=in_flight), subject),
        "open_load": open_load.open_load_figures(requests, window, end, options.users) if options.is_open else None,
        "stages": stage_figures(window),
        "counts": counted.as_dict(),
        "generator": {
            "cpu_percent_max": generator_cpu_percent(end),
            "exit_reason": end.get("exit_reason"),
            "workers": end.get("workers") or [],
        },
        "resources": {
            "host_busy_percent": machine.busy_percent,
            "host_stolen_percent": machine.stolen_percent,
            "host_swapped_pages": machine.swapped_pages,
            "node_cpu_cores": mean_in_window(metrics, "node_cpu_cores", window),
            "node_heap_used_bytes": mean_in_window(metrics, "node_heap_used_bytes", window),
            "node_gc_share": mean_in_window(metrics, "node_gc_share", window),
            "lab_cpu_cores": mean_in_window(metrics, "lab_cpu_cores", window, label="job"),
        },
    }
    step["costs"] = costs.figures(step, metrics, *readings)
    step["resources"]["others_cpu_cores"] = others_cpu_cores(step)
    step["flags"] = flags(step)
    invalid = invalidity(step)
    step["validity"] = {"valid": not invalid, "reasons": invalid, "machine": machine_trouble(step)}
    reasons = verdict(step)
    step["verdict"] = {"passed": not reasons, "reasons": reasons}
    return step
