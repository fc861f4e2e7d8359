"""The run within Locust: made when a test starts, ended when it stops, whichever way it does."""

import atexit
import logging
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NoReturn, Protocol

import gevent
from flask import Response, jsonify, request
from gevent.event import Event
from locust import log
from locust.exception import StopTest

from lab_load import metrics
from lab_load.end_file import ProcessSummary, end_of
from lab_load.generator_settings import GeneratorSettings, utc_run_id
from lab_load.load_plan import LoadPlan, make_plan
from lab_load.locust_arguments import choice_from, extent_from, seconds_of
from lab_load.origins import OriginGuard
from lab_load.process_run import ProcessRun
from lab_load.row_writer import RowsError, RowWriter, end_path, go_path, is_taken, ready_path, stop_path, write_whole
from lab_load.setup import run_setup
from lab_workload.load import ALL_FAILED, SAME_FAILURE_SECONDS_MIN
from lab_workload.problems import LoadError, SetupError
from lab_workload.run_end import PreparedStep

TICK_SECONDS = 1.0
HOLD_SECONDS_MAX = 600.0
HOLD_POLL_SECONDS = 0.2
EXIT_FAILED = 1
EXIT_UNUSABLE = 2
EXIT_INTERRUPTED = 130

logger = logging.getLogger(__name__)


class AnyRun(Protocol):
    """What the generator needs of a run, whether this process makes its requests or workers do."""

    plan: LoadPlan

    @property
    def is_stopping(self) -> bool: ...
    @property
    def elapsed_seconds(self) -> float: ...
    @property
    def outcome(self) -> str: ...
    @property
    def same_failure(self) -> str | None: ...
    def spawned(self, users: int) -> None: ...
    def stopping(self, reason: str) -> None: ...
    def tick(self) -> None: ...


