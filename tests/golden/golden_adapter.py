"""How the code of today makes the golden values: the only module to change when that code moves or is renamed.

The first half makes the objects of today from the inputs of a case, and lets the code compute, store and read again.
The second half names the values. A value keeps its name here, whatever it is called in the code.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter

from corda_lab.analysis import comparison, saturation, significance
from corda_lab.analysis.metrics import METRICS
from corda_lab.analysis.points import Estimate, Point, best, measured_metrics, points, searched
from corda_lab.analysis.significance import PointComparison
from corda_lab.clients.prometheus import METRICS_SCHEMA
from corda_lab.faults.effects import with_effects
from corda_lab.faults.model import FaultEntry
from corda_lab.figures import measure, repeats
from corda_lab.figures.figure import Places
from corda_lab.figures.judge import ClaimVerdict, judge
from corda_lab.figures.repeats import Repeat
from corda_lab.knobs.shape import KNOBS
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE, WORKLOADS
from corda_lab.report import unfinished
from corda_lab.results import store, stored
from corda_lab.results.manifest import Environment, GitState, Host, Versions
from corda_lab.results.store import Measured
from corda_lab.results.stored import StepFile, StoredRun
from corda_lab.results.sweep import SearchOutcome
from corda_lab.results.sweep_parts import NO_CONDITION
from corda_lab.steps import broken, costs, counts, resolutions, rows, stages
from corda_lab.steps.broken import BrokenLoad, broken_step
from corda_lab.steps.build import Observed, build_step
from corda_lab.steps.entry import WHOLE, CalibrationEntry, ConditioningEntry, CountsEntry, SetupEntry, StepEntry
from corda_lab.steps.parameters import AT, STEP
from corda_lab.steps.usage import NO_SAMPLES
from corda_lab.sweeps import store as kept_sweeps
from corda_lab.sweeps.command import SWEEPS
from corda_lab.sweeps.file import SweepFile, quick, read_sweep
from corda_lab.sweeps.plan import PlannedStep, conditioning_load, given, points_of, step_of, steps_of
from corda_lab.sweeps.run import placed
from corda_lab.sweeps.search import failings, find_max
from golden.golden_cases import Case, case
from golden.golden_leaves import leaves
from golden.golden_table import Value
from lab_workload.load import Load
from lab_workload.plan import Plan
from lab_workload.run_end import RunEnd
from lab_workload.subject import Subject
from support.runs import write_run

Values = Iterator[Value]
IDENTITY = "20260102T030405Z-golden"
NODES = ("Notary", "PartyA", "PartyB", "PartyC")
ROW_TEXTS = ("flow_id", "flow", "role", "node", "tx_id", "outcome")
ROW_TIMES = ("created_at", "started_at", "ended_at", "notarised_at", "recorded_at")
FLOW_TIMEOUT_SECONDS = 300


# From a case to a stored run.


def _environment(lab: Mapping[str, Any], variables: Mapping[str, str]) -> Environment:
    shape = {knob.variable: knob.default for knob in KNOBS}
    shape |= {"CORDA_VERSION": lab["corda"], "DATABASE": lab["database"], **lab["shape"], **variables}
    return Environment(
        git=GitState(commit=None, has_changes=None),
        versions=Versions(corda=shape["CORDA_VERSION"], java={}, engine="1", compose=None, python="3"),
        images={},
        stand_ins=[],
        host=Host(
            cpu_model="A processor",
            cpu_count=lab["cpu_count"],
            memory_bytes=24 * 1024**3,
            kernel="Linux",
            architecture="x86_64",
        ),
        shape=shape,
        links_measured=[],
        settings={},
    )


def _requests(one: Case, step: int) -> pl.DataFrame:
    found = one.table("requests", step)
    assert found is not None
    columns = {**rows.ROW_SCHEMA, **resolutions.COLUMNS}
    lacking = [pl.lit(None, kind).alias(name) for name, kind in columns.items() if name not in found.columns]
    whole = found.with_columns(lacking).select(pl.col(name).cast(kind) for name, kind in columns.items())
    # These runs are older than traces: all of their flows were timed.
    return whole.with_columns(pl.coalesce("trace_id", "flow_id").alias("trace_id"))


def _stage_rows(one: Case, step: int) -> pl.DataFrame | None:
    found = one.table("stages", step)
    if found is None:
        return None
    # Those of one transaction are of one trace.
    traces = _requests(one, step).select(pl.col("tx_id").str.to_uppercase(), "trace_id").drop_nulls().unique("tx_id")
    found = found.join(traces, on="tx_id", how="left", maintain_order="left")
    columns = {**dict.fromkeys(ROW_TEXTS, pl.String()), **dict.fromkeys(ROW_TIMES, pl.Float64())}
    lacking = [pl.lit(None, kind).alias(name) for name, kind in columns.items() if name not in found.columns]
    return found.with_columns(lacking)


def _metrics(one: Case, step: int) -> pl.DataFrame:
    found = one.table("metrics", step)
    return pl.DataFrame(schema=METRICS_SCHEMA) if found is None else found.select(METRICS_SCHEMA.names())


def _snapshot(read: Mapping[str, Any]) -> counts.Snapshot:
    vaults = {(state, node): count for state, node, count in read["vault_unconsumed"]}
    return counts.Snapshot(read["bridge_completed"], read["node_success"], vaults, read["started_at"])


def _counts(read: Mapping[str, Any], requests: pl.DataFrame, subject: Subject) -> CountsEntry:
    before, after = _snapshot(read["before"]), _snapshot(read["after"])
    found = counts.difference(before, after, subject, succeeded=counts.succeeded_by_part(requests))
    told = counts.told_transactions(requests, subject)
    vaults = {
        (vault["state"], vault["node"]): told[vault["state"], vault["node"]] - {*vault["missing"]} | {*vault["others"]}
        for vault in read["vaults"]
    }
    checked = counts.check_transactions(told, vaults)
    changes = {"transactions": checked, "at_rest": read["at_rest"], "rest_seconds": read["rest_seconds"]}
    return counts.judged(found.model_copy(update=changes))


def _observed(one: Case, step: int, options: Load, subject: Subject) -> Observed:
    read, requests, stage_rows = one.load(step), _requests(one, step), _stage_rows(one, step)
    machine = {f"host_{name}": value for name, value in read["machine"].items()}
    before, after = TypeAdapter(tuple[costs.Reading, costs.Reading]).validate_python(read["readings"])
    calibration = read["calibration"]
    samples = one.table("samples", step)
    return Observed(
        requests=requests,
        drops=pl.Series(rows.NO_DROPS.name, read["drops"], dtype=pl.Float64),
        metrics=_metrics(one, step),
        end=TypeAdapter(RunEnd).validate_python(read["end"]),
        counted=_counts(read["counters"], requests, subject),
        warm_up=None,
        machine_use=lambda _window: machine,
        tracing=stages.Tracing(**read["stages"]),
        calibration=None if calibration is None else CalibrationEntry.model_validate(calibration),
        readings=(before, after),
        stage_rows=stage_rows,
        samples=NO_SAMPLES if samples is None else samples,
    )


def _built(one: Case, step: int, options: Load, subject: Subject) -> StepEntry:
    """The entry of a load that came to its end: with its faults, and broken if it broke the lab."""
    read = one.load(step)
    text = (WORKLOADS / f"{options.workload}.yaml").read_text(encoding="utf-8")
    run_plan = Plan(
        identity="golden", load=options, workload_text=text, starters=(), subject=subject, seconds=options.total_seconds
    )
    seen = _observed(one, step, options, subject)
    entry = build_step(run_plan, seen)
    if "faults" in read:
        faults = with_effects(
            TypeAdapter(list[FaultEntry]).validate_python(read["faults"]),
            seen.requests,
            entry.window.load_started_at,
            entry.window.load_ended_at,
        )
        entry = entry.updated(faults=faults, restarted_after_faults=tuple(read["restarted_after_faults"]))
    if "broke" in read:
        why = broken.why_overloaded(entry)
        assert why is not None
        entry = broken.as_broken(entry, why)
    return entry


def _measured(one: Case, step: int, options: Load, variables: Mapping[str, str]) -> Measured:
    """A load as it is stored. Times of the load that conditioned the nodes before are made up: none is measured."""
    read = one.load(step)
    subject = TypeAdapter(Subject).validate_python(read["subject"])
    requests = _requests(one, step)
    if "end" in read:
        entry = _built(one, step, options, subject)
    else:
        setup = TypeAdapter(list[SetupEntry]).validate_python(read["setup"])
        load = BrokenLoad(options, options.workload, subject, setup, requests, read["began_at"], read["ended_at"])
        entry = broken_step(load, read["broke"])
    samples = one.table("samples", step)
    measured = Measured(
        entry,
        requests,
        _metrics(one, step),
        _stage_rows(one, step),
        _environment(one.content["lab"], variables),
        options.workload,
        "workload: iou\n",
        pl.Series(rows.NO_DROPS.name, read.get("drops", []), dtype=pl.Float64),
        samples=NO_SAMPLES if samples is None else samples,
    )
    if "conditioning" not in read:
        return measured
    before = ConditioningEntry(workload=options.workload, load=options, **read["conditioning"])
    return measured.after(before)


@contextmanager
def _stored_load(one: Case) -> Iterator[StoredRun]:
    options = TypeAdapter(Load).validate_python(one.content["load"])
    measured = _measured(one, 1, options, {})
    with tempfile.TemporaryDirectory() as folder:
        manifest = store.manifest(IDENTITY, load=options)
        yield stored.read(write_run(manifest, [measured], results=Path(folder)))


def _step(one: Case, file: SweepFile, planned: PlannedStep) -> Measured:
    measured = _measured(one, planned.index, planned.load, planned.variables)
    return measured.with_step(placed(measured.step, planned, failings(measured.step, file.fields)))


@cache
def _all_steps(one: Case) -> tuple[SweepFile, list[PlannedStep], list[Measured], dict[str, SearchOutcome]]:
    """The steps of a sweep in their order. A search asks for one after the other."""
    file = read_sweep(one.sweep_file)
    if file.fields.find_max is None:
        planned = steps_of(file)
        return file, planned, [_step(one, file, step) for step in planned], {}
    asked: list[PlannedStep] = []
    measured: list[Measured] = []

    def answer(step: PlannedStep) -> bool:
        asked.append(step)
        measured.append(_step(one, file, step))
        return measured[-1].step.thresholds.passed

    outcomes = {point.label: find_max(file, point, number, answer) for number, point in enumerate(points_of(file))}
    return file, asked, measured, outcomes


@contextmanager
def _stored_sweep(
    file: SweepFile, steps: Sequence[Measured], outcomes: dict[str, SearchOutcome]
) -> Iterator[StoredRun]:
    manifest = store.manifest(IDENTITY, sweep=file.entry(outcomes), command="golden")
    with tempfile.TemporaryDirectory() as folder:
        yield stored.read(write_run(manifest, steps, {"sweep.yaml": file.text}, results=Path(folder)))


# From a stored run to named values.

MEASURED = (
    *("window", "warm_up", "requests", "setup"),
    *("throughput_per_second", "throughput_states_per_second"),
    *("latency_ms", "latency_intended_ms", "bridge_flow_ms", "bridge_rpc_ms", "node_latency_ms"),
    *("parts", "by_node", "stages"),
    *("failures", "unknown_outcomes", "expected_failures", "resolved", "counts"),
    *("generator", "faults", "restarted_after_faults"),
)
"""The fields of a step with measured values. The others are what was asked for."""
JUDGED = ("outcome", "flags", "unsteady", "validity", "verdict", "thresholds")
"""The fields of a step that say what it is worth."""


def load_values(one: Case) -> Values:
    """All values of a single load."""
    with _stored_load(one) as run:
        (step,) = run.steps
        yield from _of("load", "conditioning.steady", step.conditioning and step.conditioning.steady)
        yield from _of("load", "calibration.slowdown", step.calibration and step.calibration.slowdown)
        for name in (*MEASURED, *JUDGED):
            yield from _of("load", name, getattr(step, name))
        yield from _table_values(step)
        yield Value("load", "costs.database_read", "", step.database_read)
        if step.load.is_open and step.value("offered") is not None:
            yield Value("load", "open_load.lag_ms_p99_all", "", one.load(1)["end"]["lag_p99_ms"])
        yield from _named_values("load", step)
        for point in points(run):
            yield from _saturation("load", run, point)


OF_WHOLE: Mapping[str, tuple[str, ...]] = {
    "resources": ("host_busy_percent", "host_stolen_percent", "host_swapped_pages", "others_cpu_cores", "host_cores"),
    "steadiness": ("first_half_per_second", "second_half_per_second"),
}
BY_PART: Mapping[str, tuple[str, ...]] = {
    "resources": ("node_cpu_cores", "node_heap_used_bytes", "node_gc_share", "lab_cpu_cores"),
    "costs": (
        *("cpu_seconds_per_flow", "allocated_bytes_per_flow", "gc_seconds_per_flow", "sent_bytes_per_flow"),
        *("received_bytes_per_flow", "disk_written_bytes_per_flow", "checkpoints_per_flow"),
        *("database_bytes_per_flow", "database_bytes_per_state", "database_bytes_per_transaction"),
    ),
    "usage": (
        *("cpu_percent", "cpu_percent_max", "cpu_peaks", "resident_bytes", "resident_max_bytes"),
        *("resident_after_bytes", "heap_floor_bytes", "heap_used_max_bytes", "gc_percent", "rpc_connections"),
        "rpc_queue_depth",
    ),
}
ARRIVALS = (
    *("offered", "due_in_window", "dropped_in_window", "offered_per_second", "late", "dropped"),
    *("generator_lag_ms_p99", "generator_lag_ms_max", "generator_late"),
)
OF_A_BURST = (
    *("started_at", "ok", "expected", "failed", "unknown", "last_started_seconds"),
    *("total_seconds", "throughput_per_second", "latency_mean_ms"),
    *("rpc_total_seconds", "rpc_throughput_per_second", "rpc_latency_mean_ms"),
    *("node_total_seconds", "node_throughput_per_second", "node_latency_mean_ms"),
)


def _table_values(step: StepEntry) -> Values:
    """The values in the table of a step, under the names of the groups that they once had."""
    table: Mapping[str, Mapping[str, float]] = step.values  # type: ignore[assignment]
    for group, names in OF_WHOLE.items():
        for name in names:
            yield Value("load", f"{group}.{name}", "", table.get(name, {}).get(WHOLE))
    for group, names in BY_PART.items():
        for name in names:
            by_part = table.get(name, {})
            yield from _of("load", f"{group}.{name}", {part: by_part[part] for part in by_part if part != WHOLE})
    yield Value("load", "usage.cpu_peaks_of_nodes", "", step.value("cpu_peaks"))
    yield Value("load", "total_seconds", "", step.value("total_seconds"))
    first, second = step.value("first_half_per_second"), step.value("second_half_per_second")
    assert first is not None
    assert second is not None
    yield Value("load", "steadiness.change_percent", "", rows.deviation_percent(second, first))
    yield from _balance(step)
    if step.value("offered") is None:
        yield Value("load", "open_load", "", None)
    else:
        yield from _arrivals(step)
    if "burst_ok" not in table:
        yield Value("load", "bursts", "", None)
        return
    yield Value("load", "bursts.bursts.count", "", len(table["burst_ok"]))
    for burst in table["burst_ok"]:
        for name in OF_A_BURST:
            yield Value("load", f"bursts.bursts.{name}", burst, table.get(f"burst_{name}", {}).get(burst))
    asked = {"requests": step.load.users, "pool": step.load.places}
    asked |= {name: getattr(step.load, name) for name in ("within_seconds", "rest_seconds")}
    for name, value in asked.items():
        yield Value("load", f"bursts.{name}", "", value)
    yield from _of("load", "bursts.lag_ms", step.lag_ms)
    for name in ("generator_late", "generator_lag_ms_max"):
        yield Value("load", f"bursts.{name}", "", table[name][WHOLE])


def _balance(step: StepEntry) -> Values:
    """Little's law."""
    rate, seconds = step.value("requests_per_second"), step.value("request_seconds_mean")
    in_flight, in_bridge = step.value("in_flight_mean"), step.value("bridge_in_flight_mean")
    assert rate is not None
    assert seconds is not None
    assert in_flight is not None
    found = {
        "throughput_per_second": rate,
        "latency_mean_seconds": seconds,
        "product": rate * seconds,
        "in_flight_mean": in_flight,
        "deviation_percent": step.value("littles_law_percent"),
        "bridge_in_flight_mean": in_bridge,
        "bridge_deviation_percent": None if in_bridge is None else rows.deviation_percent(in_bridge, in_flight),
        "holds": step.littles_law_holds,
    }
    for name, value in found.items():
        yield Value("load", f"littles_law.{name}", "", value)


