"""Connects a run to Locust: creates it when a test starts, and ends it when the test stops for any reason."""

import atexit
import logging
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn

import gevent
from flask import Response, jsonify, request
from gevent.event import Event
from locust import log
from locust.exception import StopTest

from lab_load import metrics, web_ui
from lab_load.bridge_client import BridgeClient
from lab_load.form import has_spawn_rate, load_of, plan_of, read_plan, seconds_of, users_of
from lab_load.generator_settings import GeneratorSettings, utc_run_id
from lab_load.process_run import ProcessEnd, ProcessRun, end_of
from lab_load.row_writer import RowsError, end_path, go_path, is_taken, ready_path, stop_path, write_whole, writer_for
from lab_load.setup import run_setup
from lab_workload.load import ALL_FAILED, OUT_OF_TIME, SAME_FAILURE_SECONDS_MIN, Load
from lab_workload.plan import Plan
from lab_workload.problems import LoadError, SetupError
from lab_workload.run_end import PreparedStep, RunEnd
from lab_workload.web_ui import WebUiState, WebUiStatus

TICK_SECONDS = 1.0
HOLD_SECONDS_MAX = 600.0
HOLD_POLL_SECONDS = 0.2
STOP_MARGIN_SECONDS = 5.0
"""How much longer than the bridge a run of the command line waits for the flows that are in flight at its end."""
SETTLE_SECONDS = 6.0
"""How long a load of the web UI begins after the last flow of its set-up, and of the load before it. Prometheus reads
all counters once in between: every 5 s."""
EXIT_FAILED = 1
EXIT_UNUSABLE = 2
EXIT_INTERRUPTED = 130

logger = logging.getLogger(__name__)


