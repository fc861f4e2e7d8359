"""Brings the nodes to where they stay, before a bench measures anything."""

from typing import TypeVar

from corda_lab.bench.file import BenchFile
from corda_lab.runs import conditioning
from corda_lab.runs.execute import condition_first
from corda_lab.runs.running import RunningLab
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.plan import Subject

USERS = 20
"""Flows in flight while the nodes are conditioned, for benches that measure several numbers."""

B = TypeVar("B", bound=BenchFile)


def warmed(bench: B, options: LoadOptions, subject: Subject, lab: RunningLab) -> B:
    """Condition the nodes with a load, unless they are warm, and return the bench with it. Raises LabError."""
    if not conditioning.cold_nodes(lab.prometheus, subject):
        return bench
    conditioned = condition_first(conditioning.before_run(options), lab.settings)
    return bench.model_copy(update={"conditioning": conditioned.entry})
