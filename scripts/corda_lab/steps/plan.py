"""The resolved plan of a load: what it starts, its options, and the arguments of the generator."""

from dataclasses import dataclass

from corda_lab.steps.load import LoadOptions
from lab_workload.subject import Subject
from lab_workload.workload import Workload

WORKERS_CONNECT_SECONDS_MAX = 60


@dataclass(frozen=True)
class RunPlan:
    """The plan of a run. All its inputs have been checked."""

    identity: str
    options: LoadOptions
    workload: Workload
    subject: Subject
    flow_timeout_seconds: int

    def _common_arguments(self) -> list[str]:
        overrides = [word for key, value in self.options.overrides.items() for word in ("--set", f"{key}={value}")]
        return [
            *("--workload", self.workload.name),
            *(("--nodes", ",".join(self.subject.nodes)) if self.subject.others else ("--node", self.subject.node)),
            *self.options.generator_arguments(),
            *(("--requests", str(self.options.users)) if self.options.is_burst else ()),
            *overrides,
            *("--run-id", self.identity),
        ]

    def driver_arguments(self) -> list[str]:
        """The arguments after the entrypoint of the container that drives the load: a single process, or the master."""
        load = self.options
        master = [
            "--master",
            *("--expect-workers", str(load.workers)),
            *("--expect-workers-max-wait", str(WORKERS_CONNECT_SECONDS_MAX)),
        ]
        return [
            "--headless",
            *(master if load.workers else []),
            *("--users", str(load.places)),
            *("--spawn-rate", str(load.spawn_per_second)),
            *("--run-time", f"{load.total_seconds}s"),
            # Wait for flows that are in flight when the load stops: the nodes count them, so the generator has to.
            *("--stop-timeout", str(self.flow_timeout_seconds + 5)),
            *self._common_arguments(),
            "--hold",
        ]

    def worker_arguments(self, index: int, master: str) -> list[str]:
        """The arguments of the container of a worker. ``index`` counts from 1; ``master`` is the master's host name."""
        return [
            "--worker",
            *("--master-host", master),
            *("--worker-index", str(index)),
            *self._common_arguments(),
        ]
