"""The pool of open load: places that wait for arrivals, and the one greenlet that hands arrivals to them."""

import time

import gevent
from gevent.event import AsyncResult, Event

from lab_load.schedule import Schedule

SLEEP_SECONDS_MAX = 0.1
"""Waits up to this long are slept, which costs less than waiting for the end of the load as well."""


class Place:
    """A place in a pool: one request at a time."""

    def __init__(self, pool: "Pool") -> None:
        self._pool = pool
        self._turn: AsyncResult | None = None
        self._has_left = False

    def wait_turn(self) -> float | None:
        """Wait for an arrival: its intended time, or None when this place will get none any more."""
        self._turn = AsyncResult()
        if self._has_left or not self._pool.add_free(self):
            return None
        try:
            return self._turn.get()  # type: ignore[no-any-return]
        except BaseException:
            # Killed while it waited: a place that is not there must not be given anything.
            self._pool.remove_free(self)
            raise

    def give(self, intended: float | None) -> None:
        """End the wait."""
        assert self._turn is not None
        self._turn.set(intended)

    def leave(self) -> None:
        """Take no arrival any more; one that was given already is still made."""
        self._has_left = True
        if self._pool.remove_free(self):
            self.give(None)


class Pool:
    """Hands every arrival to a free place at its intended time.

    An arrival that finds no free place waits for one; when it is too late by then, it is dropped. The place that became
    free last is taken first, so that few connections are in use when the load is low.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.free_min: int | None = None
        """Fewest free places that an arrival found."""
        self._free: list[Place] = []
        self._freed = Event()
        self._ended = Event()
        self._dispatcher: gevent.Greenlet | None = None

    def begin(self) -> None:
        """Start the schedule, once; later calls change nothing."""
        if self._dispatcher is None and not self._ended.is_set():
            self.schedule.begin(time.monotonic())
            self._dispatcher = gevent.spawn(self._dispatch)

    def add_free(self, place: Place) -> bool:
        """Whether ``place`` may wait; from then on it is given an arrival, or None at the end."""
        if self._ended.is_set():
            return False
        self._free.append(place)
        self._freed.set()
        return True

    def remove_free(self, place: Place) -> bool:
        """Whether ``place`` was waiting; it is not any more."""
        if place not in self._free:
            return False
        self._free.remove(place)
        return True

    def end(self) -> None:
        """Hand out nothing any more: wake every place that waits."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._freed.set()
        if not self._free:
            # Whoever waits for a place now will never have one. Where places are free, nobody waits: an arrival that is
            # due this very moment was not offered, for the load ended first.
            self.schedule.drop_due(time.monotonic())
        self.schedule.end()
        waiting, self._free = self._free, []
        for place in waiting:
            place.give(None)

    def _dispatch(self) -> None:
        schedule = self.schedule
        while not self._ended.is_set():
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
                self._freed.wait(patience)
