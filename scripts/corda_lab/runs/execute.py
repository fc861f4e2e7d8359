"""Executes one run: generates a load, measures it, and stores the results in a folder of ``results/``."""

import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from corda_lab.audit import audit_load
from corda_lab.audit.command import stateful_parts
from corda_lab.clients.prometheus import SCRAPE_SECONDS
from corda_lab.faults import inject
from corda_lab.faults.effects import with_effects
from corda_lab.faults.model import FaultEntry
from corda_lab.host.machine import calibrate
from corda_lab.lab import lifecycle
from corda_lab.lab.environment import read_environment
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.node_logs import read as node_logs
from corda_lab.profile import under_load
from corda_lab.profile.under_load import Profiling
from corda_lab.report import page
from corda_lab.results import folders, store
from corda_lab.results.manifest import Environment, Manifest, ProfileEntry, Rerun
from corda_lab.results.store import Measured
from corda_lab.results.stored import RUN_STEP
from corda_lab.runs import conditioning, containers, counters, faulty, recording, sampling, unknown
from corda_lab.runs.collect import collect
from corda_lab.runs.containers import LoadContainers
from corda_lab.runs.faulty import Settled
from corda_lab.runs.preflight import PreparedRun, describe, plan, prepare, title_of
from corda_lab.runs.readings import Observer
from corda_lab.runs.recording import CONDITION, Recording, recorded
from corda_lab.runs.running import deployed, tell
from corda_lab.runs.spans import limited
from corda_lab.steps.build import Observed, build_step
from corda_lab.steps.chosen_requests import slow_and_failed
from corda_lab.steps.counts import Snapshot
from corda_lab.steps.entry import CalibrationEntry, ConditioningEntry, SetupEntry, StepEntry
from corda_lab.steps.load import Conditioning
from corda_lab.steps.reasons import reason
from corda_lab.steps.resolutions import with_resolutions
from corda_lab.steps.rows import Window
from corda_lab.steps.spans import stage_rows as stage_rows_of
from corda_lab.steps.spans import with_traces
from corda_lab.text import ui
from corda_lab.text.words import listed
from lab_workload.load import Load
from lab_workload.plan import Plan


@dataclass(frozen=True)
class Observation:
    """One load on a lab, with everything that was read of it, before any value is computed."""

    plan: Plan
    seen: Observed
    environment: Environment
    faults: tuple[FaultEntry, ...] = ()
    settled: Settled = field(default_factory=Settled)
    profiles: tuple[ProfileEntry, ...] = ()

    def measured(self) -> Measured:
        """The step with its values and tables. Raises LabError if the load stopped before the end of the warm-up."""
        seen, workload = self.seen, self.plan.workload
        text = workload.text
        step = build_step(self.plan, seen)
        if self.faults:
            window = step.window
            faults = with_effects(self.faults, seen.requests, window.load_started_at, window.load_ended_at)
            step = step.updated(faults=faults, restarted_after_faults=self.settled.restarted)
        profiles = under_load.within(self.profiles, step)
        step = step.updated(flags=[*step.flags, *under_load.warnings(profiles)]) if profiles else step
        requests, spans = seen.requests, seen.spans
        if self.plan.load.trace_keep == "slow":
            measured = Window(step.window.started_at, step.window.ended_at)
            kept = slow_and_failed(requests, measured, step.judged_latency_column, step.load.flows_after)
            traces = kept["trace_id"].drop_nulls()
            requests, spans = with_traces(requests, traces), spans.filter(pl.col("trace_id").is_in(traces.implode()))
        tables, about = (requests, seen.metrics, seen.stage_rows), (self.environment, workload.name, text)
        more = (seen.drops, seen.samples, spans)
        unread = [reason("spans_unread", nodes=listed(seen.tracing.unread))] if seen.tracing.unread else []
        return Measured(step, *tables, *about, *more, profiles=profiles).with_warnings(unread)


def measure(
    run: PreparedRun,
    settings: Settings,
    record: Recording,
    environment: Environment | None = None,
    conditioned: ConditioningEntry | None = None,
    *,
    warns_of_cold_nodes: bool = False,
) -> Measured:
    """Make all checks of a run, store what is known before its load, run the load and measure it. Raises LabError.

    The ledgers are audited, too; that they cannot be read is no error. An interrupted load is stopped. ``environment``
    is that of the lab; it is read if it is None. ``conditioned`` is the load before, if there was one.
    """
    with ExitStack() as stack:
        with ui.phase("Checking the run"):
            lab = stack.enter_context(closing(deployed(settings)))
            tell(lab)
            planned = plan(run, lab.settings, lab, lab.bridge)
            environment = environment or read_environment(lab)
            inject.check(planned.load.faults, lab.settings, lab.hosts)
            ui.note(describe(planned))
            record.begin(lab, planned, environment)
        cold = conditioning.cold_nodes(lab.prometheus, planned.subject) if warns_of_cold_nodes else []
        for warning in cold:
            ui.warn(str(warning))
        measured = observe(lab, planned, environment, record).measured()
        with ui.phase("Auditing the ledgers"):
            stateful, slack = stateful_parts(measured.step), measured.environment.clocks_apart_seconds_max
            audit = audit_load(lab, measured.requests, stateful=stateful, slack_seconds=slack)
            ui.note(audit.summary)
        measured = measured.with_audit(audit).with_warnings(cold)
        node_logs.keep_if_failed(measured.step, lab, record.folder)
    return measured if conditioned is None else measured.after(conditioned)


def observe(lab: Lab, plan: Plan, environment: Environment, record: Recording) -> Observation:
    """Run a planned load, and read everything that its values are computed from. Raises LabError."""
    with under_load.prepared(lab, plan) as profiling, sampling.sampling() as sampler:
        observation = _observe(lab, plan, environment, record, sampler, profiling)
        return replace(observation, profiles=profiling.store(record.folder))


