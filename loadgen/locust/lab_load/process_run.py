"""One run in one process: its requests, their rows and its summary."""

import json
import math
import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any
from uuid import uuid4

from lab_load.answer import Answer, no_answer
from lab_load.cpu import CpuMeter
from lab_load.metrics import RequestMetrics
from lab_load.pool import BurstPool, Pool
from lab_load.row_writer import RowsError, RowWriter
from lab_load.same_failure import SameFailure
from lab_load.schedule import Lags, Schedule, arrival_offsets, burst_offsets
from lab_load.traces import Trace, Traces
from lab_workload.load import OUTCOMES, UNWANTED, Load, Outcome
from lab_workload.network import Roles
from lab_workload.plan import Plan
from lab_workload.prepared import ALONE, Share
from lab_workload.problems import LoadError, TemplateError
from lab_workload.row import Drop, Row
from lab_workload.run_end import PreparedStep, RunEnd, WorkerEnd
from lab_workload.schema import Part
from lab_workload.values import Draws

ERROR_LABELS_MAX = 50
"""Number of different errors in Locust's table. Further errors are shown only by the problem's name."""

LAG_QUANTILE = 0.99

_WALL_OFFSET_SECONDS = time.time() - time.monotonic()
"""Aligns the monotonic clock with the wall clock once, so that a jump of the wall clock cannot distort a latency."""


def wall_seconds(monotonic_seconds: float) -> float:
    """Convert a reading of the monotonic clock to Unix seconds."""
    return round(monotonic_seconds + _WALL_OFFSET_SECONDS, 6)


@dataclass(slots=True)
class Request:
    """A flow start in flight."""

    request_id: int
    ordinal: int
    """Its number among the requests of this process, from 1."""
    user_id: int
    part: Part
    node: str
    """Name of the node that starts the flow."""
    client_id: str
    body: bytes
    trace: Trace
    intended: float | None
    started: float = field(default_factory=time.monotonic)


class _Starter:
    """A node that starts flows: its template values, the other party of each part, and its metrics."""

    def __init__(self, plan: Plan, roles: Roles, share: Share, draws: Draws) -> None:
        self.node = roles.node.name
        self.values = plan.values(roles, share, draws)
        self.metrics = RequestMetrics(plan.workload.name, self.node)
        self._arguments = {part.name: part.args for part in plan.workload.flows}
        parties = ((part.name, roles.counterparty_of(part)) for part in plan.workload.flows)
        self._counterparties = {name: party.x500_name for name, party in parties if party}

    def render(self, part: Part, user: int) -> dict[str, Any]:
        """Render the arguments of the next request of a user. Raises ``TemplateError``."""
        values = self.values.for_user(user)
        if part.name in self._counterparties:
            values.names["counterparty"] = self._counterparties[part.name]
        return self._arguments[part.name].render(values)


@dataclass(frozen=True)
class ProcessEnd:
    """How a run ended in one process. Workers send it to their master."""

    end: RunEnd
    lags: list[tuple[int, int]]
    """Schedule lags as (microseconds, count); see ``Lags``. Those of all processes have one quantile."""


