"""``lab list``: the few figures of every run that stand in a line, also of one that this version cannot read whole."""

from pathlib import Path
from typing import Any

from corda_lab.analysis import points, significance
from corda_lab.analysis.points import Point
from corda_lab.errors import LabError
from corda_lab.results import folders, stored
from corda_lab.results.stored import StoredRun


def summaries(*, results_folder: Path | None = None) -> list[dict[str, Any]]:
    """Every run, oldest first; a damaged one with what is wrong with it, and nothing else."""
    found = []
    for folder in folders.all_runs(results=results_folder):
        try:
            found.append(summary(stored.read(folder)))
        except (LabError, KeyError, TypeError) as error:
            problem = error.message if isinstance(error, LabError) else f"its files lack {error}"
            found.append({"run": folder.name, "damaged": problem})
    return found


def summary(run: StoredRun) -> dict[str, Any]:
    """The figures of a run: of its only step, of a sweep's best point, of a search's confirmed rate. None where nothing is valid.

    Several workloads of a sweep are not compared with one another: the first one's best point stands for them.
    """
    all_points = points.points(run)
    judged = significance.judge(run, all_points)
    top = next(iter(judged.tops), None)
    search = points.searched(run, all_points) if run.sweep.get("find_max") else []
    first = run.steps[0]
    return {
        "run": run.identity,
        "kind": run.manifest["kind"],
        "steps": len(run.steps),
        "steps_valid": sum(step["validity"]["valid"] for step in run.steps),
        "steps_planned": len(run.steps),
        "finished": True,
        "workload": ", ".join(dict.fromkeys(step["workload"] for step in run.steps)),
        "label": top.label if top is not None and run.is_sweep else None,
        "rates_confirmed_per_second": {found.label: found.rate for found in search} or None,
        "users": (top.steps[0] if top else first)["load"]["users"],
        "arrivals": first["load"]["arrivals"],
        "rate_per_second": (top.steps[0] if top else first)["load"]["rate_per_second"],
        **figures(top),
        "errors": sum(step["requests"]["errors"] for step in run.steps),
        "counts_agree": all(step["counts"]["agree"] for step in run.steps),
        "passed": all(step["verdict"]["passed"] for step in run.steps),
    }


def figures(top: Point | None) -> dict[str, float | None]:
    """Throughput and latency of a point; of open load from the intended start."""
    names = {"throughput": "throughput_per_second", "p50": "p50_ms", "p99": "p99_ms"}
    return {column: None if top is None else top.estimate(name).value for name, column in names.items()}
