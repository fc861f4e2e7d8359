"""Builds the entry of a step from its measurements: all values, the warnings, the validity and the verdict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from corda_lab.errors import LabError
from corda_lab.stats import steady
from corda_lab.steps import bursts, costs, open_load, rows, stages, usage
from corda_lab.steps.entry import (
    WHOLE,
    CalibrationEntry,
    ConditioningEntry,
    CountsEntry,
    Distribution,
    GeneratorEntry,
    NodeValues,
    Number,
    PartEntry,
    ResolvedEntry,
    StagesEntry,
    StepEntry,
    ValidityEntry,
    ValueName,
    Values,
    VerdictEntry,
    WarmUpEntry,
    WindowEntry,
    of_whole,
)
from corda_lab.steps.rows import Window, outcome_values
from corda_lab.steps.spans import NO_SPANS
from corda_lab.steps.validity import invalidity, machine_trouble, unsteadiness, verdict, warnings
from lab_workload.load import ALL_FAILED, Load
from lab_workload.plan import Plan
from lab_workload.run_end import RunEnd
from lab_workload.subject import LoadPart, Subject


@dataclass(frozen=True)
class Observed:
    """Everything that was read of one load: before, during and after it."""

    requests: pl.DataFrame
    """The rows of the generator, one per request, with the columns of ``rows.ROW_SCHEMA``."""
    drops: pl.Series
    """The intended start of every dropped arrival, in unix seconds. Closed load has none."""
    metrics: pl.DataFrame
    end: RunEnd
    counted: CountsEntry
    warm_up: steady.WarmUp | None
    """The end of the warm-up, if it was found while the load was running."""
    machine_use: Callable[[Window], Mapping[str, Number | None]]
    """The values of the machine, whose names begin with ``host_``."""
    calibration: CalibrationEntry | None
    """The speed of the processor before and after the load; None if it was not measured."""
    readings: tuple[costs.Reading, costs.Reading]
    """The counters for the costs: before the load, and at rest after it."""
    tracing: stages.Tracing = field(default_factory=stages.Tracing)
    spans: pl.DataFrame = field(default_factory=lambda: NO_SPANS)
    stage_rows: pl.DataFrame | None = None
    samples: pl.DataFrame = field(default_factory=lambda: usage.NO_SAMPLES)
    """CPU and memory of the containers each second, with the columns of ``usage.SAMPLES_SCHEMA``."""
    seconds_max: float | None = None
    """The length of the measuring window; None: until the generator is told to stop."""


@dataclass(frozen=True)
class MeasuredPart:
    """What is measured of a load: a window, the rows of which all values in it are made, and the warm-up before it."""

    window: Window
    requests: pl.DataFrame
    warm_up: WarmUpEntry


NO_STAGES = "A node ended, so its spans are not known."
COUNT_METHOD = "count"
"""The method of the warm-up of a load that ends after a number of flows: the flows before these."""


def measured_part(options: Load, seen: Observed) -> MeasuredPart:
    """What is measured of a load. Raises LabError if it stopped before that began."""
    requests, end = seen.requests, seen.end
    if not options.is_counted:
        warm_up = warm_up_of(options, requests, end, seen.warm_up)
        return MeasuredPart(measuring_window(end, warm_up.cut_seconds, seen.seconds_max), requests, warm_up)
    own = requests if end.exit_reason == ALL_FAILED else rows.counted(requests, options.flows_after)
    window = rows.span(own)
    cut = max(0.0, window.started_at - end.started_at)
    warm_up = WarmUpEntry(method=COUNT_METHOD, seconds_min=0.0, seconds_max=0.0, cut_seconds=cut)
    return MeasuredPart(window, own, warm_up)


def warm_up_of(options: Load, requests: pl.DataFrame, end: RunEnd, decided: steady.WarmUp | None) -> WarmUpEntry:
    """The entry ``warm_up`` of a step.

    ``decided`` is the end of the warm-up that was found while the load was running, if it was. Otherwise the whole load
    is searched for it.
    """
    least, most = options.warm_up_seconds_min, options.warm_up_seconds
    if end.exit_reason == ALL_FAILED:
        # Nothing warms up where nothing succeeds: the whole load is the window.
        return WarmUpEntry(seconds_min=least, seconds_max=most, cut_seconds=0.0)
    if options.stopping is None or least == most:
        return WarmUpEntry(seconds_min=most, seconds_max=most, cut_seconds=most)
    times = requests.filter(rows.is_done())["ended_at"].sort().to_list()
    found = decided or warm_up_found(options, times, end.started_at, end.stop_at)
    is_until_steady = options.stopping.change_percent_max is not None
    return WarmUpEntry(
        method=steady.STEADY_METHOD if is_until_steady else steady.WARM_UP_METHOD,
        seconds_min=least,
        seconds_max=most,
        cut_seconds=found.cut_seconds,
        found=found.found,
    )


def warm_up_words(warm_up: WarmUpEntry) -> str:
    """``63 s, then steady``: the length of a warm-up, and how it ended if its length was not fixed."""
    seconds = f"{warm_up.cut_seconds:.0f} s"
    if warm_up.seconds_min == warm_up.seconds_max:
        return seconds
    return f"{seconds}, then steady" if warm_up.found else f"{seconds} (the longest allowed), not steady by then"


def conditioning_words(before: ConditioningEntry) -> str:
    """``412 iou flows in 58 s, then steady``: the load that conditioned the nodes."""
    how = "then steady" if before.steady else "not steady by then"
    return f"{before.flows:,} {before.workload} flows in {before.seconds:.0f} s, {how}"


def warm_up_found(
    options: Load,
    times: list[float],
    started_at: float,
    stopped_at: float,
    *,
    window_seconds: float | None = None,
) -> steady.WarmUp:
    """The end of the warm-up of a load that is known until ``stopped_at``. ``times`` has its completions, in seconds.

    ``window_seconds`` is the length of a window that must be steady; None is that of the load.
    """
    limits = {"seconds_min": options.warm_up_seconds_min, "seconds_max": options.warm_up_seconds}
    bin_seconds = steady.bin_seconds_for(stopped_at - started_at)
    change_percent_max = options.stopping.change_percent_max if options.stopping else None
    if change_percent_max is None:
        return steady.warm_up_end(
            times, started_at=started_at, stopped_at=stopped_at, bin_seconds=bin_seconds, **limits
        )
    return steady.steady_window(
        times,
        started_at=started_at,
        stopped_at=stopped_at,
        window_seconds=window_seconds or options.duration_seconds,
        change_percent_max=change_percent_max,
        bin_seconds=bin_seconds,
        **limits,
    )


def measuring_window(end: RunEnd, warm_up_seconds: float, seconds_max: float | None = None) -> Window:
    """The window from the end of the warm-up until the generator was told to stop, or for ``seconds_max``.

    Raises LabError if the load stopped before the end of the warm-up.
    """
    started_at = end.started_at + warm_up_seconds
    window = Window(started_at, end.stop_at if seconds_max is None else min(end.stop_at, started_at + seconds_max))
    if window.seconds <= 0:
        raise LabError(
            "The load stopped before the warm-up was over", "Check whether Locust was stopped by hand.", exit_code=1
        )
    return window


def bridge_in_flight(metrics: pl.DataFrame, window: Window, nodes: Sequence[str]) -> float | None:
    """The mean number of flows in flight at the bridge; None if it is not known of each of ``nodes``."""
    means = usage.mean_in_window(metrics, "bridge_flows_in_flight", window)
    return sum(means[node] for node in nodes) if set(nodes) <= set(means) else None


def others_cpu_cores(values: Values, throughput: float) -> float | None:
    """The cores of the machine that processes outside the lab used; None if this is not known."""
    names: tuple[ValueName, ...] = ("host_busy_percent", "host_stolen_percent", "host_cores")
    busy, stolen, cores = (values.get(name, {}).get(WHOLE) for name in names)
    in_nodes = values.get("node_cpu_cores")
    if busy is None or stolen is None or cores is None or not in_nodes:
        return None
    own = sum(in_nodes.values()) + sum(values.get("lab_cpu_cores", {}).values())
    database = values.get("cpu_seconds_per_flow", {}).get(costs.DATABASE, 0.0) * throughput
    return max(0.0, (busy - stolen) / 100 * cores - own - database)


def judged(step: StepEntry) -> StepEntry:
    invalid, failed = invalidity(step), verdict(step)
    return step.updated(
        # What makes a step invalid is not said a second time as a warning.
        flags=[one for one in warnings(step) if one not in invalid],
        unsteady=unsteadiness(step),
        validity=ValidityEntry(valid=not invalid, reasons=invalid, machine=machine_trouble(step)),
        verdict=VerdictEntry(passed=not failed, reasons=failed),
    )


def generator_entry(end: RunEnd) -> GeneratorEntry:
    return GeneratorEntry(
        cpu_percent_max=max([end.cpu_percent_max, *(worker.cpu_percent_max for worker in end.workers)]),
        exit_reason=end.exit_reason,
        workers=end.workers,
    )


def resolved_entry(rows: pl.DataFrame, load_ended_at: float) -> ResolvedEntry:
    """The entry ``resolved`` of a step. ``load_ended_at`` is in unix seconds."""
    asked = rows.filter(pl.col("resolved").is_not_null())
    counts = dict(asked["resolved"].value_counts().iter_rows())
    last = asked["resolved_at"].max()
    return ResolvedEntry(
        ok=counts.get("ok", 0),
        failed=counts.get("failed", 0),
        not_started=counts.get("not_started", 0),
        unknown=counts.get("unknown", 0),
        seconds=max(0.0, round(float(last) - load_ended_at, 3)) if isinstance(last, float) else 0.0,
    )


def of_rows(
    load: Load,
    subject: Subject,
    requests: pl.DataFrame,
    measured: MeasuredPart,
    *,
    drops: pl.Series = rows.NO_DROPS,
    seconds: float,
) -> StepEntry:
    """The step as far as its rows tell. ``requests`` has those of the whole load; throughput is over ``seconds``."""
    own, window = measured.requests, measured.window
    whole = rows.outcome_values(
        own, window, whole=requests, dropped=rows.dropped_within(drops, window), seconds=seconds
    )
    parts = tuple(part_entry(part, subject, requests, measured, seconds) for part in subject.parts)
    known = [part.throughput_states_per_second for part in parts if part.throughput_states_per_second is not None]
    return StepEntry(
        **whole.fields(),
        workload=load.workload,
        flow=" + ".join(subject.flows),
        node=", ".join(subject.nodes),
        counterparty=", ".join(subject.counterparties) or None,
        load=load,
        setup=[],
        window=WindowEntry(
            load_started_at=window.started_at,
            spawned_at=None,
            started_at=window.started_at,
            ended_at=window.ended_at,
            load_ended_at=window.ended_at,
            warm_up_seconds=measured.warm_up.cut_seconds,
            seconds=window.seconds,
        ),
        warm_up=measured.warm_up,
        throughput_states_per_second=sum(known) if known else None,
        parts=parts,
        by_node=node_values(own, window, subject.nodes, seconds),
        values=rows.littles_law(own, window) | rows.halves(own, window),
        failures=rows.failures_by_kind(requests, "failed"),
        unknown_outcomes=rows.failures_by_kind(requests, "unknown"),
        expected_failures=rows.failures_by_kind(requests, "expected"),
        stages=StagesEntry(reason=NO_STAGES),
        counts=CountsEntry(generator=whole.requests.ok, at_rest=False),
    )


def part_entry(
    part: LoadPart, subject: Subject, requests: pl.DataFrame, measured: MeasuredPart, seconds: float
) -> PartEntry:
    is_part, states = pl.col("part") == part.name, part.states_per_flow
    own, whole = measured.requests.filter(is_part), requests.filter(is_part)
    values = rows.outcome_values(own, measured.window, whole=whole, seconds=seconds)
    return PartEntry(
        **values.fields(),
        name=part.name,
        throughput_states_per_second=None if states is None else values.requests.window_ok * states / seconds,
        flow=part.flow,
        counterparty=", ".join(subject.counterparties_of(part.name)) or None,
        weight=part.weight,
        unit=part.unit,
        states_per_flow=states,
        names_states=bool(part.changes),
    )


def build_step(plan: Plan, seen: Observed) -> StepEntry:
    """The entry of a step. Raises LabError if the load stopped before the end of the warm-up."""
    options, end, nodes = plan.load, seen.end, plan.subject.nodes
    measured = measured_part(options, seen)
    window, requests = measured.window, measured.requests
    done = rows.ended_within(requests, window).filter(rows.is_done()).height
    in_bursts = bursts.bursts_values(seen.requests, seen.stage_rows, options) if options.is_burst else {}
    rates: list[float] = [*in_bursts.get("burst_throughput_per_second", {}).values()]
    # The window of bursts has the rests too. Their throughput is that within a burst, of which each part has its share.
    seconds = done * len(rates) / sum(rates) if done and any(rates) else window.seconds
    step = of_rows(options, plan.subject, seen.requests, measured, drops=seen.drops, seconds=seconds)
    arrivals, lag_ms = arrivals_of(options, seen, window)
    values: Values = {
        **step.values,
        **usage.usage_values(seen.samples, seen.metrics, window, end.ended_at),
        **costs.cost_values(
            window,
            seen.metrics,
            *seen.readings,
            rate=done / window.seconds,
            flows=step.requests.ok + step.requests.expected,
            states=costs.states_made(step.parts),
            transactions=costs.recorded(seen.counted.transactions),
            load_started_at=end.started_at,
        ),
        **arrivals,
        **in_bursts,
        **of_whole(
            **seen.machine_use(window),
            bridge_in_flight_mean=bridge_in_flight(seen.metrics, window, nodes),
            total_seconds=None if options.flows is None else window.seconds,
        ),
    }
    values |= of_whole(others_cpu_cores=others_cpu_cores(values, done / window.seconds))
    return judged(
        step.updated(
            setup=end.setup,
            window=step.window.model_copy(
                update={
                    "load_started_at": end.started_at,
                    "spawned_at": end.spawned_at,
                    "load_ended_at": end.ended_at,
                }
            ),
            values={name: by_part for name, by_part in values.items() if by_part},
            database_read=costs.database_read(*seen.readings),
            lag_ms=lag_ms,
            node_latency_ms=stages.node_latency(requests, seen.stage_rows, window),
            resolved=resolved_entry(seen.requests, end.ended_at),
            stages=stages.stage_values(
                requests, seen.stage_rows, window, [part.name for part in step.parts], seen.tracing
            ),
            counts=seen.counted,
            generator=generator_entry(end),
            calibration=seen.calibration,
        )
    )


def arrivals_of(load: Load, seen: Observed, window: Window) -> tuple[Values, Distribution]:
    """The values of the arrivals of a load with a pool, and the lag of its starts; nothing of closed load."""
    if not load.has_pool:
        return {}, Distribution()
    timed = open_load.with_lag(seen.requests.drop_nulls("intended_at"), load.places)
    within = rows.timed_within(timed, window) if load.is_open else timed
    values = open_load.lag_values(within)
    if load.is_open:
        values |= open_load.arrival_values(timed, seen.drops, window, seen.end)
    return values, rows.distribution(within["lag_ms"])


def node_values(rows: pl.DataFrame, window: Window, nodes: Sequence[str], seconds: float) -> tuple[NodeValues, ...]:
    """The values of the flows that each of ``nodes`` started, in their order; empty if there is only one node.

    ``rows`` are those of the generator. The throughputs add up to that of the step. In open load, arrivals that were
    dropped belong to no node.
    """
    if len(nodes) < 2:
        return ()
    values = ((node, outcome_values(rows.filter(pl.col("node") == node), window, seconds=seconds)) for node in nodes)
    return tuple(
        NodeValues(node=node, throughput_per_second=own.throughput_per_second, latency_ms=own.latency_ms)
        for node, own in values
    )
