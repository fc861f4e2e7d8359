"""The pool of open load: places that wait for arrivals, and the one greenlet that hands arrivals to them."""

import time

import gevent
from gevent.event import AsyncResult, Event

from lab_load.schedule import Schedule


class Pool:
    """Hands every arrival to a free place at its intended time.

    An arrival that finds no free place waits for one; when it is too late by then, it is dropped. The place that became
    free last is taken first, so that few connections are in use when the load is low.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.free_min: int | None = None
        """Fewest free places that an arrival found."""
        self._free: list[AsyncResult] = []
        self._freed = Event()
        self._ended = Event()
        self._dispatcher: gevent.Greenlet | None = None

    def begin(self) -> None:
        """Start the schedule, once; later calls change nothing."""
        if self._dispatcher is None and not self._ended.is_set():
            self.schedule.begin(time.monotonic())
            self._dispatcher = gevent.spawn(self._dispatch)

    def wait_turn(self) -> float | None:
        """Wait as a free place for an arrival: its intended time, or None when there will be none."""
        if self._ended.is_set():
            return None
        turn = AsyncResult()
        self._free.append(turn)
        self._freed.set()
        try:
            return turn.get()  # type: ignore[no-any-return]
        except BaseException:
            # Killed while it waited: a place that is not there must not be given anything.
            if turn in self._free:
                self._free.remove(turn)
            raise

    def end(self) -> None:
        """Hand out nothing any more: wake every place that waits."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._freed.set()
        self.schedule.end(time.monotonic())
        for turn in self._free:
            turn.set(None)
        self._free.clear()

    def _dispatch(self) -> None:
        schedule = self.schedule
        while not self._ended.is_set():
            delay = schedule.next_at - time.monotonic()
            if delay > 0:
                # Short ones are slept, which costs less than waiting for the end, too.
                if delay < 0.1:
                    gevent.sleep(delay)
                else:
                    self._ended.wait(delay)
                continue
            free = len(self._free)
            self.free_min = free if self.free_min is None else min(free, self.free_min)
            patience = schedule.droppable_at - time.monotonic()
            if patience < 0:
                schedule.drop()
            elif self._free:
                self._free.pop().set(schedule.take())
            else:
                self._freed.clear()
                self._freed.wait(patience)