def _arrivals(step: StepEntry) -> Values:
    table: Mapping[str, Mapping[str, float]] = step.values  # type: ignore[assignment]
    for name in ARRIVALS:
        yield Value("load", f"open_load.{name}", "", table.get(name, {}).get(WHOLE))
    yield Value("load", "open_load.rate_per_second", "", step.load.rate)
    yield Value("load", "open_load.pool", "", step.load.users)
    yield Value("load", "open_load.pool_was_full", "", bool(step.value("pool_was_full")))
    yield Value("load", "open_load.requests_in_window", "", step.lag_ms.count)
    yield from _of("load", "open_load.lag_ms", step.lag_ms)


def sweep_values(one: Case) -> Values:
    """The plan, steps, points, comparisons and saturation of a sweep, and the repeats that figures take from it."""
    file, planned, measured, outcomes = _all_steps(one)
    for step in planned:
        yield from _plan(file, step)
    with _stored_sweep(file, measured, outcomes) as run:
        for entry in run.steps:
            yield from _step_values(entry)
        yield from _analysis(run)
        if file.fields.find_max is None:
            yield from _repeats(run)


def interrupted_values(name: str, *, steps: int) -> Values:
    """A sweep that was interrupted after some steps: what is missing, and the points of those that are there."""
    one = case(name)
    file, planned, all_measured, _ = _all_steps(one)
    with tempfile.TemporaryDirectory() as folder:
        kept = kept_sweeps.begin(file, load_settings(ENV_FILE, {}), results_folder=Path(folder))
        for step, own in zip(planned[:steps], all_measured, strict=False):
            store.keep(kept.new_step(step), own)
        again = kept_sweeps.find(None, results_folder=Path(folder))
        for step in again.steps:
            yield Value(f"step {step.index}", "is_done", "", again.entry(step) is not None)
        run = stored.read(again.folder)
        for entry in run.steps:
            yield from _step_values(entry)
        yield from _analysis(run)


