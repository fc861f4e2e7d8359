"""A plan, and a simulated run that is stored as a real one, for tests."""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab.knobs.shape import KNOBS
from corda_lab.paths import WORKLOADS
from corda_lab.results import folders
from corda_lab.results import store as run_store
from corda_lab.results.audits import AUDIT_FILE, Audit
from corda_lab.results.manifest import (
    Environment,
    GitState,
    Host,
    Image,
    Manifest,
    PlacedHost,
    PlacementEntry,
    Versions,
)
from corda_lab.results.store import Measured
from corda_lab.stats.steady import WarmUp
from corda_lab.steps import build, costs, rows, stages
from corda_lab.steps.entry import CountsEntry, of_whole
from corda_lab.steps.spans import stage_rows
from lab_workload.load import Load
from lab_workload.plan import Plan
from lab_workload.run_end import RunEnd
from lab_workload.subject import LoadPart, Subject
from support import simulated_metrics, simulation

RUN_IDENTITY = "20260102T030405Z-iou"

ENVIRONMENT = Environment(
    git=GitState(commit="0123456789abcdef0123456789abcdef01234567", has_changes=True),
    versions=Versions(
        corda="4.10",
        java={"node": "1.8.0_452", "bridge": "21.0.7"},
        engine="20.10.24",
        compose="2.40.3",
        python="3.11.7",
    ),
    images={"partya": Image(name="corda-lab/node:4.10", id="sha256:" + "ab" * 32)},
    stand_ins=["python:3.13.3-slim-bookworm"],
    host=Host(
        cpu_model="A processor of some kind",
        cpu_count=2,
        memory_bytes=24 * 1024**3,
        kernel="Linux 6.1",
        architecture="x86_64",
    ),
    shape={knob.variable: knob.default for knob in KNOBS} | {"CORDA_IMAGE": "corda-lab/node:4.10"},
    links_measured=[],
    settings={"CORDA_VERSION": "4.10", "NODE_HEAP": "1g"},
)
ON_HOSTS = ENVIRONMENT.model_copy(
    update={
        "placement": PlacementEntry(
            name="three",
            sha256="0123456789abcdef" * 4,
            text="description: three\n",
            overlay="plain",
            hosts={
                "one": PlacedHost(
                    cores=4,
                    memory_bytes=8 * 1024**3,
                    engine="29.0.1",
                    kernel="6.1.0",
                    architecture="x86_64",
                    cpu_model="Fast 3000",
                    services=["notary", "partya"],
                    workers=2,
                )
            },
        )
    }
)
"""The same lab on the hosts of a placement."""


IOU = "org.cordalab.flows.Iou"


def part(name: str, **about: Any) -> LoadPart:
    """A part of the simulated workload: a flow of this name, each success of which adds an IOU to two vaults."""
    changes = {simulation.IOU_STATE: {"PartyA": 1, "PartyB": 1}}
    return LoadPart(name, f"org.cordalab.flows.{name}", name, "PartyB", changes=changes, **about)


def plan_of(options: Load, *parts: LoadPart) -> Plan:
    """The plan of a run of the workload ``iou``, or of a mix under its name."""
    return Plan(
        identity=RUN_IDENTITY,
        load=options.updated(workload="iou"),
        workload_text=(WORKLOADS / "iou.yaml").read_text(encoding="utf-8"),
        starters=(),
        subject=Subject("PartyA", parts or (part("Iou"),)),
        seconds=options.total_seconds,
    )


