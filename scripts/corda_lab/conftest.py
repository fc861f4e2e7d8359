"""What several tests of the command line share: a simulated run, stored as a real one is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corda_lab import report, results, rows, run, simulation
from corda_lab.counts import Counts, Subject
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
    "settings": {"CORDA_VERSION": "4.10", "NODE_HEAP": "1g"},
}


def iou_plan(users: int, duration_seconds: float, warm_up_seconds: float) -> run.Plan:
    """The plan of a run of the repository's own workload."""
    options = run.LoadOptions("iou", users, duration_seconds, warm_up_seconds)
    workload = load_workload(WORKLOADS, "iou", simulation.NODES)
    subject = Subject("PartyA", "PartyB", "org.cordalab.flows.Iou", "Iou", workload.state)
    return run.Plan(RUN_IDENTITY, options, workload, subject, flow_timeout_seconds=300)


@pytest.fixture
def stored_run(tmp_path: Path) -> Callable[..., Path]:
    """Store a simulated run of 20 users for 15 + 60 seconds in a folder, and return the folder."""

    def store(
        *, users: int = 20, service_seconds: float = 0.055, error_every: int = 0, counted: Counts | None = None
    ) -> Path:
        simulated = simulation.closed_rows(
            users, 75, simulation.warming(service_seconds, seed=3), error_every=error_every
        )
        end = simulation.end_words(simulated, users, 75)
        frame = rows.read_rows(simulation.write_rows(tmp_path / "rows.ndjson", simulated))
        metrics = simulation.metrics_frame(simulated, end)
        plan = iou_plan(users, 60, 15)
        counted = counted or simulation.agreeing_counts(simulated)
        step = run.build_step(plan, frame, metrics, end, counted, run.Timeline())
        step["resources"]["host_busy_percent"] = 97.3
        with results.new_run(RUN_IDENTITY, results=tmp_path / "results") as folder:
            frame.write_parquet(folder / "requests.parquet")
            metrics.write_parquet(folder / "metrics.parquet")
            results.write_json(folder / "steps.json", {"schema": 1, "steps": [step]})
            results.write_json(folder / "run.json", run.run_manifest(plan, ENVIRONMENT, end))
            report.render(folder)
        return tmp_path / "results" / RUN_IDENTITY

    return store