def unfinished_values(one: Case) -> Values:
    """A load that failed or was interrupted: what is known of it from its rows."""
    content = one.content
    options = TypeAdapter(Load).validate_python(content["load"])
    plan = Plan(
        identity=content["id"],
        load=options,
        workload_text="workload: iou\n",
        starters=(),
        subject=TypeAdapter(Subject).validate_python(one.load(1)["subject"]),
        seconds=options.total_seconds,
    )
    step = StepFile(index=1, key="run", began_at=content["began_at"])
    with tempfile.TemporaryDirectory() as results:
        run = store.begin(store.manifest(content["id"], load=options, command="golden"), results=Path(results))
        folder = store.new_step(run, step.index, step.key)
        store.begin_step(folder, step, plan, _environment(content["lab"], {}))
        requests = one.table("requests", 1)
        assert requests is not None
        requests.write_ndjson(folder / stored.EVIDENCE / f"{plan.identity}.ndjson")
        (killed,) = stored.unfinished(results=Path(results))
        state, kept = content["ended"]["outcome"], store.count_rows(folder)
        store.end_step(folder, step.model_copy(update={"state": state, "why": "golden", "rows": kept}))
        (listed,) = stored.unfinished(results=Path(results))
        report = unfinished.report(run)
    yield Value("list if killed", "state", "", killed.state)
    yield Value("list", "state", "", listed.state)
    yield Value("list", "rows", "", listed.rows)
    for name in ("outcome", "rows", "first_started_at", "last_ended_at", "p50_ms", "p99_ms"):
        yield Value("report", name, "", getattr(report, name))
    yield from _of("report", "outcomes", report.outcomes)