def end_of(processes: Sequence[ProcessEnd], setup: Sequence[PreparedStep], exit_reason: str) -> RunEnd:
    """Combine the ends of all processes of a run with its set-up."""
    ends = [process.end for process in processes]
    spawned = [end.spawned_at for end in ends if end.spawned_at is not None]
    lags = Lags(lag for process in processes for lag in process.lags)
    return replace(
        ends[0],
        started_at=min(end.started_at for end in ends),
        # All users are running only when those of every process are running.
        spawned_at=max(spawned) if len(spawned) == len(ends) else None,
        stop_at=max(end.stop_at for end in ends),
        ended_at=max(end.ended_at for end in ends),
        users=sum(end.users for end in ends),
        requests=sum(end.requests for end in ends),
        outcomes={name: sum(end.outcomes[name] for end in ends) for name in OUTCOMES},
        offered=_sum(end.offered for end in ends),
        late=_sum(end.late for end in ends),
        dropped=_sum(end.dropped for end in ends),
        lag_p99_ms=lags.quantile_ms(LAG_QUANTILE),
        pool_free_min=min((end.pool_free_min for end in ends if end.pool_free_min is not None), default=None),
        setup=list(setup),
        rows={worker: count for end in ends for worker, count in end.rows.items()},
        cpu_percent_max=max(end.cpu_percent_max for end in ends),
        workers=[worker for end in ends for worker in end.workers],
        exit_reason=exit_reason,
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


class ProcessRun:
    """The requests of one run. Every ``begin`` is followed by ``end``; ``close`` ends the requests still in flight."""

    def __init__(self, plan: Plan, writer: RowWriter | None, share: Share = ALONE) -> None:
        self.plan = plan
        self.share = share
        self.pool: Pool | None = None
        """The pool of open load and of bursts; None in closed load."""
        self._bursts: BurstPool | None = None
        load = plan.load
        if load.is_open:
            offsets = arrival_offsets(load.arrivals, load.rate or 0.0, load.seed, share)
            self.pool = Pool(Schedule(offsets, load.late_max_seconds))
        elif load.is_burst:
            self.pool = self._bursts = _burst_pool(load)
        self._requests_max = math.inf if load.flows_max is None else load.flows_max
        self._writer = writer
        draws = Draws(load.seed, share)
        self._starters = tuple(_Starter(plan, roles, share, draws) for roles in plan.starters)
        self._metrics = {starter.node: starter.metrics for starter in self._starters}
        self._workload_name = plan.workload.name
        self._parts = plan.workload.flows
        self._weights = list(accumulate(part.weight for part in self._parts))
        self._traces = Traces(load, share)
        self._part_random = random.Random(f"parts/{load.seed}/{share.worker}")
        # A run id may be reused after its rows were deleted. A client id must not: Corda would return the old result.
        self._client_id_prefix = f"{plan.identity}-{uuid4().hex[:8]}"
        self._in_flight: dict[int, Request] = {}
        self._error_labels: set[str] = set()
        self._same_failure = SameFailure()
        self._cpu = CpuMeter()
        self._outcomes: Counter[Outcome] = Counter()
        self._users_started = self._requests = 0
        self._users = 0
        self._started = time.monotonic()
        self._spawned: float | None = None
        self._stopping: float | None = None
        self._exit_reason = "stopped"
        self.closed = False

    def next_user(self) -> int:
        """Return the number of the user that starts now, from 1 in this process."""
        self._users_started += 1
        return self._users_started

    def begin(self, user: int, intended: float | None = None) -> Request:
        """Begin the next request of this process's ``user``, and start its clock. Raises ``LoadError``.

        ``intended`` is its intended start in open load and in a burst, on the monotonic clock.
        """
        part = self._next_part()
        starter = self._starter_of(user, intended)
        args = self._args_of(part, starter, user)
        self._requests += 1
        request_id = self.share.number(self._requests)
        client_id = f"{self._client_id_prefix}-{request_id}"
        body = json.dumps({"flow": part.flow, "args": args, "clientId": client_id}).encode()
        user_id = self.share.number(user)
        request = Request(
            request_id, self._requests, user_id, part, starter.node, client_id, body, self._traces.next(), intended
        )
        self._in_flight[request_id] = request
        starter.metrics.started(None if intended is None else request.started - intended)
        if intended is not None and self.pool is not None:
            self.pool.schedule.note_start(intended, request.started)
        return request

    def outcome_of(self, part: Part, answer: Answer) -> Outcome:
        """Return the outcome of a request with this answer. A part may expect any failure, also an unknown outcome."""
        if answer.error is None:
            return "ok"
        expect = part.expect
        if expect is not None and expect.error in answer.error and expect.status in (None, answer.status):
            return "expected"
        return "unknown" if answer.leaves_unknown else "failed"

    def end(self, request: Request, answer: Answer, ended: float) -> None:
        """Record the row of a request that ended at ``ended`` on the monotonic clock. Raises ``RowsError``."""
        if self._in_flight.pop(request.request_id, None) is None:
            return
        is_scheduled = request.intended is not None
        latency_seconds = ended - (request.started if request.intended is None else request.intended)
        outcome = self.outcome_of(request.part, answer)
        self._outcomes[outcome] += 1
        self._metrics[request.node].ended(outcome, latency_seconds, is_scheduled=is_scheduled)
        self._same_failure.note(request.ordinal, answer if outcome in UNWANTED else None)
        if self._writer is not None:
            self._writer.append(self._row_of(request, answer, ended, outcome))
        if self._bursts is not None:
            self._bursts.note_end()

    def error_label(self, answer: Answer) -> str:
        """Return the name of an error in Locust's table. The number of different names is limited."""
        label = answer.label
        if label not in self._error_labels and len(self._error_labels) >= ERROR_LABELS_MAX:
            return f"{label.partition(':')[0]}: …"
        self._error_labels.add(label)
        return label

    def spawned(self, users: int) -> None:
        """Record that all ``users`` are running from now on, and start the schedule."""
        if self._spawned is None or users != self._users:
            self._users, self._spawned = users, time.monotonic()
        if self.pool is not None and not self.is_stopping:
            self.pool.begin()

    def stopping(self, reason: str) -> None:
        """Record that no more requests start, and end the pool. Only the first reason is kept."""
        if self._stopping is None:
            self._stopping = time.monotonic()
            self._exit_reason = reason
            if self.pool is not None:
                self.pool.end()

    @property
    def is_stopping(self) -> bool:
        """Whether the run is only waiting for its last answers."""
        return self._stopping is not None

    @property
    def may_begin(self) -> bool:
        return self._stopping is None and self._requests < self._requests_max

    @property
    def is_done(self) -> bool:
        """Whether the load has ended by itself: all requests after which it ends have ended."""
        if self._bursts is not None:
            return self._bursts.is_done
        return self._requests >= self._requests_max and not self._in_flight

    @property
    def same_failure(self) -> str | None:
        """How all requests have failed; None unless all have failed in the same way."""
        return self._same_failure.kind

    @property
    def outcome(self) -> str:
        """A short description of how the run ended, for the log."""
        counts = ", ".join(f"{self._outcomes[name]} {name}" for name in OUTCOMES if self._outcomes[name])
        return f"{self._exit_reason}, {self._requests} requests: {counts or 'none ended'}"

    @property
    def elapsed_seconds(self) -> float:
        return time.monotonic() - self._started

    def tick(self) -> None:
        """Write rows and drops, and sample the CPU utilisation. Called once per second.

        Raises ``RowsError``, or ``LoadError`` if arrivals are no longer assigned.
        """
        if self.pool is not None and self.pool.failure is not None:
            raise LoadError(f"arrivals are no longer assigned: {self.pool.failure!r}")
        self._cpu.sample()
        self._write_drops()
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> ProcessEnd:
        """End all requests in flight, and return how the run ended. Raises ``RowsError``."""
        self.closed = True
        self.stopping("interrupted")
        ended = time.monotonic()
        with suppress(RowsError):  # the writer raises it again when it is closed
            for request in list(self._in_flight.values()):
                self.end(request, no_answer("the run ended first"), ended)
            self._write_drops()
        if self._writer is not None:
            self._writer.close()
        return self._end_at(ended)

    def _row_of(self, request: Request, answer: Answer, ended: float, outcome: Outcome) -> Row:
        intended = request.intended
        return Row(
            request_id=request.request_id,
            user_id=request.user_id,
            workload=self._workload_name,
            part=request.part.name,
            node=request.node,
            flow=request.part.flow,
            worker=self.share.worker,
            intended_at=None if intended is None else wall_seconds(intended),
            started_at=wall_seconds(request.started),
            ended_at=wall_seconds(ended),
            latency_ms=round((ended - request.started) * 1000, 3),
            latency_intended_ms=None if intended is None else round((ended - intended) * 1000, 3),
            outcome=outcome,
            status=answer.status,
            error=answer.error,
            flow_id=answer.flow_id,
            tx_id=answer.tx_id,
            client_id=request.client_id,
            bridge_rpc_ms=answer.rpc_ms,
            bridge_flow_ms=answer.flow_ms,
            bridge_received_at=answer.received_at,
            bridge_started_at=answer.started_at,
            trace_id=request.trace.id if request.trace.is_sampled else None,
        )

    def _write_drops(self) -> None:
        if self.pool is not None:
            for intended in self.pool.schedule.take_drops():
                # Which node would have started it is not decided.
                self._starters[0].metrics.dropped()
                if self._writer is not None:
                    self._writer.append_drop(Drop(worker=self.share.worker, intended_at=wall_seconds(intended)))

    def _starter_of(self, user: int, intended: float | None) -> _Starter:
        """Return the node that starts the next request: each user has one in closed load, each arrival in open load.

        Both are assigned in turn. Workers begin with different nodes, so that few users are spread over all of them.
        """
        turn = user - 1 if intended is None else self._requests
        return self._starters[(turn + self.share.offset) % len(self._starters)]

    def _args_of(self, part: Part, starter: _Starter, user: int) -> dict[str, Any]:
        try:
            return starter.render(part, user)
        except TemplateError as error:
            location = (*part.location, "args")
            raise LoadError(self.plan.workload.source.problem(location, f"template: {error}")) from error

    def _next_part(self) -> Part:
        if len(self._parts) == 1:
            return self._parts[0]
        return self._part_random.choices(self._parts, cum_weights=self._weights)[0]

    def _end_at(self, ended: float) -> ProcessEnd:
        schedule = self.pool.schedule if self.pool else None
        worker = WorkerEnd(self.share.worker, self._cpu.close(), self._writer.rows if self._writer else 0)
        end = RunEnd(
            started_at=wall_seconds(self._started),
            spawned_at=wall_seconds(self._spawned) if self._spawned else None,
            stop_at=wall_seconds(self._stopping or ended),
            ended_at=wall_seconds(ended),
            model=self.plan.load.arrivals,
            rate=self.plan.load.rate,
            users=self._users or self._users_started,
            requests=self._requests,
            outcomes={name: self._outcomes[name] for name in OUTCOMES},
            offered=schedule.offered if schedule else None,
            late=schedule.late if schedule else None,
            dropped=schedule.dropped if schedule else None,
            lag_p99_ms=schedule.lags.quantile_ms(LAG_QUANTILE) if schedule else None,
            pool_free_min=self.pool.free_min if self.pool else None,
            setup=[],
            rows={str(worker.index): worker.rows},
            cpu_percent_max=worker.cpu_percent_max,
            workers=[worker],
            exit_reason=self._exit_reason,
        )
        return ProcessEnd(end, list(schedule.lags.counts.items()) if schedule else [])


def _burst_pool(load: Load) -> BurstPool:
    schedule = Schedule(burst_offsets(load.users, load.within_seconds), math.inf)
    return BurstPool(schedule, requests=load.users, bursts=load.bursts, rest_seconds=load.rest_seconds)
