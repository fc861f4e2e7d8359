"""Notes of every load that a user starts in the web UI what makes a run of it: options, counters, numbers of users.

``lab_workload.by_hand`` has the files that are written, ``kept_loads`` their number and size, ``counters`` how the
counters are read.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import gevent

from lab_load.bridge_client import BridgeClient
from lab_load.counters import CounterReader
from lab_load.generator_settings import MEBIBYTE, GeneratorSettings
from lab_load.kept_loads import kept_loads, make_room, remove, run_of_command_line
from lab_load.row_writer import RowsError, write_whole
from lab_workload.by_hand import (
    AFTER_SUFFIX,
    LOAD_SUFFIX,
    LoadByHand,
    UsersChange,
)
from lab_workload.plan import Plan
from lab_workload.problems import LoadError
from lab_workload.run_end import PreparedStep

REST_BEFORE_SECONDS_MAX = 10.0
"""How long a load waits for the last flows of its set-up."""
REST_AFTER_SECONDS_MAX = 120.0
"""How long the counters after a load wait for its last flows, as in ``lab run``."""
REST_SECONDS_PER_USER = 0.2
COUNTING_SECONDS_MAX = 10.0
"""How long the start of a load waits for the counters after the load before it."""

logger = logging.getLogger(__name__)


class ByHand:
    """The loads by hand of this process, one after another. The generator says when each of them goes on."""

    def __init__(self, settings: GeneratorSettings) -> None:
        self.generator_started_at = time.time()
        self._settings = settings
        self._bridge = BridgeClient(settings.bridge_url)
        self._reader = CounterReader(self._bridge, settings.network)
        self._prepared: LoadByHand | None = None
        """The next load, after its set-up."""
        self._load: LoadByHand | None = None
        """The load in progress."""
        self._counted: LoadByHand | None = None
        """The load whose counters are being read, after its end."""
        self._counting: gevent.Greenlet | None = None

    @property
    def is_counting(self) -> bool:
        """Whether the counters after a load are being read."""
        return self._counted is not None

    @property
    def identity(self) -> str | None:
        """The id of the load in progress, or whose counters are being read; None if there is none."""
        load = self._load or self._counted
        return load.plan.identity if load else None

    def require_free(self) -> None:
        """Check that a load may start. Raises ``LoadError`` if it would spoil the counts of another one."""
        if self._counting is not None:
            self._counting.join(timeout=COUNTING_SECONDS_MAX)
        if self._counted is not None:
            raise LoadError("the last load cannot be counted yet, because its flows are still in flight; wait for them")
        run = run_of_command_line(self._settings.rows, now=time.time())
        if run is not None:
            raise LoadError(f"the run {run} of the command line is in progress; wait for it, or stop it there")
        busy = {node: count for node, count in self._bridge.outstanding().items() if count}
        if busy:
            counted = ", ".join(f"{count} at {node}" for node, count in busy.items())
            raise LoadError(f"flows are still in flight ({counted}); wait until they have ended")

    def prepare(
        self,
        plan: Plan,
        setup: Sequence[PreparedStep],
        form: Mapping[str, str],
    ) -> None:
        """Read the counters before a load, right after its set-up."""
        self._prepared = LoadByHand(
            # What was prepared may be large, and nobody needs it afterwards.
            plan=plan.model_copy(update={"results": {}}),
            began_at=time.time(),
            generator_started_at=self.generator_started_at,
            form=dict(form),
            users=[UsersChange(plan.load.places, time.time())],
            setup=list(setup),
            before=self._reader.read(plan.subject.vault_places, seconds_max=REST_BEFORE_SECONDS_MAX),
        )

    def begin(self) -> None:
        """Note that the prepared load begins. The oldest loads go if there are too many. Raises ``RowsError``."""
        load, self._prepared = self._prepared, None
        if load is None:
            return
        settings = self._settings
        make_room(settings.rows, loads_max=settings.web_loads_max - 1, bytes_max=settings.web_rows_bytes_max)
        now = time.time()
        self._load = replace(load, began_at=now, users=[replace(load.users[0], asked_at=now)])
        _write_load(settings.rows, self._load)

    def users_asked(self, users: int) -> None:
        """Note that a user has changed the number of users. Raises ``RowsError``."""
        if self._load is not None and users != self._load.users[-1].users:
            self._note_users([*self._load.users, UsersChange(users, time.time())])

    def users_spawned(self, users: int) -> None:
        """Note that all users are running. Raises ``RowsError``."""
        if self._load is None:
            return
        *before, last = self._load.users
        if last.spawned_at is None:
            self._note_users([*before, replace(last, users=users, spawned_at=time.time())])
        elif last.users != users:
            self._note_users([*before, last, UsersChange(users, time.time(), time.time())])

    def _note_users(self, users: list[UsersChange]) -> None:
        assert self._load is not None
        self._load = replace(self._load, users=users)
        # In a thread of its own, because the disk must not delay the load.
        gevent.get_hub().threadpool.apply(_write_load, (self._settings.rows, self._load))

    def check_room(self) -> None:
        """Remove the oldest loads if all have become too large. Raises ``RowsError`` if the load in progress is."""
        settings = self._settings
        if self._load is None or make_room(
            settings.rows,
            loads_max=settings.web_loads_max,
            bytes_max=settings.web_rows_bytes_max,
            current=self._load.plan.identity,
        ):
            return
        limit = settings.web_rows_bytes_max // MEBIBYTE
        raise RowsError(f"its rows have reached the limit of {limit} MiB (WEB_ROWS_MAX_MIB in .env)")

    def ended(self) -> None:
        """Note that the load has ended, and begin to read the counters after it. A load without rows is forgotten."""
        load, self._load = self._load, None
        if load is None:
            return
        identity = load.plan.identity
        kept = [one for one in kept_loads(self._settings.rows) if one.identity == identity]
        if not any(path.suffix == ".ndjson" and path.stat().st_size for one in kept for path in one.paths):
            logger.info("%s had no request, so nothing of it is kept", identity)
            for one in kept:
                remove(one)
            return
        self._counted = load
        self._counting = gevent.spawn(self._count, load)

    def _count(self, load: LoadByHand) -> None:
        users, identity = max(change.users for change in load.users), load.plan.identity
        try:
            after = self._reader.read(
                load.plan.subject.vault_places, seconds_max=REST_AFTER_SECONDS_MAX + REST_SECONDS_PER_USER * users
            )
            write_whole(after_path(self._settings.rows, identity), after.as_dict())
            logger.info("For a report of %s: scripts/lab report web-ui", identity)
        except LoadError as error:
            logger.error("%s cannot be counted: %s", identity, error.message)
        finally:
            self._counted = self._counting = None


def after_path(directory: Path, identity: str) -> Path:
    """Return the path of the file with the counters after a load."""
    return directory / f"{identity}{AFTER_SUFFIX}"


def _write_load(directory: Path, load: LoadByHand) -> None:
    write_whole(directory / f"{load.plan.identity}{LOAD_SUFFIX}", load.as_dict())