def compared_values(first: str, second: str) -> Values:
    """The comparison of a sweep with another."""
    with _stored_sweep_of(first) as before, _stored_sweep_of(second) as after:
        (found,) = comparison.against_first([before, after])
        for metric, compared in found.rows.items():
            for one in compared:
                yield from _comparison(f"{metric} at {_place(one.first)}", one)
                yield Value(f"{metric} at {_place(one.first)}", "loss", "", comparison.loss(one, metric))
        for difference in found.environment_differences:
            yield Value("environment", difference.kind, difference.name, True)
        yield Value("runs", "missing", "", len(found.missing))
        yield Value("runs", "alone", "", len(found.alone))


@contextmanager
def _stored_sweep_of(name: str) -> Iterator[StoredRun]:
    file, _, measured, outcomes = _all_steps(case(name))
    with _stored_sweep(file, measured, outcomes) as run:
        yield run


def _of(place: str, metric: str, value: Any) -> Values:
    for name, part, found in leaves(metric, value):
        yield Value(place, name, part, found)


def _plan(file: SweepFile, step: PlannedStep) -> Values:
    place = f"plan {step.index}"
    yield Value(place, "repeat", "", step.repeat)
    yield Value(place, "phase", "", step.kind)
    yield Value(place, "seed", "", step.load.seed)
    for name, value in {**step.point, **_asked(file, step)}.items():
        yield Value(place, "asked", name, value if isinstance(value, int | float | str) else json.dumps(value))


