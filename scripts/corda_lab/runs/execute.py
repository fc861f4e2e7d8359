"""Executes one run: generates a load, measures it, and stores the results in a folder of ``results/``."""

import tempfile
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
from corda_lab.results.manifest import Environment
from corda_lab.runs import containers, unknown
from corda_lab.runs.observer import Observer
from corda_lab.runs.preflight import PreparedRun, describe, plan, prepare, title_of
from corda_lab.steps.build import Observed, build_step
from corda_lab.steps.entry import CalibrationEntry, StepEntry
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.resolutions import with_resolutions
from corda_lab.text import ui


def measure(run: PreparedRun, settings: Settings, environment: Environment | None = None) -> Measured:
    """Run a load and measure it, without storing anything. An interrupted load is stopped and cleaned up.

    ``environment`` is that of the lab; it is read if it is None. Raises LabError.
    """
    settings = shape.of_running(settings)
    compose = Compose(settings)
    bridge, prometheus = Bridge(settings.url("BRIDGE_PORT")), Prometheus(settings.url("PROMETHEUS_PORT"))
    with ui.phase("Checking the run"):
        planned = plan(run, settings, compose, bridge)
        environment = environment or read_environment(settings)
        ui.note(describe(planned))
    with tempfile.TemporaryDirectory(prefix="corda-lab-run-") as scratch:
        directory = Path(scratch)
        with containers.load_containers(compose, planned) as names:
            with ui.phase("Running the set-up, reading the counters"):
                for prepared in containers.await_setup(compose, planned, names):
                    ui.note(f"{prepared.name}: {prepared.items} items in {prepared.seconds:.1f} s")
                observer = Observer(compose, bridge, prometheus, planned.subject)
                before = calibrate()
            with ui.phase(title_of(run.options)):
                containers.let_go(compose, planned)
                load = containers.generate_load(compose, planned, bridge, names)
                collected = containers.collect(compose, planned, names, directory)
                requests, end = collected.requests, collected.end
        with ui.phase("Waiting until the lab is at rest, comparing the counts"):
            requests = with_resolutions(requests, unknown.resolve(bridge, planned.subject.node, requests))
            counted = observer.count(requests, end.ended_at)
            stage_rows = observer.stage_rows(directory)
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
    text = planned.workload.source.path.read_text(encoding="utf-8")
    return Measured(
        step, requests, metrics, stage_rows, environment, planned.workload.name, text, drops=collected.drops
    )


def execute(options: LoadOptions, settings: Settings) -> tuple[Path, StepEntry]:
    """Run a load, measure it and store the results. Returns the run's folder and its step. Raises LabError.

    An interrupted or failed run is stopped and discarded. So every folder in ``results/`` is a complete run.
    """
    run = prepare(options)
    folders.require_free(run.identity)
    measured = measure(run, settings)
    with ui.phase("Storing the results"), folders.new_run(run.identity) as folder:
        files.write_run(folder, files.single(run.identity, measured), [measured])
        page.render(folder)
    return folders.find_run(run.identity), measured.step
