"""The pool of open load and of bursts: places that wait for arrivals, and a greenlet that assigns arrivals to them."""

import math
import time

import gevent
from gevent.event import AsyncResult, Event

from lab_load.schedule import Schedule

SLEEP_SECONDS_MAX = 0.1
"""Up to this time, the dispatcher sleeps. That is cheaper than a wait that the end of the load can interrupt."""


class Place:
    """A place in a pool. It makes one request at a time."""

    def __init__(self, pool: "Pool") -> None:
        self._pool = pool
        self._turn: AsyncResult | None = None
        self._has_left = False

    def wait_turn(self) -> float | None:
        """Wait for an arrival and return its intended time; None if this place gets no more arrivals."""
        self._turn = AsyncResult()
        if self._has_left or not self._pool.add_free(self):
            return None
        try:
            return self._turn.get()  # type: ignore[no-any-return]
        except BaseException:
            # This greenlet was killed while it waited, so it must not get an arrival any more.
            self._pool.remove_free(self)
            raise

    def give(self, intended: float | None) -> None:
        assert self._turn is not None
        self._turn.set(intended)

    def leave(self) -> None:
        """Accept no more arrivals. The request of an arrival that was already assigned is still made."""
        self._has_left = True
        if self._pool.remove_free(self):
            self.give(None)


class Pool:
    """Assigns every arrival to a free place at its intended time.

    If no place is free, the arrival waits for one. If it is then too late, it is dropped. The place that became free
    last is used first, so that a low load uses few connections.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.free_min: int | None = None
        """The lowest number of free places at any arrival."""
        self._free: list[Place] = []
        self._freed = Event()
        self._ended = Event()
        self._dispatcher: gevent.Greenlet | None = None

    def begin(self) -> None:
        """Start the schedule. Only the first call has an effect."""
        if self._dispatcher is None and not self._ended.is_set():
            self.schedule.begin(time.monotonic())
            self._dispatcher = gevent.spawn(self._dispatch)

    @property
    def failure(self) -> BaseException | None:
        """What ended the dispatcher before the schedule; None as long as arrivals are assigned."""
        failure: BaseException | None = None if self._dispatcher is None else self._dispatcher.exception
        return failure

    def add_free(self, place: Place) -> bool:
        """Let ``place`` wait for an arrival, or for None at the end. Return False if the load has ended."""
        if self._ended.is_set():
            return False
        self._free.append(place)
        self._freed.set()
        return True

    def remove_free(self, place: Place) -> bool:
        """Let ``place`` wait no longer. Return whether it was waiting."""
        if place not in self._free:
            return False
        self._free.remove(place)
        return True

    def end(self) -> None:
        """Assign no more arrivals, and wake all waiting places."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._freed.set()
        if not self._free:
            # Arrivals that wait for a place now will never get one. If places are free, no arrival is waiting: one that
            # is due at this moment does not count as offered, because the load ended first.
            self.schedule.drop_due(time.monotonic())
        self.schedule.end()
        waiting, self._free = self._free, []
        for place in waiting:
            place.give(None)

    def _dispatch(self) -> None:
        """Assign the arrivals of the schedule, until it has no more or the load has ended."""
        schedule = self.schedule
        while schedule.next_at < math.inf:
            delay = schedule.next_at - time.monotonic()
            if delay > SLEEP_SECONDS_MAX:
                self._ended.wait(delay)
                continue
            if delay > 0:
                gevent.sleep(delay)
                continue
            free = len(self._free)
            self.free_min = free if self.free_min is None else min(free, self.free_min)
            patience = schedule.droppable_at - time.monotonic()
            if patience < 0:
                schedule.drop()
            elif self._free:
                self._free.pop().give(schedule.take())
            else:
                self._freed.clear()
                self._freed.wait(None if patience == math.inf else patience)


class BurstPool(Pool):
    """Assigns the arrivals of one burst after another. Each waits for a place, unless the load ends first.

    A burst begins when every request of the last one has ended, and ``rest_seconds`` have passed since. The schedule is
    one of ``burst_offsets``.
    """

    def __init__(self, schedule: Schedule, *, requests: int, bursts: int, rest_seconds: float) -> None:
        super().__init__(schedule)
        self.is_done = False
        """Whether every request of every burst has ended."""
        self._requests = requests
        self._bursts = bursts
        self._rest_seconds = rest_seconds
        self._requests_ended = 0
        self._over = Event()

    def note_end(self) -> None:
        self._requests_ended += 1
        if self._requests_ended % self._requests == 0:
            self._over.set()

    def end(self) -> None:
        """See ``Pool``."""
        super().end()
        self._over.set()

    def _dispatch(self) -> None:
        for number in range(1, self._bursts + 1):
            if number > 1:
                self._ended.wait(self._rest_seconds)
                if self._ended.is_set():
                    return
                self.schedule.begin(time.monotonic())
            self._over.clear()
            super()._dispatch()
            while self._requests_ended < number * self._requests and not self._ended.is_set():
                self._over.wait()
        self.is_done = not self._ended.is_set()