def measured_of(
    folder: Path,
    plan: Plan,
    simulated: list[dict[str, Any]],
    end: RunEnd,
    *,
    drops: Sequence[float] = (),
    counted: CountsEntry | None = None,
    with_stages: bool = True,
    warm_up: WarmUp | None = None,
) -> Measured:
    """The measurements of a simulated load. ``folder`` gets its files.

    ``warm_up`` is the end of the warm-up that was found while it ran, if it was ended for that.
    """
    frame = rows.read_rows([simulation.write_rows(folder / "rows.ndjson", simulated)])
    metrics = simulated_metrics.metrics_frame(simulated, end)
    spans = simulation.spans(folder, simulation.spans_of(simulated) if with_stages else ())
    stage_frame = stage_rows(spans, frame)
    seen = build.Observed(
        requests=frame,
        drops=pl.Series(drops, dtype=pl.Float64),
        metrics=metrics,
        end=end,
        counted=counted or simulation.agreeing_counts(simulated),
        warm_up=warm_up,
        machine_use=lambda _: {},
        tracing=stages.Tracing(is_on=True),
        calibration=None,
        readings=(costs.Reading({}, {}), costs.Reading({}, {})),
        spans=spans,
        stage_rows=stage_frame,
        samples=simulated_metrics.samples_frame(end),
    )
    entry = build.build_step(plan, seen)
    use = of_whole(host_busy_percent=97.3, host_stolen_percent=0.0)
    entry = entry.updated(values=entry.values | use)
    return Measured(
        entry,
        frame,
        metrics,
        stage_frame,
        ENVIRONMENT,
        plan.workload.name,
        "workload: iou\n",
        seen.drops,
        samples=seen.samples,
        spans=spans,
    )


_CONTENTS: dict[str, dict[Path, bytes]] = {}
"""The files of every run that :func:`copy_of` has made, by its key and their paths in its folder."""


def copy_of(key: str, identity: str, make: Callable[[Path], Path], *, results: Path) -> Path:
    """Store a simulated run as ``make`` does in another folder, and return its folder.

    A run of a ``key`` is made once in a process, which takes up to a second of CPU time.
    """
    if key not in _CONTENTS:
        with tempfile.TemporaryDirectory() as folder:
            made = make(Path(folder))
            _CONTENTS[key] = {path.relative_to(made): path.read_bytes() for path in made.rglob("*") if path.is_file()}
    for path, content in _CONTENTS[key].items():
        (results / identity / path).parent.mkdir(parents=True, exist_ok=True)
        (results / identity / path).write_bytes(content)
    folders.point_latest(results / identity)
    return results / identity


def write_run(
    run: Manifest, steps: Iterable[Measured], files: Mapping[str, str] | None = None, *, results: Path | None = None
) -> Path:
    """Store a run whose steps have all been measured, without its report, and return its folder. Raises LabError."""
    folder = run_store.begin(run, files, results=results)
    for measured in steps:
        run_store.keep(run_store.new_step(folder, measured.step.index, measured.step.key), measured)
    run_store.seal(folder, run)
    return folder


def store(
    folder: Path,
    plan: Plan,
    simulated: list[dict[str, Any]],
    end: RunEnd,
    *,
    drops: Sequence[float] = (),
    counted: CountsEntry | None = None,
    with_stages: bool = True,
) -> Path:
    """Store a simulated run like a real one, without its report, and return its folder."""
    measured = measured_of(folder, plan, simulated, end, drops=drops, counted=counted, with_stages=with_stages)
    return write_run(run_store.manifest(plan.identity, load=plan.load), [measured], results=folder / "results")


def step_file(run: Path, index: int = 1) -> Path:
    """The ``step.json`` of a step of a stored run."""
    (path,) = run.glob(f"steps/{index:04d}-*/step.json")
    return path


def steps_of(run: Path) -> list[dict[str, Any]]:
    """The contents of the ``step.json`` of all steps of a stored run."""
    return [folders.read_object(path) for path in sorted(run.glob("steps/*/step.json"))]


def write_audits(run: Path, audits: Mapping[int, Audit]) -> None:
    """Store the audits of the steps of a stored run, by their index."""
    for index, audit in audits.items():
        folders.write_json(step_file(run, index).with_name(AUDIT_FILE), audit.model_dump(mode="json"))


def change_steps(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the contents of the ``step.json`` of all steps of a stored run."""
    for path in sorted(run.glob("steps/*/step.json")):
        content = folders.read_object(path)
        change(content)
        folders.write_json(path, content)
