"""The run within Locust: made when a test starts, ended when it stops, whichever way it does."""

import atexit
import logging
import signal
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import gevent
from flask import Response, jsonify, request
from gevent.event import Event
from locust import log
from locust.exception import StopTest
from locust.util.timespan import parse_timespan

from lab_load import metrics
from lab_load.errors import LoadError
from lab_load.plan import Choice, Plan, make_plan
from lab_load.rows import RowWriter, rows_path
from lab_load.run import Run
from lab_load.settings import Settings, utc_run_id

TICK_SECONDS = 1.0
EXIT_FAILED = 1
EXIT_UNUSABLE = 2
EXIT_INTERRUPTED = 130

logger = logging.getLogger(__name__)


class Generator:
    """Ties Locust's test events to a ``Run``.

    Headless, the plan is made before Locust starts anything, so that a mistake is one message and exit status 2. In
    the web UI it is made when the form is sent, so that a mistake is shown below the form and nothing starts.
    """

    def __init__(self, environment: Any, settings: Settings) -> None:
        self.run: Run | None = None
        """The run in progress."""
        self._environment = environment
        self._options = environment.parsed_options
        self._settings = settings
        self._headless = environment.web_ui is None
        self._plan: Plan | None = None
        """The run that starts next."""
        self._run_time_seconds: float | None = None
        self._ended = Event()
        self._quitting = False
        self._exit_code = 0

    def attach(self) -> None:
        """Listen to Locust and serve metrics; headless, check the run too. Ends the process when it cannot start."""
        try:
            self._prepare()
        except LoadError as error:
            leave(error)
        except KeyboardInterrupt:
            sys.exit(EXIT_INTERRUPTED)
        events = self._environment.events
        events.test_start.add_listener(lambda **_: self._start())
        events.spawning_complete.add_listener(lambda user_count, **_: self._spawned(user_count))
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
        runner = self._environment.runner
        gevent.spawn(runner.quit if self._headless else runner.stop)

    def _prepare(self) -> None:
        runner = self._environment.runner
        web_port = None if self._headless else self._options.web_port
        metrics.serve(self._settings.metrics_port, lambda: runner.user_count, web_port)
        if self._headless:
            self._plan = self._plan_from(vars(self._options), self._options.run_id)
        else:
            app = self._environment.web_ui.app
            app.before_request(self._check_form)
            # The form shows the arguments in the order of their declaration, not of the alphabet.
            app.jinja_env.policies["json.dumps_kwargs"] = {"sort_keys": False}

    def _plan_from(self, values: Mapping[str, Any], run_id: str) -> Plan:
        return make_plan(self._choice_from(values, run_id), self._settings)

    def _choice_from(self, values: Mapping[str, Any], run_id: str) -> Choice:
        try:
            pacing_seconds = float(values["pacing"])
        except ValueError:
            raise LoadError(f"pacing: {values['pacing']!r} is not a number of seconds") from None
        return Choice(
            workload=values["workload"],
            node=values["node"],
            counterparty=values["counterparty"],
            pacing_seconds=pacing_seconds,
            run_id=run_id,
            seed=self._options.seed,
            bridge_url=(values.get("host") or self._settings.bridge_url).rstrip("/"),
        )

    def _check_form(self) -> Response | None:
        """Before Locust sees the form that starts or edits a run: what it answers here is shown below the form."""
        if request.endpoint != "locust.swarm":
            return None
        try:
            # What the form leaves out stays as it was, but for the run time: then there is none.
            self._accept({**vars(self._options), "run_time": "", **request.form})
        except LoadError as error:
            logger.error("No run started: %s", error.message)
            return jsonify({"success": False, "message": "; ".join(error.problems), "host": self._environment.host})
        return None

    def _accept(self, form: Mapping[str, Any]) -> None:
        if self.run is None:
            self._plan = self._plan_from(form, self._free_run_id())
            self._run_time_seconds = _seconds(form.get("run_time"))
        elif self.run.is_stopping:
            raise LoadError("the last run still waits for its flows to end; start the next one when it has stopped")
        elif self._choice_from(form, self.run.plan.choice.run_id) != self.run.plan.choice:
            raise LoadError("a run is in progress: stop it before you change anything but the number of users")

    def _free_run_id(self) -> str:
        run_id, copy = utc_run_id("web"), 1
        candidate = run_id
        while rows_path(self._settings.rows, candidate).exists():
            copy += 1
            candidate = f"{run_id}-{copy}"
        return candidate

    def _start(self) -> None:
        try:
            # There is no plan yet when neither headless nor the form started the run, but --autostart.
            plan = self._plan or self._plan_from(vars(self._options), self._free_run_id())
            self._plan = None
            self.run = Run(plan, RowWriter(self._settings.rows, plan.choice.run_id))
        except LoadError as error:
            self._exit_code = EXIT_UNUSABLE
            raise StopTest(error.message) from error
        self._exit_code = 0
        self._ended.clear()

    def _spawned(self, user_count: int) -> None:
        if self.run is not None:
            self.run.spawned(user_count)

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
        if run is None:
            return
        try:
            run.close()
            logger.info("Run %s ended: %s", run.plan.choice.run_id, run.outcome)
        except LoadError as error:
            self.fail(error.message)
        finally:
            self.run = None
            self._ended.set()

    def _quit(self) -> None:
        """Before the process ends: stop the run, waiting for its flows as long as --stop-timeout says."""
        self._quitting = True
        if self.run is not None:
            self._exit_code = self._exit_code or EXIT_INTERRUPTED
            if self.run.is_stopping:
                self._ended.wait(self._environment.stop_timeout + 10)
            else:
                self._environment.runner.stop()
        broken = bool(self._environment.runner.exceptions) or log.unhandled_greenlet_exception
        exit_code = self._exit_code if self._headless else 0
        # Failed requests do not count here: they are results, judged by whoever reads the rows.
        self._environment.process_exit_code = exit_code or (EXIT_FAILED if broken else 0)

    def _interrupt(self) -> None:
        """Ctrl-C: the first stops the run in an orderly way, the next does not wait for its flows any longer."""
        if self._quitting:
            self._environment.runner.user_greenlets.kill(block=False)
        else:
            gevent.get_hub().handle_system_error(KeyboardInterrupt, KeyboardInterrupt())

    def _tick(self) -> NoReturn:
        while True:
            gevent.sleep(TICK_SECONDS)
            if self.run is not None:
                try:
                    self.run.tick()
                except LoadError as error:
                    self.fail(error.message)


def leave(error: LoadError) -> NoReturn:
    """End the process before anything has started."""
    print(f"locust: error: {error.message}", file=sys.stderr)
    sys.exit(EXIT_UNUSABLE)


def _seconds(run_time: Any) -> float | None:
    """Locust's notation of a run time; what cannot be read Locust itself reports."""
    try:
        return float(parse_timespan(str(run_time))) if run_time else None
    except ValueError:
        return None