def _asked(file: SweepFile, step: PlannedStep) -> dict[str, Any]:
    """The fields of ``load`` of a step, as they are asked for."""
    entry = next(one for one in file.fields.entries if one.name == step.point.get(STEP, ""))
    varied = {name: value for name, value in step.point.items() if name not in (STEP, AT)}
    load = given(file.fields, entry, varied)["load"]
    return {**load, "rate": step.load.rate} if file.fields.find_max and step.load.rate else load


def _named_values(place: str, step: StepEntry) -> Values:
    for name, metric in METRICS.items():
        if (value := metric.of(step)) is not None:
            yield Value(place, f"named.{name}", "", value)
        for part, own in (metric.by_node(step) if metric.by_node else {}).items():
            yield Value(place, f"named.{name}", part, own)


def _step_values(step: StepEntry) -> Values:
    place = f"step {step.index}"
    for name in ("requests", *JUDGED):
        yield from _of(place, name, getattr(step, name))
    yield Value(place, "window.seconds", "", step.window.seconds)
    yield Value(place, "counts.agree", "", step.counts.agree)
    yield from _named_values(place, step)


def _place(point: Point) -> str:
    """``point load.users=4 shape.database=h2``; the probes of a search say so."""
    return f"point {_values_words(point.values)}" + ("" if point.phase == "measure" else f" {point.phase}")


