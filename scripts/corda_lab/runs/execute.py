"""Executes one run: generates a load, measures it, and stores the results in a folder of ``results/``."""

import time
from pathlib import Path

from corda_lab.clients.bridge import Bridge
from corda_lab.clients.prometheus import SCRAPE_SECONDS, Prometheus
from corda_lab.host.calibration import calibrate
from corda_lab.lab import shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.environment import read_environment
from corda_lab.lab.settings import Settings
from corda_lab.report import page
from corda_lab.results import files, folders
from corda_lab.results.files import Measured
from corda_lab.results.manifest import Environment, Rerun
from corda_lab.runs import containers, unknown
from corda_lab.runs.collect import collect
from corda_lab.runs.containers import LoadContainers
from corda_lab.runs.observer import Observer
from corda_lab.runs.preflight import PreparedRun, describe, plan, prepare, title_of
from corda_lab.runs.recording import Recording, recorded
from corda_lab.steps.build import Observed, build_step
from corda_lab.steps.counts import Snapshot
from corda_lab.steps.entry import CalibrationEntry, SetupEntry, StepEntry
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.plan import RunPlan
from corda_lab.steps.resolutions import with_resolutions
from corda_lab.text import ui


def measure(
    run: PreparedRun, settings: Settings, recording: Recording, environment: Environment | None = None
) -> Measured:
    """Run a load and measure it, with its evidence in ``recording``. An interrupted load is stopped.

    ``environment`` is that of the lab; it is read if it is None. Raises LabError.
    """
    settings = shape.of_running(settings)
    compose = Compose(settings)
    bridge, prometheus = Bridge(settings.url("BRIDGE_PORT")), Prometheus(settings.url("PROMETHEUS_PORT"))
    with ui.phase("Checking the run"):
        planned = plan(run, settings, compose, bridge)
        environment = environment or read_environment(settings)
        ui.note(describe(planned))
        recording.begin(compose, planned, environment)
    with containers.generating(compose, planned) as names:
        with ui.phase("Running the set-up, reading the counters"):
            environment = containers.with_load_images(environment, names, settings)
            recording.note("environment.json", Environment, environment)
            set_up(compose, planned, names, recording)
            observer = Observer(compose, bridge, prometheus, planned.subject)
            recording.note("counters.json", Snapshot, observer.before)
            before = calibrate()
        with ui.phase(title_of(run.options)):
            containers.let_go(compose, planned)
            load = containers.generate_load(compose, planned, bridge, names)
            collected = collect(compose, planned, names, recording.rows)
            requests, end = collected.requests, collected.end
    with ui.phase("Waiting until the lab is at rest, comparing the counts"):
        requests = with_resolutions(requests, unknown.resolve(bridge, planned.subject.node, requests))
        counted = observer.count(requests, end.ended_at)
        stage_rows = observer.stage_rows(recording.rows)
        metrics = prometheus.run_metrics(started_at=end.started_at - 3 * SCRAPE_SECONDS, ended_at=time.time())
        stage_values = observer.stage_values(requests, stage_rows)
        seen = Observed(
            requests=requests,
            drops=collected.drops,
            metrics=metrics,
            end=end,
            counted=counted,
            warm_up=load.warm_up,
            machine_use=load.timeline.machine_use,
            stage_values=stage_values,
            calibration=CalibrationEntry(work=before.work, before=before.core_ms, after=calibrate().core_ms),
            readings=observer.readings(),
        )
        step = build_step(planned, seen)
        unknown.forget(bridge, planned.subject.node, planned.identity)
    text = planned.workload.source.path.read_text(encoding="utf-8")
    return Measured(
        step, requests, metrics, stage_rows, environment, planned.workload.name, text, drops=collected.drops
    )


def set_up(compose: Compose, plan: RunPlan, names: LoadContainers, recording: Recording) -> None:
    """Wait for the end of the set-up, and show and store what each of its steps has prepared. Raises LabError."""
    prepared = containers.await_setup(compose, plan, names)
    for one in prepared:
        ui.note(f"{one.name}: {one.items} items in {one.seconds:.1f} s")
    recording.note("setup.json", list[SetupEntry], prepared)


def execute(options: LoadOptions, settings: Settings, rerun: Rerun | None = None) -> tuple[Path, StepEntry]:
    """Run a load, measure it and store the results. Returns the run's folder and its step. Raises LabError.

    From before the load on, its evidence is in ``results/unfinished/<id>/``. It is deleted when the run's folder is
    complete, and stays if the run fails or is interrupted. So every other folder in ``results/`` is a complete run.
    """
    run = prepare(options)
    folders.require_writable()
    folders.require_free(run.identity)
    with recorded(folders.unfinished_folder() / run.identity) as recording:
        measured = measure(run, settings, recording)
        with ui.phase("Storing the results"):
            store(run.identity, measured, options, rerun)
    folders.remove_unfinished(recording.folder)
    return folders.find_run(run.identity), measured.step


def store(identity: str, measured: Measured, options: LoadOptions, rerun: Rerun | None) -> None:
    """Write the folder of a run of one step, with its report. Raises LabError if the disk does not take it."""
    try:
        with folders.new_run(identity) as folder:
            files.write_run(folder, files.single(identity, measured, options, rerun), [measured])
            page.render(folder)
    except OSError as error:
        raise folders.unwritable(folders.unfinished_folder().parent / identity, error) from None
