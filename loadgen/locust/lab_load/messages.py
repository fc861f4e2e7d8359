"""Messages between a master and its workers, over Locust's connection and in its encoding (msgpack)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from lab_load.choice import Choice, Extent
from lab_load.end_file import ProcessSummary
from lab_load.load_plan import LoadPlan
from lab_workload.network import Roles
from lab_workload.prepared import Results, Share
from lab_workload.workload import Workload

READY = "lab_ready"
"""From a worker, without content: it is ready for a plan."""
PLAN = "lab_plan"
"""To a worker: a ``PlanMessage``."""
FAILED = "lab_failed"
"""From a worker: why the run cannot continue, as text."""
UNFIT = "lab_unfit"
"""From a worker: why it cannot take part, as text."""
SAME_FAILURE = "lab_same_failure"
"""From a worker: how all its requests have failed, as text; None if that is no longer true."""
SUMMARY = "lab_summary"
"""From a worker that has written its rows: a ``ProcessSummary``."""


@dataclass(frozen=True)
class PlanMessage:
    """A plan for one worker, without the workload, which every worker reads from its own file."""

    choice: Choice
    extent: Extent
    starters: tuple[Roles, ...]
    needed: int | None
    answer_timeout_seconds: float
    results: Mapping[str, Mapping[str, Results]]
    share: Share

    @classmethod
    def of(cls, plan: LoadPlan, share: Share) -> "PlanMessage":
        """Return the message for a worker with this share of the load."""
        return cls(
            choice=plan.choice,
            extent=plan.extent,
            starters=plan.starters,
            needed=plan.needed,
            answer_timeout_seconds=plan.answer_timeout_seconds,
            results=plan.results,
            share=share,
        )

    def plan(self, workload: Workload) -> LoadPlan:
        """Return the plan, with the workload that the worker has read."""
        return LoadPlan(
            choice=self.choice,
            extent=self.extent,
            workload=workload,
            starters=self.starters,
            needed=self.needed,
            answer_timeout_seconds=self.answer_timeout_seconds,
            results=self.results,
        )


_PLAN: TypeAdapter[PlanMessage] = TypeAdapter(PlanMessage)
_SUMMARY: TypeAdapter[ProcessSummary] = TypeAdapter(ProcessSummary)


def plan_data(message: PlanMessage) -> Any:
    """Encode the content of a ``PLAN`` message."""
    return _PLAN.dump_python(message)


def read_plan(data: Any) -> PlanMessage:
    """Decode the content of a ``PLAN`` message."""
    return _PLAN.validate_python(data)


def summary_data(summary: ProcessSummary) -> Any:
    """Encode the content of a ``SUMMARY`` message."""
    return _SUMMARY.dump_python(summary)


def read_summary(data: Any) -> ProcessSummary:
    """Decode the content of a ``SUMMARY`` message."""
    return _SUMMARY.validate_python(data)