def _values_words(values: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(values.items()))


def _analysis(run: StoredRun) -> Values:
    all_points = points(run)
    for point in all_points:
        place = _place(point)
        for name in ("steps", "valid", "broken", "collapsed", "steady"):
            yield Value(place, name, "", len(getattr(point, name)))
        for name in measured_metrics(all_points):
            yield from _estimate(place, name, point.estimate(name))
            if (steady := point.steady_estimate(name)) is not None:
                yield from _estimate(place, f"{name}.steady", steady)
        yield from _saturation(place, run, point)
    found = significance.judge(run, all_points)
    top = best(all_points, found.metric)
    yield Value("sweep", "judged by", "", found.metric)
    yield Value("sweep", "best", "", None if top is None else _place(top))
    for stratum in found.strata:
        for first, second in combinations(stratum, 2):
            yield from _comparison(f"{_place(first)} → {_place(second)}", found.between(first, second))
    if run.sweep.find_max:
        for search in searched(run, all_points):
            place = f"search {_values_words(search.group)}"
            for name in ("rate", "low", "high"):
                yield Value(place, name, "", getattr(search, name))


def _estimate(place: str, name: str, found: Estimate) -> Values:
    for part in ("value", "low", "high", "n"):
        yield Value(place, name, part, getattr(found, part))


def _comparison(place: str, found: PointComparison) -> Values:
    yield Value(place, "verdict", "", found.verdict)
    for name in ("ratio", "low", "high", "p_value", "n_a", "n_b"):
        yield Value(place, name, "", getattr(found.difference, name, None))


def _saturation(place: str, run: StoredRun, point: Point) -> Values:
    for use in saturation.uses(run, point, run.table("metrics")):
        yield Value(place, "use", use.resource.name.lower(), use.value)
        yield Value(place, "is_saturated", use.resource.name.lower(), use.is_saturated)


def _repeats(run: StoredRun) -> Values:
    found = measure.collect(run, ["throughput", "p95", "cpu_seconds_per_flow", "database_bytes_per_flow"])
    for repeat in found.repeats:
        for number, point in enumerate(repeat.points, start=1):
            place = f"repeat {repeat.repeat}, point {number}"
            yield Value(place, "outcome", "", point.outcome)
            yield Value(place, "failed", "", point.failed)
            for name, value in {**point.values, **point.metrics}.items():
                yield Value(
                    place, name, "", value if isinstance(value, int | float | str | None) else json.dumps(value)
                )
    yield Value("repeats", "spoilt", "", len(found.spoilt))


