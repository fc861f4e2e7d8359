"""What several tests of the command line share: a plan, and a simulated run stored as a real one is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab import report, results, rows, run, simulation, stages, step
from corda_lab.counts import Counts, Part, Subject
from corda_lab.generator import Timeline
from corda_lab.load import LoadOptions, Plan
from corda_lab.paths import WORKLOADS
from lab_load.workload import load_workload

RUN_IDENTITY = "20260102T030405Z-iou"

ENVIRONMENT: dict[str, Any] = {
    "git": {"commit": "0123456789abcdef0123456789abcdef01234567", "has_changes": True},
    "versions": {
        "corda": "4.10",
        "java": {"node": "1.8.0_452", "bridge": "21.0.7"},
        "engine": "20.10.24",
        "compose": "2.40.3",
        "python": "3.11.7",
    },
    "images": {"partya": {"name": "corda-lab/node:4.10", "id": "sha256:" + "ab" * 32}},
    "stand_ins": ["python:3.13.3-slim-bookworm"],
    "host": {
        "cpu_model": "A processor of some kind",
        "cpu_count": 2,
        "memory_bytes": 24 * 1024**3,
        "kernel": "Linux 6.1",
        "architecture": "x86_64",
    },
    "shape": {
        "CORDA_VERSION": "4.10",
        "CORDA_IMAGE": "corda-lab/node:4.10",
        "DATABASE": "h2",
        "NOTARY": "simple",
        "PARTIES": "3",
        "DEV_MODE": "false",
        "NODE_PRESET": "stock",
        "NODE_HEAP": "1g",
        "NODE_MEMORY": "2g",
        "NODE_CORES": "0",
        "NODE_CPUSET": "",
        "LINKS": "",
    },
    "links_measured": [],
    "settings": {"CORDA_VERSION": "4.10", "NODE_HEAP": "1g"},
}


IOU = "org.cordalab.flows.Iou"


def part(name: str, **about: Any) -> Part:
    """A part of the simulated workload: the flow of its name, which adds an IOU to two vaults."""
    changes = {simulation.IOU_STATE: {"PartyA": 1, "PartyB": 1}}
    return Part(name, f"org.cordalab.flows.{name}", name, "PartyB", changes=changes, **about)


def plan_of(options: LoadOptions, *parts: Part) -> Plan:
    """The plan of a run of the repository's own workload, or of a mix in its name."""
    workload = load_workload(WORKLOADS, "iou", simulation.NODES)
    return Plan(RUN_IDENTITY, options, workload, Subject("PartyA", parts or (part("Iou"),)), flow_timeout_seconds=300)


def contract_entries(
    *,
    index: int = 1,
    key: str = "run",
    point: dict[str, Any] | None = None,
    repeat: int = 1,
    phase: str = "measure",
    label: str = "",
    reasons: Sequence[str] = (),
    exceeded: Sequence[str] = (),
) -> dict[str, Any]:
    """What a step of a stored run has besides the figures of its load; by default of a single run."""
    return {
        "index": index,
        "key": key,
        "point": point or {},
        "label": label,
        "repeat": repeat,
        "environment": 0,
        "phase": phase,
        "warm_up": {"method": "fixed", "seconds_min": 15.0, "seconds_max": 15.0, "cut_seconds": 15.0, "found": True},
        "precision": {"wanted": None, "reached": None, "ended_early": False},
        "validity": {"valid": not reasons, "reasons": list(reasons)},
        "thresholds": {"passed": not exceeded, "reasons": list(exceeded)},
        "costs": {},
    }


def with_step(frame: pl.DataFrame) -> pl.DataFrame:
    """A table of a run's only step."""
    return frame.select(pl.lit(1, pl.Int32).alias("step"), pl.all())


def manifest_of(plan: Plan, end: dict[str, Any]) -> dict[str, Any]:
    """``run.json`` of a run of one step."""
    return {
        "schema": results.SCHEMA,
        "kind": "run",
        "id": plan.identity,
        "name": plan.identity.partition("-")[2],
        "command": f"scripts/lab run {plan.workload.name}",
        "started_at": run.iso(float(end["started_at"])),
        "ended_at": run.iso(float(end["ended_at"])),
        "phases_seconds": {"Checking the run": 1.0},
        "workload_files": {plan.workload.name: plan.workload.source.path.read_text(encoding="utf-8")},
        "environments": [ENVIRONMENT],
        "sweep": None,
        "grafana": None,
    }


def store(
    folder: Path,
    plan: Plan,
    simulated: list[dict[str, Any]],
    end: dict[str, Any],
    *,
    counted: Counts | None = None,
    with_stages: bool = True,
) -> Path:
    """Store a simulated run as a real one is stored, and return its folder."""
    frame = rows.read_rows([simulation.write_rows(folder / "rows.ndjson", simulated)])
    metrics = simulation.metrics_frame(simulated, end)
    window = step.measuring_window(end, plan.options.warm_up_seconds)
    stage_frame = (
        stages.read_stages(simulation.write_stage_rows(folder, simulated), simulation.nodes()) if with_stages else None
    )
    flows = {one.name: one.flow for one in plan.subject.parts}
    figures = stages.stage_figures(frame, stage_frame, window, flows, is_on=True, dropped={})
    counted = counted or simulation.agreeing_counts(simulated)
    entry = step.build_step(plan, frame, metrics, end, counted, Timeline(), figures)
    entry["resources"]["host_busy_percent"] = 97.3
    entry.update(contract_entries())
    with results.new_run(plan.identity, results=folder / "results") as run_folder:
        with_step(frame).write_parquet(run_folder / "requests.parquet")
        with_step(metrics).write_parquet(run_folder / "metrics.parquet")
        if stage_frame is not None:
            with_step(stage_frame).write_parquet(run_folder / "stages.parquet")
        results.write_json(run_folder / "steps.json", {"schema": results.SCHEMA, "steps": [entry]})
        results.write_json(run_folder / "run.json", manifest_of(plan, end))
        report.render(run_folder)
    return folder / "results" / plan.identity