def _observe(
    lab: Lab,
    plan: Plan,
    environment: Environment,
    record: Recording,
    sampler: sampling.Sampler,
    profiling: Profiling,
) -> Observation:
    with containers.generating(lab, plan) as names:
        with ui.phase("Running the set-up, reading the counters"):
            environment = containers.with_load_images(environment, names, lab)
            record.note_environment(environment)
            observer = set_up_and_read(lab, plan, names, record)
            before = calibrate() if lab.is_here else None
            sampler.watch(lab, names.all)
        with ui.phase(title_of(plan.load)):
            containers.let_go(lab, plan)
            profiling.begin()
            with faulty.injecting(lab, plan, names.driver, record) as injection:
                load = containers.generate_load(lab, plan, lab.bridge, names)
                profiling.end()
                collected = collect(plan, names, record.rows)
            requests, end = collected.requests, collected.end
    with ui.phase("Waiting until the lab is at rest, comparing the counts"):
        settled = faulty.settle(lab) if plan.load.faults else Settled()
        rest = counters.Rest(end.ended_at, plan.load.places)
        requests = resolved(lab, plan, requests, rest)
        counted = observer.count(requests, rest)
        requests = limited(requests)
        spans, tracing = observer.spans(record.rows, requests)
        # Nothing that the lab does while it is watched at rest is a cost of the flows.
        read = observer.readings()
        if plan.load.idle_after_seconds:
            sampler.wait_until(end.ended_at + plan.load.idle_after_seconds + sampling.SAMPLE_SECONDS)
        sampler.stop()
        seen = Observed(
            requests=requests,
            drops=collected.drops,
            metrics=lab.prometheus.run_metrics(started_at=end.started_at - 3 * SCRAPE_SECONDS, ended_at=time.time()),
            end=end,
            counted=counted,
            warm_up=load.warm_up,
            machine_use=load.timeline.machine_use if lab.is_here else lambda _: {},
            calibration=CalibrationEntry(work=before.work, before=before.core_ms, after=calibrate().core_ms)
            if before
            else None,
            readings=read,
            tracing=tracing,
            spans=spans,
            stage_rows=stage_rows_of(spans, requests),
            samples=sampler.samples(),
        )
        for node in plan.subject.nodes:
            unknown.forget(lab.bridge, node, plan.identity)
    return Observation(plan, seen, environment, injection.entries, settled)


def resolved(lab: Lab, plan: Plan, requests: pl.DataFrame, rest: counters.Rest) -> pl.DataFrame:
    """Return rows with what became of unknown outcomes. Raises LabError."""
    if unknown.are_in(requests):
        # Flows that callers gave up still have to end; asking about thousands of them would delay them.
        rest.wait(lab)
    return with_resolutions(requests, unknown.resolve_all(lab, plan.subject.nodes, requests))


def set_up_and_read(lab: Lab, plan: Plan, names: LoadContainers, record: Recording) -> Observer:
    """Wait for the end of the set-up, and read all counters at rest after it. Raises LabError.

    Without a set-up, the generator starts no flow before the load, so the counters are read while it starts.
    """
    if plan.workload.setup:
        set_up(lab, plan, names, record)
    observer = Observer(lab, plan.subject, plan.load.database_size or "file")
    record.note("counters.json", Snapshot, observer.before)
    if not plan.workload.setup:
        set_up(lab, plan, names, record)
    return observer


def set_up(compose: Lab, plan: Plan, names: LoadContainers, record: Recording) -> None:
    """Wait for the end of the set-up, and show and store what each of its steps has prepared. Raises LabError."""
    prepared = containers.await_setup(compose, plan, names)
    for one in prepared:
        ui.note(f"{one.name}: {one.items} items in {one.seconds:.1f} s")
    record.note("setup.json", list[SetupEntry], prepared)


def execute(
    options: Load, settings: Settings, rerun: Rerun | None = None, before: Conditioning | None = None
) -> tuple[Path, StepEntry]:
    """Run a load, measure it and store the results. Returns the run's folder and its step. Raises LabError.

    ``before`` is the load that conditions the nodes first; without one, cold nodes are a warning. What is known of a
    load that fails or is interrupted stays in the folder of the run.
    """
    run = prepare(options)
    first = prepare(before.until_steady) if before else None
    if options.profile:
        lifecycle.require_engine()
        under_load.check(options, deployed(settings))
    folders.require_writable()
    manifest = store.manifest(run.identity, load=options, rerun=rerun)
    with recording.begun(manifest) as folder:
        conditioned = None
        if first is not None:
            place = store.new_step(folder, RUN_STEP.index, CONDITION)
            conditioned = conditioning.condition(first, settings, place)
        place = store.new_step(folder, RUN_STEP.index, RUN_STEP.key)
        with recorded(place) as recorded_step:
            is_cold = conditioned is None
            measured = measure(run, settings, recorded_step, conditioned=conditioned, warns_of_cold_nodes=is_cold)
            with ui.phase("Storing the results"):
                recording.keep(place, measured)
        finish(folder, manifest)
    return folder, measured.step


def finish(folder: Path, run: Manifest) -> Path:
    """Write the report of a run whose steps are all kept, and mark it as finished. Raises LabError."""
    run = run.model_copy(update={"phases_seconds": dict(ui.phase_seconds)})
    try:
        store.write_manifest(folder, run)
        with ui.phase("Writing the report"):
            page.render(folder)
        store.seal(folder, run)
    except OSError as error:
        raise folders.unwritable(folder, error) from None
    return folder
