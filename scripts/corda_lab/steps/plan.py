"""What a load starts: its subject, its parts and its options, resolved."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from corda_lab.steps.load import LoadOptions
from lab_workload.workload import Workload


@dataclass(frozen=True)
class LoadPart:
    """One kind of request of a workload: a flow (full class name), and what every success of it changes in the vaults.

    ``changes`` is by class of state, then by node: how many unconsumed states more (or fewer) that vault has.
    """

    name: str
    flow: str
    flow_short: str
    counterparty: str | None = None
    weight: float = 1
    unit: str = "flow"
    states_per_flow: int | None = None
    changes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """What is counted: successes of the parts' flows started on ``node``, and states in the vaults that they change."""

    node: str
    parts: tuple[LoadPart, ...]

    @property
    def flows(self) -> dict[str, str]:
        """Short name of every flow class that is started, by its full name."""
        return {part.flow: part.flow_short for part in self.parts}

    @property
    def vault_places(self) -> tuple[tuple[str, str], ...]:
        """Every (class of state, node) whose count some part changes, or says that it leaves as it is."""
        places = {(state, node): None for part in self.parts for state, nodes in part.changes.items() for node in nodes}
        return tuple(places)

    @property
    def counterparties(self) -> tuple[str, ...]:
        """The other parties, each once."""
        return tuple(dict.fromkeys(part.counterparty for part in self.parts if part.counterparty))

    def vault_expected(self, succeeded: Mapping[str, int]) -> dict[tuple[str, str], int]:
        """By how much each place should have changed when every part succeeded so many times (by its name)."""
        return {
            (state, node): sum(
                succeeded.get(part.name, 0) * part.changes.get(state, {}).get(node, 0) for part in self.parts
            )
            for state, node in self.vault_places
        }


WORKERS_CONNECT_SECONDS_MAX = 60


@dataclass(frozen=True)
class RunPlan:
    """A run whose every input has been checked."""

    identity: str
    options: LoadOptions
    workload: Workload
    subject: Subject
    flow_timeout_seconds: int

    def _common_arguments(self) -> list[str]:
        overrides = [word for key, value in self.options.overrides.items() for word in ("--set", f"{key}={value}")]
        return [
            *("--workload", self.workload.name),
            *("--node", self.subject.node),
            *self.options.generator_arguments(),
            *overrides,
            *("--run-id", self.identity),
        ]

    def driver_arguments(self) -> list[str]:
        """What follows the image's entrypoint in the container that starts and ends the load: alone, or the master."""
        load = self.options
        master = [
            "--master",
            *("--expect-workers", str(load.workers)),
            *("--expect-workers-max-wait", str(WORKERS_CONNECT_SECONDS_MAX)),
        ]
        return [
            "--headless",
            *(master if load.workers else []),
            *("--users", str(load.users)),
            *("--spawn-rate", str(load.spawn_per_second)),
            *("--run-time", f"{load.total_seconds}s"),
            # Flows under way when the load stops are waited for: they count, at the nodes and so here.
            *("--stop-timeout", str(self.flow_timeout_seconds + 5)),
            *self._common_arguments(),
            "--hold",
        ]

    def worker_arguments(self, index: int, master: str) -> list[str]:
        """What follows the entrypoint in the container of worker ``index``, from 1, of the master in container ``master``."""
        return [
            "--worker",
            *("--master-host", master),
            *("--worker-index", str(index)),
            *self._common_arguments(),
        ]
