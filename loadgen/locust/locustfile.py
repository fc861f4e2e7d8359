"""The locustfile: runs a workload. In closed load, every user has one flow in flight; otherwise, users are the pool.

``docs/workloads.md`` describes workloads. The arguments are declared in ``lab_load/form.py``.
"""

import time
from urllib.parse import quote

from locust import FastHttpUser, constant, constant_pacing, events, task
from locust.contrib.fasthttp import FAILURE_EXCEPTIONS
from locust.exception import StopUser

from lab_load.answer import Answer, no_answer, not_sent, read_answer
from lab_load.distributed import make_generator
from lab_load.form import add_arguments
from lab_load.generator import leave
from lab_load.generator_settings import GeneratorSettings, authorization
from lab_load.pool import Place
from lab_workload.load import UNWANTED
from lab_workload.problems import LoadError

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    **authorization(),
}

try:
    SETTINGS = GeneratorSettings.from_environment()
except LoadError as error:
    leave(error)


@events.init_command_line_parser.add_listener
def declare_arguments(parser):
    add_arguments(parser, SETTINGS)


@events.init.add_listener
def attach_generator(environment, **_):
    environment.lab = make_generator(environment, SETTINGS)
    environment.lab.attach()


class FlowUser(FastHttpUser):
    """Starts flows one after another: in closed load when the last has ended, otherwise when an arrival is due."""

    host = SETTINGS.bridge_url
    concurrency = 1
    connection_timeout = 10.0

    def __init__(self, environment):
        # Locust's web UI can change the attribute of the class.
        self.host = SETTINGS.bridge_url
        self._generator = environment.lab
        self._run = environment.lab.run
        self._leaving = self._run is None  # a worker that joined too late
        self._pause_seconds = 0.0
        self._pace = constant(0)
        self._place = None
        if self._leaving:
            super().__init__(environment)
            return
        self.network_timeout = SETTINGS.answer_timeout_seconds
        super().__init__(environment)
        self._user = self._run.next_user()
        self._place = Place(self._run.pool) if self._run.pool else None
        if pacing_seconds := self._run.plan.load.pacing_seconds:
            self._pace = constant_pacing(pacing_seconds)

    def stop(self, force=False):
        """Make sure that the user starts no more flows. Locust kills it later, and it may wake up before."""
        self._leaving = True
        if self._place is not None:
            self._place.leave()
        return super().stop(force)

    def wait_time(self):
        """Return the pause until the next start: from the pacing, or as the last answer requested. 0 with a pool."""
        return max(self._pace(self), self._pause_seconds)

    @task
    def start_flow(self):
        if self._leaving or not self._run.may_begin:
            raise StopUser
        if self._place is None:
            self._send(None)
            return
        intended = self._place.wait_turn()
        # A user that is leaving still makes the request of an arrival that was assigned to it.
        if intended is None or self._run.is_stopping:
            raise StopUser
        self._send(intended)
        self._pause_seconds = 0.0

    def _send(self, intended):
        try:
            request = self._run.begin(self._user, intended)
        except LoadError as error:
            self._generator.fail(error.message)
            raise StopUser from error
        answer, ended = no_answer("cut off when the run stopped"), None
        try:
            with self.client.post(
                f"/v1/nodes/{quote(request.node, safe='')}/flows",
                data=request.body,
                headers={**HEADERS, "traceparent": request.trace.header},
                name=request.part.name,
                catch_response=True,
            ) as response:
                ended = time.monotonic()
                answer = _read(response)
                if self._run.outcome_of(request.part, answer) in UNWANTED:
                    response.failure(self._run.error_label(answer))
                else:
                    response.success()
        except Exception as error:
            answer = no_answer(f"{type(error).__name__}: {error}")
            raise
        finally:
            self._keep(request, answer, ended or time.monotonic())
        self._pause_seconds = answer.pause_seconds

    def _keep(self, request, answer, ended):
        try:
            self._run.end(request, answer, ended)
        except LoadError as error:
            self._generator.fail(error.message)


def _read(response) -> Answer:
    if not response.status_code:
        no_one_listens = isinstance(response.error, ConnectionRefusedError)
        reason = str(response.error) or type(response.error).__name__
        return not_sent(reason) if no_one_listens else no_answer(reason)
    try:
        body = response.content
    except FAILURE_EXCEPTIONS as error:
        return no_answer(str(error) or type(error).__name__)
    return read_answer(response.status_code, body or b"", response.headers.get("retry-after"))
