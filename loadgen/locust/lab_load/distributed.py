"""Load from several processes: a master that prepares and ends the run, and workers that make its requests.

They are Locust's own master and workers. Before the users start, the master sends every worker the plan, with the
prepared items, and the worker's share of them. When the run ends, every worker writes its rows and tells the master how
it ended. When the master knows that of all, it writes the end file.
"""

import logging
import time
from collections.abc import Mapping
from typing import Any

import gevent
from gevent.event import Event
from locust.runners import STATE_MISSING, MasterRunner, WorkerRunner
from pydantic import TypeAdapter

from lab_load.generator import TICK_SECONDS, Generator
from lab_load.generator_settings import GeneratorSettings
from lab_load.process_run import ProcessEnd, ProcessRun
from lab_load.row_writer import RowsError, writer_for
from lab_workload.load import Load
from lab_workload.plan import Plan
from lab_workload.prepared import Share
from lab_workload.problems import LoadError, Problem

READY_SECONDS_MAX = 30.0
"""Time limit for a worker that Locust already counts to become ready for a plan."""
WRITE_SECONDS_MAX = 60.0
"""Time limit for the workers to write their rows, in addition to the time in which their flows may end."""

READY = "lab_ready"
"""From a worker, without content: it is ready for a plan."""
PLAN = "lab_plan"
"""To a worker: the text of the plan, the index of the worker, and the number of workers."""
FAILED = "lab_failed"
"""From a worker: why the run cannot continue, as text."""
UNFIT = "lab_unfit"
"""From a worker: why it cannot take part, as text."""
SAME_FAILURE = "lab_same_failure"
"""From a worker: how all its requests have failed, as text; None if that is no longer true."""
END = "lab_end"
"""From a worker that has written its rows: the text of its ``ProcessEnd``."""

_END: TypeAdapter[ProcessEnd] = TypeAdapter(ProcessEnd)

logger = logging.getLogger(__name__)


def make_generator(environment: Any, settings: GeneratorSettings) -> Generator:
    """Return the generator for this process: the only one, the master or a worker."""
    match environment.runner:
        case MasterRunner():
            return Master(environment, settings)
        case WorkerRunner():
            return Worker(environment, settings)
    return Generator(environment, settings)


class WorkersRun:
    """A run in the master. Workers make its requests, and tell it when the run has ended there."""

    def __init__(self, plan: Plan, workers: Mapping[str, int]) -> None:
        self.plan = plan
        self.workers = dict(workers)
        """Locust's id of each worker → its index, from 1."""
        self.ends: dict[str, ProcessEnd] = {}
        self.same_failures: dict[str, str | None] = {}
        """Locust's id of each worker → how all its requests have failed."""
        self.exit_reason: str | None = None
        self.closed = False
        self.outcome = ""
        self.all_ended = Event()
        self._started = time.monotonic()

    @property
    def is_stopping(self) -> bool:
        """Whether the run is only waiting for its workers."""
        return self.exit_reason is not None

    @property
    def elapsed_seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def is_done(self) -> bool:
        """Whether the load has ended by itself. Never: a load that ends after a number of requests has no workers."""
        return False

    @property
    def same_failure(self) -> str | None:
        """How all requests of all workers have failed; None unless all have failed in the same way."""
        kinds = {self.same_failures.get(worker) for worker in self.workers}
        return kinds.pop() if len(kinds) == 1 else None

    def spawned(self, users: int) -> None:
        """Do nothing: each worker records this itself."""

    def stopping(self, reason: str) -> None:
        """Record that no more requests start. Only the first reason is kept."""
        self.exit_reason = self.exit_reason or reason

    def tick(self) -> None:
        """Do nothing: each worker writes its own rows."""

    def without(self, worker: str) -> None:
        """Do not wait for a worker that does not take part."""
        self.workers.pop(worker, None)
        self._note_end()

    def ended(self, worker: str, end: ProcessEnd) -> None:
        self.ends[worker] = end
        self._note_end()

    def _note_end(self) -> None:
        if set(self.workers) <= set(self.ends):
            self.all_ended.set()