# The ready-made sweeps.


def plan_values() -> Values:
    """The steps of the sweeps in ``configs/sweeps``, in both forms: the first repeat, and the order of the others.

    Of a search, only the first step is planned.
    """
    for path in sorted(SWEEPS.glob("*.yaml")):
        whole = read_sweep(path)
        forms = {"full": whole} | ({} if whole.fields.quick is None else {"quick": quick(whole)})
        for form, file in forms.items():
            yield from _plan_of(f"{path.stem} {form}", file)


def _plan_of(name: str, file: SweepFile) -> Values:
    is_search = file.fields.find_max is not None
    steps = [step_of(point, 1, 1) for point in points_of(file)] if is_search else steps_of(file)
    first = [step for step in steps if step.repeat == 1]
    numbers = {_text(step.point): number for number, step in enumerate(first, start=1)}
    for number, step in enumerate(first, start=1):
        place = f"{name}, point {number}"
        asked, load = _asked(file, step), step.load
        found = {
            "point": step.point,
            "asked": {"workload": step.workload, **asked, **load.overrides, "faults": len(load.faults)},
            "shape": step.variables,
            "measured": [[load.warm_up_seconds_min, load.warm_up_seconds], load.duration_seconds, *_counted(load)],
            "condition": _condition(file, step, asked),
            "may_break": step.may_break,
            "seed": load.seed,
        }
        yield from (Value(place, metric, "", _text(value)) for metric, value in found.items())
    for repeat in sorted({step.repeat for step in steps}):
        order = " ".join(str(numbers[_text(step.point)]) for step in steps if step.repeat == repeat)
        yield Value(name, "order", f"repeat {repeat}", order)


def _counted(load: Load) -> tuple[int | None, int | None, int]:
    """The bursts of a load, its flows, and those before them that do not count."""
    return load.bursts if load.is_burst else None, load.flows, load.flows_after or 0


def _condition(file: SweepFile, step: PlannedStep, asked: dict[str, Any]) -> list[Any] | None:
    """The load that conditions the nodes for a step: its workload, if it is another, fields, arguments and seconds."""
    before, fields = step.condition, file.fields.condition
    if before is None or fields == NO_CONDITION:
        return None
    other = before.options.workload if before.options.workload != step.workload else None
    seconds = [before.seconds_min, before.seconds_max]
    return [other, conditioning_load(fields, asked), before.options.overrides, seconds]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


# The published figures.


def figure_values(known: Iterable[str] | None) -> Values:
    """The verdicts on the claims of all figures, from the committed repeats. Those that are not ``known`` do not count.

    Without ``known``, all do.
    """
    stored = repeats.read(Places().repeats)
    names = {_repeat_name(one) for one in stored} if known is None else set(known)
    used = [one for one in stored if _repeat_name(one) in names]
    for one in used:
        yield Value(_repeat_name(one), "points", "", len(one.points))
    for figure in Places().read_figures():
        kept = repeats.kept(figure, used)
        yield Value(figure.name, "form", "", judge(figure, kept.chosen).form)
        for form in ("quick", "full"):
            found = judge(figure, kept.of(form))
            for verdict in found.verdicts if found.repeats else ():
                yield from _claim(f"{figure.name}: {verdict.claim.name}", form, verdict)
        for verdict in judge(figure, ()).verdicts:
            yield from _published(f"{figure.name}: {verdict.claim.name}", verdict)


def _repeat_name(repeat: Repeat) -> str:
    return f"repeat {repeat.sweep} {repeat.form} {repeat.run} {repeat.repeat}"


def _claim(place: str, form: str, found: ClaimVerdict) -> Values:
    for name in ("verdict", "estimate", "n", "further"):
        yield Value(place, name, form, getattr(found, name))
    for name in ("low", "high"):
        yield Value(place, name, form, getattr(found.interval, name, None))
    for one in found.values:
        part = f"{form} {one.repeat.run} {one.repeat.repeat}"
        yield Value(place, "value", part, one.value)
        yield Value(place, "broke", part, one.broke)


def _published(place: str, found: ClaimVerdict) -> Values:
    for name in ("verdict", "value", "low", "high"):
        yield Value(place, f"published.{name}", "", getattr(found.published, name, None))