class Generator:
    """Ties Locust's test events to a run. This one makes the requests itself; masters and workers derive from it.

    Headless, the plan is made and its set-up done before Locust starts anything, so that a mistake is one message and exit
    status 2. In the web UI that is when the form is sent, so that a mistake is shown below the form and nothing starts.
    """

    def __init__(self, environment: Any, settings: GeneratorSettings) -> None:
        self.run: Any = None
        """The run in progress."""
        self._environment = environment
        self._options = environment.parsed_options
        self._settings = settings
        self._headless = environment.web_ui is None
        self._plan: LoadPlan | None = None
        """The run that starts next, its set-up done."""
        self._setup: list[PreparedStep] = []
        """What the set-up of the run in progress, or of the next, has prepared."""
        self._preparing = False
        self._run_time_seconds: float | None = None
        self._ended = Event()
        self._quitting = False
        self._exit_code = 0

    def attach(self) -> None:
        """Listen to Locust and serve metrics; headless, prepare the run too. Ends the process when it cannot start."""
        try:
            self._serve_metrics()
            self._prepare()
        except LoadError as error:
            leave(error)
        except KeyboardInterrupt:
            sys.exit(EXIT_INTERRUPTED)
        events = self._environment.events
        events.test_start.add_listener(lambda **_: self._start())
        events.spawning_complete.add_listener(lambda **_: self._spawned())
        events.test_stopping.add_listener(lambda **_: self._stopping())
        events.test_stop.add_listener(lambda **_: self._end())
        events.quitting.add_listener(lambda **_: self._quit())
        atexit.register(self._end)
        # Python would raise KeyboardInterrupt in whichever greenlet runs, in the midst of a row too.
        gevent.signal_handler(signal.SIGINT, self._interrupt)
        gevent.spawn(self._tick)

    def fail(self, message: str) -> None:
        """End the run because its numbers cannot be trusted. Returns at once."""
        run = self.run
        if run is None or self._exit_code == EXIT_FAILED:
            return
        logger.error("Run %s failed: %s", run.plan.choice.run_id, message)
        self._exit_code = EXIT_FAILED
        run.stopping("failed")
        self._stop_after_failure(message)

    # --- before a run -----------------------------------------------------------------------------------------------

    def _serve_metrics(self) -> None:
        runner = self._environment.runner
        web_port = None if self._headless else self._options.web_port
        metrics.serve(self._settings.metrics_port, lambda: runner.user_count, web_port)

    def _prepare(self) -> None:
        if self._headless:
            self._prepare_run(vars(self._options), self._options.run_id)
            assert self._plan is not None
            if self._plan.choice.is_open:
                # The schedule begins when the whole pool is there, so it comes at once.
                self._options.spawn_rate = self._plan.extent.users
            if self._options.hold:
                self._hold(self._plan)
        else:
            app = self._environment.web_ui.app
            # In front of the whole application: Locust adds its headers after any other function that Flask calls.
            app.wsgi_app = OriginGuard(app.wsgi_app, self._settings.allowed_hosts)
            app.before_request(self._check_form)
            # The form shows the arguments in the order of their declaration, not of the alphabet.
            app.jinja_env.policies["json.dumps_kwargs"] = {"sort_keys": False}

    def _prepare_run(self, values: Mapping[str, Any], run_id: str) -> None:
        """Plan the next run and do its set-up. Raises ``LoadError``."""
        plan = make_plan(choice_from(values, run_id, self._settings), self._extent_from(values), self._settings)
        if is_taken(self._settings.rows, run_id):
            raise RowsError(f"run id {run_id!r} is taken: there are files of it in {self._settings.rows}")
        self._plan, self._setup = run_setup(plan)

    def _extent_from(self, values: Mapping[str, Any]) -> Any:
        return extent_from(values)

    def _hold(self, plan: LoadPlan) -> None:
        """Say that the set-up is done and wait until the load may begin. Raises ``LoadError`` when it never may."""
        rows, run_id = self._settings.rows, plan.choice.run_id
        write_whole(ready_path(rows, run_id), {"setup": [asdict(step) for step in self._setup]})
        logger.info("Set-up done; the load waits for %s", go_path(rows, run_id))
        deadline = time.monotonic() + HOLD_SECONDS_MAX
        while not go_path(rows, run_id).exists():
            if time.monotonic() > deadline:
                raise SetupError(
                    f"the load was held for {HOLD_SECONDS_MAX:.0f} s, and {go_path(rows, run_id)} did not appear"
                )
            gevent.sleep(HOLD_POLL_SECONDS)

    def _check_form(self) -> Response | None:
        """Before Locust sees the form that starts or edits a run: what it answers here is shown below the form."""
        if request.endpoint != "locust.swarm":
            return None
        try:
            # What the form leaves out stays as it was, but for the run time: then there is none.
            self._accept({**vars(self._options), "run_time": "", **request.form})
        except LoadError as error:
            logger.error("No run started: %s", error.message)
            return jsonify(
                {"success": False, "message": "; ".join(map(str, error.problems)), "host": self._environment.host}
            )
        return None

    def _accept(self, form: Mapping[str, Any]) -> None:
        if self._preparing:
            raise LoadError("the set-up of a run is in progress; the run starts when it is done")
        if self.run is None:
            self._preparing = True
            try:
                self._prepare_run(form, self._free_run_id())
            finally:
                self._preparing = False
            self._run_time_seconds = seconds_of(form.get("run_time"))
        elif self.run.is_stopping:
            raise LoadError(
                "the last run is still waiting for its flows to end; start the next one when it has stopped"
            )
        elif choice_from(form, self.run.plan.choice.run_id, self._settings) != self.run.plan.choice:
            raise LoadError("a run is in progress: stop it before you change anything but the number of users")

    def _free_run_id(self) -> str:
        run_id, copy = utc_run_id("web"), 1
        candidate = run_id
        while is_taken(self._settings.rows, candidate):
            copy += 1
            candidate = f"{run_id}-{copy}"
        return candidate

    # --- a run --------------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        try:
            if self._plan is None:
                # Neither headless nor the form started the run, but --autostart.
                self._prepare_run(vars(self._options), self._free_run_id())
            assert self._plan is not None
            plan, self._plan = self._plan, None
            self.run = self._run_of(plan)
        except LoadError as error:
            self._exit_code = EXIT_UNUSABLE
            raise StopTest(error.message) from error
        metrics.show_run(plan.workload.name, plan.roles.node.name, plan.load)
        self._exit_code = 0
        self._ended.clear()

    def _run_of(self, plan: LoadPlan) -> AnyRun:
        return ProcessRun(plan, RowWriter(self._settings.rows, plan.choice.run_id))

    def _spawned(self) -> None:
        if self.run is not None:
            self.run.spawned(self._environment.runner.user_count)

    def _stopping(self) -> None:
        if self.run is None:
            return
        limit = self._run_time_seconds
        if self._quitting:
            reason = "interrupted"
        elif self._headless or (limit and self.run.elapsed_seconds >= limit - TICK_SECONDS):
            reason = "completed"
        else:
            reason = "stopped"
        self.run.stopping(reason)

    def _end(self) -> None:
        """Close the run, if there is one. Also called at exit, for whatever way out was not foreseen."""
        run = self.run
        if run is None or run.closed:
            return
        try:
            self._close(run)
            logger.info("Run %s ended: %s", run.plan.choice.run_id, run.outcome)
        except LoadError as error:
            self.fail(error.message)
        finally:
            metrics.hide_runs()
            self.run = None
            self._ended.set()

    def _close(self, run: Any) -> None:
        """End the run and write how it ended. Raises ``RowsError``."""
        summary = run.close()
        self._write_end(run.plan, [summary], summary.exit_reason)

    def _write_end(self, plan: LoadPlan, summaries: list[ProcessSummary], exit_reason: str) -> None:
        end = end_of(plan, summaries, self._setup, exit_reason)
        write_whole(end_path(self._settings.rows, plan.choice.run_id), end.as_dict())

    def _stop_after_failure(self, message: str) -> None:
        runner = self._environment.runner
        gevent.spawn(runner.quit if self._headless else runner.stop)

    # --- the process --------------------------------------------------------------------------------------------------

    def _quit(self) -> None:
        """Before the process ends: stop the run, waiting for its flows as long as --stop-timeout says."""
        self._quitting = True
        if self.run is not None:
            self._exit_code = self._exit_code or EXIT_INTERRUPTED
            if self.run.is_stopping:
                self._ended.wait(self._environment.stop_timeout + 10)
            else:
                self._stop_runner()
        broken = bool(self._environment.runner.exceptions) or log.unhandled_greenlet_exception
        exit_code = self._exit_code if self._headless else 0
        # Failed requests do not count here: they are results, judged by whoever reads the rows.
        self._environment.process_exit_code = exit_code or (EXIT_FAILED if broken else 0)

    def _stop_runner(self) -> None:
        self._environment.runner.stop()

    def _interrupt(self) -> None:
        """Ctrl-C: the first stops the run in an orderly way, the next does not wait for its flows any longer."""
        if self._quitting:
            self._wait_no_longer()
        else:
            gevent.get_hub().handle_system_error(KeyboardInterrupt, KeyboardInterrupt())

    def _wait_no_longer(self) -> None:
        self._environment.runner.user_greenlets.kill(block=False)

    def _tick_run(self) -> None:
        self.run.tick()
        self._end_early()

    def _end_early(self) -> None:
        """Headless, whoever watches the run may end it early with a file; it also ends when every request fails alike."""
        run = self.run
        if not self._headless or run.is_stopping:
            return
        if stop_path(self._settings.rows, run.plan.choice.run_id).exists():
            run.stopping("enough")
        elif run.elapsed_seconds >= SAME_FAILURE_SECONDS_MIN and run.same_failure is not None:
            logger.error("Run %s: every request has failed: %s", run.plan.choice.run_id, run.same_failure)
            run.stopping(ALL_FAILED)
        else:
            return
        gevent.spawn(self._environment.runner.quit)

    def _tick(self) -> NoReturn:
        while True:
            gevent.sleep(TICK_SECONDS)
            if self.run is not None:
                try:
                    self._tick_run()
                except LoadError as error:
                    self.fail(error.message)


def leave(error: LoadError) -> NoReturn:
    """End the process before any load has started."""
    print(f"locust: error: {error.message}", file=sys.stderr)
    sys.exit(EXIT_FAILED if isinstance(error, SetupError) else EXIT_UNUSABLE)