class Master(Generator):
    """Plans the run, does its set-up, distributes it to the workers, and writes the end file."""

    def __init__(self, environment: Any, settings: GeneratorSettings) -> None:
        super().__init__(environment, settings)
        self._ready: set[str] = set()

    def attach(self) -> None:
        runner = self._environment.runner
        runner.register_message(READY, lambda msg, **_: self._ready.add(msg.node_id))
        runner.register_message(FAILED, lambda msg, **_: self.fail(f"a worker: {msg.data}"))
        runner.register_message(UNFIT, lambda msg, **_: self._worker_unfit(msg.node_id, msg.data), concurrent=True)
        runner.register_message(END, lambda msg, **_: self._worker_ended(msg.node_id, _END.validate_json(msg.data)))
        runner.register_message(SAME_FAILURE, lambda msg, **_: self._note_same_failure(msg.node_id, msg.data))
        super().attach()

    def _load_of(self, values: Mapping[str, Any]) -> Load:
        load = super()._load_of(values)
        if load.is_counted:
            text = "cannot make bursts, or end after a number of flows; leave out --master, or choose another load"
            raise LoadError(Problem.of("workers", text))
        workers = self._options.expect_workers if self._headless else self._environment.runner.worker_count
        return load.updated(workers=max(1, workers))

    def _run_of(self, plan: Plan) -> WorkersRun:
        runner = self._environment.runner
        clients = sorted((client.id for client in runner.clients.ready), key=runner.get_worker_index)
        self._await_ready(clients)
        workers = {client: index for index, client in enumerate(clients, start=1)}
        text = plan.model_dump_json()
        for client, index in workers.items():
            # The worker receives this before Locust's own message that starts its users.
            runner.send_message(PLAN, [text, index, len(workers)], client_id=client)
        return WorkersRun(plan, workers)

    def _await_ready(self, clients: list[str]) -> None:
        """Wait until every worker can receive a plan. Locust counts a worker before its locustfile listens."""
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not self._ready.issuperset(clients):
            if time.monotonic() > deadline:
                raise LoadError(
                    f"a worker was not ready within {READY_SECONDS_MAX:.0f} s; check that it runs the same version"
                )
            gevent.sleep(0.01)

    def _worker_unfit(self, worker: str, reason: str) -> None:
        """Handle a worker that cannot take part. Its message may arrive before the run has begun here."""
        deadline = time.monotonic() + READY_SECONDS_MAX
        while self.run is None and time.monotonic() < deadline:
            gevent.sleep(0.01)
        if self.run is not None:
            self.run.without(worker)
            if not self.run.is_stopping:
                self.fail(f"a worker: {reason}")

    def _worker_ended(self, worker: str, end: ProcessEnd) -> None:
        run = self.run
        if run is None or worker not in run.workers:
            return
        run.ended(worker, end)
        if not run.is_stopping:
            self.fail(f"worker {run.workers[worker]} ended before the run was over")

    def _note_same_failure(self, worker: str, kind: str | None) -> None:
        if self.run is not None:
            self.run.same_failures[worker] = kind

    def _close(self, run: Any) -> None:
        run.closed = True
        if self._headless:
            # Locust would inform the workers only after this. With its message "stop", they would stay alive.
            self._environment.runner.send_message("quit")
        deadline = time.monotonic() + self._environment.stop_timeout + WRITE_SECONDS_MAX
        while not run.all_ended.wait(TICK_SECONDS):
            lost = self._lost_worker()
            if lost is not None or time.monotonic() > deadline:
                raise RowsError(
                    f"worker {lost or 'of the run'} was lost: its rows may be incomplete, so no end file is written"
                )
        if len(run.ends) < len(run.workers):
            raise RowsError("interrupted before all workers had written their rows, so no end file is written")
        if not run.ends:
            raise RowsError("the run ended before any worker had begun, so no end file is written")
        processes = sorted(run.ends.values(), key=lambda process: process.end.workers[0].index)
        end = self._write_end(run.plan, processes, str(run.exit_reason))
        run.outcome = f"{run.exit_reason}, {end.requests} requests of {len(processes)} workers"

    def _stop_runner(self) -> None:
        self._environment.runner.stop(send_stop_to_client=not self._headless)

    def _wait_no_longer(self) -> None:
        if self.run is not None:
            self.run.all_ended.set()

    def _lost_worker(self) -> int | None:
        """Return the index of a worker that has disappeared without a summary; None if there is none."""
        clients = self._environment.runner.clients
        for worker, index in self.run.workers.items():
            gone = worker not in clients or clients[worker].state == STATE_MISSING
            if gone and worker not in self.run.ends:
                return int(index)
        return None

    def _tick_run(self) -> None:
        if self.run.is_stopping:
            return
        lost = self._lost_worker()
        if lost is not None:
            self.fail(f"worker {lost} was lost")
        elif not set(self._environment.runner.clients) <= set(self.run.workers):
            # Locust assigns users to it, but it has no share of the prepared items.
            self.fail("a worker joined during the run; start all workers before it")
        if self.run is not None:
            self._end_early()


class Worker(Generator):
    """Makes its share of the requests of a run that the master has planned."""

    def __init__(self, environment: Any, settings: GeneratorSettings) -> None:
        super().__init__(environment, settings)
        self._share = Share()
        self._same_failure_sent: str | None = None

    def attach(self) -> None:
        self._environment.runner.register_message(PLAN, lambda msg, **_: self._take_plan(*msg.data))
        super().attach()

    def _prepare(self) -> None:
        self._environment.runner.send_message(READY)

    def _start(self) -> None:
        plan, self._plan = self._plan, None
        if plan is None:
            logger.error("This worker has no plan for the current run; it takes part in the next one")
            return
        try:
            self.run = self._run_of(plan)
        except LoadError as error:
            self._report_unfit(error)
        self._same_failure_sent = None
        self._exit_code = 0
        self._ended.clear()

    def _take_plan(self, text: str, index: int, count: int) -> None:
        """Receive the text of a plan, and the share of this worker. If it has its own index, that counts."""
        self._plan = Plan.model_validate_json(text)
        self._share = Share(self._options.worker_index or index, count)

    def _run_of(self, plan: Plan) -> ProcessRun:
        return ProcessRun(plan, writer_for(plan, self._settings.rows, self._share.worker), self._share)

    def _end_early(self) -> None:
        """Report to the master whether all requests of this worker fail in the same way. The master decides."""
        kind = self.run.same_failure
        if kind != self._same_failure_sent:
            self._same_failure_sent = kind
            self._environment.runner.send_message(SAME_FAILURE, kind)

    def _end(self) -> None:
        if self.run is None and self._plan is not None:
            # The run ended before it began here, so the master must not wait for rows.
            self._plan = None
            self._report_unfit(LoadError("the run ended before it had begun"))
        super()._end()

    def _close(self, run: Any) -> None:
        self._environment.runner.send_message(END, _END.dump_json(run.close()).decode())

    def _stop_after_failure(self, message: str) -> None:
        self._environment.runner.send_message(FAILED, message)

    def _report_unfit(self, error: LoadError) -> None:
        logger.error("This worker cannot take part: %s", error.message)
        self._environment.runner.send_message(UNFIT, error.message)
