"""One run: its requests, their rows and how it ended."""

import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from lab_load.bridge import Answer, no_answer
from lab_load.metrics import RequestMetrics
from lab_load.plan import Plan
from lab_load.rows import RowsError, RowWriter

CPU_WINDOW_SECONDS = 5.0
"""The generator's CPU share is taken over windows this long: shorter ones mistake a burst for a limit."""
ERROR_LABELS_MAX = 50
"""Different errors that Locust's table shows; further ones are shown by their slug alone."""

_WALL_OFFSET_SECONDS = time.time() - time.monotonic()
"""Aligns the monotonic clock with the wall clock once, so that a step of the latter cannot bend a latency."""


def wall_seconds(monotonic_seconds: float) -> float:
    """Unix time of a reading of the monotonic clock."""
    return round(monotonic_seconds + _WALL_OFFSET_SECONDS, 6)


class CpuMeter:
    """The highest share of one core that this process used over a window, in percent."""

    def __init__(self) -> None:
        self.percent_max: float | None = None
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def sample(self, window_seconds_min: float = CPU_WINDOW_SECONDS) -> None:
        """Close the window when it is long enough."""
        wall, cpu = time.monotonic(), time.process_time()
        if wall - self._wall < max(window_seconds_min, 0.001):
            return
        percent = 100 * (cpu - self._cpu) / (wall - self._wall)
        self.percent_max = max(percent, self.percent_max or 0.0)
        self._wall, self._cpu = wall, cpu

    def close(self) -> float:
        """The maximum, with the last window counted when it was long enough to say something, or the only one."""
        self.sample(0 if self.percent_max is None else 1)
        return round(self.percent_max or 0.0, 1)


@dataclass(slots=True)
class Request:
    """A flow start on its way."""

    request_id: int
    user_id: int
    client_id: str
    body: bytes
    started: float = field(default_factory=time.monotonic)


class Run:
    """The requests of one run. ``begin`` and ``end`` belong together; ``close`` ends what is still on its way."""

    def __init__(self, plan: Plan, writer: RowWriter) -> None:
        self.plan = plan
        self._writer = writer
        self._values = plan.values()
        self._metrics = RequestMetrics(plan.workload.name, plan.node.name)
        # A run id may be used again after its rows were removed; a client id must not, or old results are re-attached.
        self._client_id_prefix = f"{plan.choice.run_id}-{uuid4().hex[:8]}"
        self._in_flight: dict[int, Request] = {}
        self._error_labels: set[str] = set()
        self._cpu = CpuMeter()
        self._users_started = self._requests = self._errors = 0
        self._users_max = 0
        self._started = time.monotonic()
        self._spawned: float | None = None
        self._stopping: float | None = None
        self._exit_reason = "stopped"
        self.closed = False

    def next_user_id(self) -> int:
        """Number of the user that starts now, from 1."""
        self._users_started += 1
        return self._users_started

    def begin(self, user_id: int) -> Request:
        """The next request, its clock started. Raises ``TemplateError``."""
        workload = self.plan.workload
        args = workload.arguments.render(self._values)
        self._requests += 1
        client_id = f"{self._client_id_prefix}-{self._requests}"
        body = json.dumps({"flow": workload.flow, "args": args, "clientId": client_id}).encode()
        request = Request(self._requests, user_id, client_id, body)
        self._in_flight[request.request_id] = request
        self._metrics.started()
        return request

    def end(self, request: Request, answer: Answer, ended: float) -> None:
        """Keep the row of a request that ended at ``ended`` on the monotonic clock. Raises ``RowsError``."""
        if self._in_flight.pop(request.request_id, None) is None:
            return
        duration_seconds = ended - request.started
        self._errors += not answer.ok
        self._metrics.ended(ok=answer.ok, duration_seconds=duration_seconds)
        self._writer.append(
            {
                "request_id": request.request_id,
                "user_id": request.user_id,
                "workload": self.plan.workload.name,
                "node": self.plan.node.name,
                "flow": self.plan.workload.flow,
                "started_at": wall_seconds(request.started),
                "ended_at": wall_seconds(ended),
                "latency_ms": round(duration_seconds * 1000, 3),
                "outcome": "ok" if answer.ok else "error",
                "status": answer.status,
                "error": answer.error,
                "flow_id": answer.flow_id,
                "tx_id": answer.tx_id,
                "client_id": request.client_id,
                "bridge_rpc_ms": answer.rpc_ms,
                "bridge_flow_ms": answer.flow_ms,
            }
        )

    def error_label(self, answer: Answer) -> str:
        """How Locust's table names an error; the number of different names is bounded."""
        label = answer.label
        if label not in self._error_labels and len(self._error_labels) >= ERROR_LABELS_MAX:
            return f"{label.partition(':')[0]}: …"
        self._error_labels.add(label)
        return label

    def spawned(self, users: int) -> None:
        """All of ``users`` run now; later changes of their number do not move the moment."""
        self._spawned = self._spawned or time.monotonic()
        self._users_max = max(self._users_max, users)

    def stopping(self, reason: str) -> None:
        """From now on nothing new starts; the first reason counts."""
        if self._stopping is None:
            self._stopping = time.monotonic()
            self._exit_reason = reason

    @property
    def is_stopping(self) -> bool:
        """Whether the run only waits for its last answers."""
        return self._stopping is not None

    @property
    def outcome(self) -> str:
        """The run in a few words."""
        return f"{self._exit_reason}, {self._requests} requests, {self._errors} errors"

    @property
    def elapsed_seconds(self) -> float:
        """Time since the run began."""
        return time.monotonic() - self._started

    def tick(self) -> None:
        """Once a second: write rows, look at the CPU. Raises ``RowsError``."""
        self._cpu.sample()
        self._writer.flush()

    def close(self) -> None:
        """End every request that is still on its way, and write how the run ended. Raises ``RowsError``."""
        if self.closed:
            return
        self.closed = True
        self.stopping("interrupted")
        ended = time.monotonic()
        with suppress(RowsError):  # the writer says so again when it is closed
            for request in list(self._in_flight.values()):
                self.end(request, no_answer("the run ended first"), ended)
        self._writer.close(self._summary(ended))

    def _summary(self, ended: float) -> dict[str, Any]:
        return {
            "started_at": wall_seconds(self._started),
            "spawned_at": wall_seconds(self._spawned) if self._spawned else None,
            "stop_at": wall_seconds(self._stopping or ended),
            "ended_at": wall_seconds(ended),
            "users": self._users_max or self._users_started,
            "requests": self._requests,
            "errors": self._errors,
            "cpu_percent_max": self._cpu.close(),
            "exit_reason": self._exit_reason,
        }