class Generator:
    """Connects Locust's test events to a run. This class makes the requests itself; master and worker extend it.

    In a headless run, the plan and the set-up are made before Locust starts anything, so that a problem is one message
    and exit status 2. In the web UI, they are made when the form is submitted, so that a problem is shown below the
    form and nothing starts.
    """

    def __init__(self, environment: Any, settings: GeneratorSettings) -> None:
        self.run: Any = None
        """The run in progress."""
        self._environment = environment
        self._options = environment.parsed_options
        self._settings = settings
        self._headless = environment.web_ui is None
        self._plan: Plan | None = None
        """The next run, after its set-up."""
        self._setup: list[PreparedStep] = []
        """What the set-up has prepared, for the current or the next run."""
        self._preparing = False
        self._run_time_seconds: float | None = None
        self._settled_at = 0.0
        """When a load of the web UI may begin, by the monotonic clock."""
        self._users_changed = self._users_changing = False
        """Whether the number of users was changed while the run lasts; whether not all of them are running yet."""
        self._ended = Event()
        self._quitting = False
        self._exit_code = 0

    def attach(self) -> None:
        """Register for Locust's events, serve metrics and, if headless, prepare the run. Exits if that fails."""
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
        # Otherwise Python would raise KeyboardInterrupt in the running greenlet, even while it writes a row.
        gevent.signal_handler(signal.SIGINT, self._interrupt)
        gevent.spawn(self._tick).link(self._tick_ended)

    def fail(self, message: str) -> None:
        """Stop the run because its values are not reliable. Returns immediately."""
        run = self.run
        if run is None or self._exit_code == EXIT_FAILED:
            return
        logger.error("Run %s failed: %s", run.plan.identity, message)
        self._exit_code = EXIT_FAILED
        run.stopping("failed")
        self._stop_after_failure(message)

    # --- before a run -----------------------------------------------------------------------------------------------

    def _serve_metrics(self) -> None:
        runner = self._environment.runner
        web_port = None if self._headless else self._options.web_port
        metrics.serve(self._settings.metrics_port, lambda: runner.user_count, web_port, self._settings.rows)

    def _prepare(self) -> None:
        if self._headless:
            self._prepare_run(self._headless_plan())
            assert self._plan is not None
            if self._plan.load.has_pool:
                # The schedule begins when the whole pool is running, so all users start at once.
                self._options.spawn_rate = self._plan.load.places
            if self._options.hold:
                self._hold(self._plan)
        else:
            web_ui.extend(self._environment.web_ui.app, self._settings, self._check_form, self._web_status)

    def _headless_plan(self) -> Plan:
        """Read the plan of the command line, or make one of the arguments. Raises ``LoadError``."""
        options = self._options
        if options.plan is None:
            load = self._load_of(vars(options))
            seconds = seconds_of(options.run_time)
            return plan_of(load, load.name or utc_run_id("run"), seconds, self._settings)
        plan = read_plan(Path(options.plan))
        options.num_users, options.spawn_rate = plan.load.places, plan.load.spawn_per_second
        options.run_time = plan.seconds
        # The nodes count the flows that are in flight when the load stops, so the generator has to wait for them.
        self._environment.stop_timeout = self._settings.flow_timeout_seconds + STOP_MARGIN_SECONDS
        return plan

    def _web_status(self) -> WebUiStatus:
        state: WebUiState = "idle"
        if self._preparing:
            state = "set-up"
        elif self.run is not None:
            state = "stopping" if self.run.is_stopping else "running"
        return WebUiStatus(state, None if self.run is None else self.run.plan.identity)

    def _prepare_form(self, values: Mapping[str, Any]) -> None:
        """Plan the next run from the web UI, do its set-up, and wait until it is counted. Raises ``LoadError``."""
        self._preparing = True
        try:
            web_ui.require_free(self._settings)
            self._settle()
            self._run_time_seconds = seconds_of(values.get("run_time"))
            plan = plan_of(self._load_of(values), utc_run_id("web"), self._run_time_seconds, self._settings)
            self._prepare_run(plan)
            if self._setup:
                self._settled_at = time.monotonic() + SETTLE_SECONDS
                self._settle()
        finally:
            self._preparing = False

    def _settle(self) -> None:
        gevent.sleep(max(0.0, self._settled_at - time.monotonic()))

    def _prepare_run(self, plan: Plan) -> None:
        """Do the set-up of the next run. Raises ``LoadError``."""
        plan.check()
        if is_taken(self._settings.rows, plan.identity):
            raise RowsError(f"run id {plan.identity!r} is already used: {self._settings.rows} contains files with it")
        self._plan, self._setup = run_setup(plan, BridgeClient(self._settings.bridge_url))

    def _load_of(self, values: Mapping[str, Any]) -> Load:
        return load_of(values, self._settings)

    def _hold(self, plan: Plan) -> None:
        """Report that the set-up is done, and wait for the signal to begin. Raises ``LoadError`` after a timeout."""
        rows, run_id = self._settings.rows, plan.identity
        write_whole(ready_path(rows, run_id), {"setup": [asdict(step) for step in self._setup]})
        logger.info("Set-up done; the load waits for %s", go_path(rows, run_id))
        deadline = time.monotonic() + HOLD_SECONDS_MAX
        while not go_path(rows, run_id).exists():
            if time.monotonic() > deadline:
                raise SetupError(
                    f"the load waited {HOLD_SECONDS_MAX:.0f} s for {go_path(rows, run_id)}, which did not appear"
                )
            gevent.sleep(HOLD_POLL_SECONDS)

    def _check_form(self) -> Response | None:
        """Check the form that starts or edits a run before Locust gets it. An answer is shown below the form."""
        if request.endpoint != "locust.swarm":
            return None
        try:
            # Fields that the form leaves out keep their values, except the run time, which is then unlimited.
            form = request.form.to_dict()
            self._accept({**vars(self._options), "run_time": "", **form}, form)
        except LoadError as error:
            logger.error("No run started: %s", error.message)
            return jsonify(
                {"success": False, "message": "; ".join(map(str, error.problems)), "host": self._environment.host}
            )
        return None

    def _accept(self, values: Mapping[str, Any], form: Mapping[str, str]) -> None:
        """Prepare or change a run as the form says. ``values`` has all options. Raises ``LoadError``."""
        if self._preparing:
            raise LoadError("the set-up of a run is in progress; the run starts when it has finished")
        if self.run is None:
            self._prepare_form(values)
        elif self.run.is_stopping:
            raise LoadError("the last run is still waiting for its flows to end; wait until it has stopped")
        elif not _has_only_other_users(self._load_of(values), self.run.plan.load):
            raise LoadError("a run is in progress; stop it first, unless you change only the number of users")
        elif users_of(form) not in (None, self._environment.runner.target_user_count) and has_spawn_rate(form):
            self._users_changed = self._users_changing = True

    # --- a run --------------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        try:
            if self._plan is None:
                # The run was started by --autostart.
                self._prepare_form(vars(self._options))
            assert self._plan is not None
            plan, self._plan = self._plan, None
            if not self._headless:
                web_ui.keep_plan(self._settings, plan)
            self.run = self._run_of(plan)
        except LoadError as error:
            self._exit_code = EXIT_UNUSABLE
            raise StopTest(error.message) from error
        self._users_changed = self._users_changing = False
        metrics.show_run(plan.identity, plan.workload.name, plan.node_names, plan.words)
        self._exit_code = 0
        self._ended.clear()

    def _run_of(self, plan: Plan) -> Any:
        return ProcessRun(plan, writer_for(plan, self._settings.rows))

    def _spawned(self) -> None:
        self._users_changing = False
        if self.run is not None:
            self.run.spawned(self._environment.runner.user_count)

    def _stopping(self) -> None:
        if self.run is None:
            return
        limit = self._run_time_seconds
        if self._quitting:
            reason = "interrupted"
        elif self._headless and self.run.plan.load.is_counted:
            reason = "completed" if self.run.is_done else OUT_OF_TIME
        elif self._headless or (limit and self.run.elapsed_seconds >= limit - TICK_SECONDS):
            reason = "completed"
        else:
            reason = "stopped"
        self.run.stopping(reason)

    def _end(self) -> None:
        """Close the run, if there is one. It is also called at exit, to cover unexpected ways out."""
        run = self.run
        if run is None or run.closed:
            return
        try:
            self._close(run)
            logger.info("Run %s ended: %s", run.plan.identity, run.outcome)
        except LoadError as error:
            self.fail(error.message)
        except Exception as error:
            logger.exception("The run could not be closed")
            self.fail(f"its rows may be incomplete: {type(error).__name__}: {error}")
        finally:
            metrics.hide_runs()
            self.run = None
            self._ended.set()
            self._settled_at = time.monotonic() + SETTLE_SECONDS

    def _close(self, run: Any) -> None:
        process = run.close()
        self._write_end(run.plan, [process], process.end.exit_reason)

    def _write_end(self, plan: Plan, processes: list[ProcessEnd], exit_reason: str) -> RunEnd:
        end = end_of(processes, self._setup, exit_reason)
        spawned_at = None if self._users_changing else end.spawned_at
        end = replace(end, spawned_at=spawned_at, users_changed=self._users_changed)
        write_whole(end_path(self._settings.rows, plan.identity), end.as_dict())
        if not (self._headless or end.requests):
            web_ui.remove(self._settings.rows.glob(f"{plan.identity}.*"))
        return end

    def _stop_after_failure(self, message: str) -> None:
        self._stop_later()

    def _stop_later(self) -> None:
        runner = self._environment.runner
        gevent.spawn(runner.quit if self._headless else runner.stop)

    # --- the process --------------------------------------------------------------------------------------------------

    def _quit(self) -> None:
        """Stop the run before the process exits, and wait for its flows at most as long as --stop-timeout."""
        self._quitting = True
        if self.run is not None:
            self._exit_code = self._exit_code or EXIT_INTERRUPTED
            if self.run.is_stopping:
                self._ended.wait(self._environment.stop_timeout + 10)
            else:
                self._stop_runner()
        broken = bool(self._environment.runner.exceptions) or log.unhandled_greenlet_exception
        exit_code = self._exit_code if self._headless else 0
        # Failed requests do not change the exit status: they are results, which the reader of the rows judges.
        self._environment.process_exit_code = exit_code or (EXIT_FAILED if broken else 0)

    def _stop_runner(self) -> None:
        self._environment.runner.stop()

    def _interrupt(self) -> None:
        """Handle Ctrl-C. The first stops the run and waits for its flows; the second stops waiting."""
        if self._quitting:
            self._wait_no_longer()
        else:
            gevent.get_hub().handle_system_error(KeyboardInterrupt, KeyboardInterrupt())

    def _wait_no_longer(self) -> None:
        self._environment.runner.user_greenlets.kill(block=False)

    def _tick_run(self) -> None:
        self.run.tick()
        # The run may have ended meanwhile: another greenlet gets its turn where a tick waits.
        if self.run is not None:
            self._end_early()

    def _end_early(self) -> None:
        """End a run that is done; a headless one if the stop file exists, or if all requests fail in the same way."""
        run = self.run
        if run.is_stopping or not (self._headless or run.is_done):
            return
        if run.is_done:
            run.stopping("completed")
        elif stop_path(self._settings.rows, run.plan.identity).exists():
            run.stopping("enough")
        elif run.elapsed_seconds >= SAME_FAILURE_SECONDS_MIN and run.same_failure is not None:
            logger.error("Run %s: all requests have failed: %s", run.plan.identity, run.same_failure)
            run.stopping(ALL_FAILED)
        else:
            return
        self._stop_later()

    def _tick(self) -> NoReturn:
        while True:
            gevent.sleep(TICK_SECONDS)
            if self.run is not None:
                try:
                    self._tick_run()
                    if self.run is not None and not self._headless:
                        web_ui.make_room(self._settings, self._settings.web_loads_max, self.run.plan.identity)
                except LoadError as error:
                    self.fail(error.message)
                except Exception as error:
                    # Without ticks, no row would be written, nothing would end the run early, and nobody would know.
                    logger.exception("The run could not be looked after")
                    self.fail(f"its rows may be incomplete: {type(error).__name__}: {error}")

    def _tick_ended(self, tick: gevent.Greenlet) -> None:
        """Fail the run if nothing looks after it any more. Only the end of the process ends the ticks otherwise."""
        if not self._quitting:
            reason = "it was killed" if tick.exception is None else repr(tick.exception)
            logger.error("No run is looked after any more: %s", reason)
            self.fail(f"its rows may be incomplete: nothing looks after it any more: {reason}")


def _has_only_other_users(load: Load, other: Load) -> bool:
    return load.updated(users=other.users, pool=other.pool) == other.updated(workers=load.workers)


def leave(error: LoadError) -> NoReturn:
    """Print an error and exit before any load has started: status 1 if the set-up failed, otherwise 2."""
    print(f"locust: error: {error.message}", file=sys.stderr)
    sys.exit(EXIT_FAILED if isinstance(error, SetupError) else EXIT_UNUSABLE)
