"""A load by hand as the load of a step: its options, the part of it that is measured, and its counters.

A form has no measuring window, and the number of users may change while the load runs. So the longest time with the
same number of users is measured, from the end of its warm-up on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from corda_lab.errors import LabError
from corda_lab.stats import steady
from corda_lab.steps.counts import BRIDGE, Snapshot, difference, judged
from corda_lab.steps.entry import CountsEntry
from corda_lab.steps.load import with_limit
from corda_lab.steps.reasons import Reason, reason
from corda_lab.text.words import listed
from lab_workload.by_hand import Counters, LoadByHand, UsersChange
from lab_workload.load import Load, Stopping
from lab_workload.run_end import RunEnd
from lab_workload.subject import Subject

WARM_UP_SHARE_MAX = 0.5
"""The longest warm-up that is looked for, as a share of the time with the same number of users."""
TOLERANCE_SECONDS = 0.5
"""By how much a load may be shorter than a wanted window. The generator looks at the clock once a second."""


@dataclass(frozen=True)
class WantedWindow:
    """The window that a user wants of a load, in seconds. None: the warm-up that is found, and all of the rest."""

    warm_up_seconds: float | None = None
    duration_seconds: float | None = None

    @property
    def is_given(self) -> bool:
        return self.warm_up_seconds is not None or self.duration_seconds is not None


@dataclass(frozen=True)
class Stretch:
    """A time with the same number of users, in unix seconds. ``spawned_at`` is when all of them were running."""

    users: int
    began_at: float
    ended_at: float
    spawned_at: float | None

    @property
    def seconds(self) -> float:
        return self.ended_at - self.began_at

    @property
    def spawning_seconds(self) -> float:
        """How long users were starting or stopping; 0 if it is not known when that had ended."""
        return min(self.seconds, max(0.0, (self.spawned_at or self.began_at) - self.began_at))

    @property
    def full_seconds(self) -> float:
        return 0.0 if self.spawned_at is None else self.seconds - self.spawning_seconds


@dataclass(frozen=True)
class MeasuredByHand:
    """What is measured of a load by hand: its options as those of a step, and the window.

    ``warm_up`` and ``until`` are those of ``Observed``. ``repeat`` are the options with which ``lab run`` repeats it.
    """

    options: Load
    warm_up: steady.WarmUp | None
    until: float | None
    repeat: Load
    warnings: tuple[Reason, ...] = ()


def stretches(users: Sequence[UsersChange], end: RunEnd) -> list[Stretch]:
    """The times with the same number of users, in order. The first begins with the load."""
    begins = [end.started_at, *(change.asked_at for change in users[1:])]
    ends = [*begins[1:], end.stop_at]
    found = [
        Stretch(change.users, max(began, end.started_at), min(ended, end.stop_at), change.spawned_at)
        for change, began, ended in zip(users, begins, ends, strict=True)
    ]
    return [one for one in found if one.seconds > 0]


def longest(found: Sequence[Stretch]) -> Stretch:
    """The stretch in which all users were running for the longest time; of equal ones the last. Raises LabError."""
    if not found:
        raise LabError("The load was stopped when it began, so nothing of it can be measured", exit_code=1)
    return max(found, key=lambda one: (one.full_seconds, one.seconds, one.began_at))


def measured(load: LoadByHand, end: RunEnd, completions: Sequence[float], wanted: WantedWindow) -> MeasuredByHand:
    """What is measured of a load. ``completions`` are in unix seconds. Raises LabError if it is too short."""
    workers = len([worker for worker in end.workers if worker.index])
    if options_of(load, 1, workers).is_counted:
        return _counted(load, workers, wanted)
    stretch = longest(stretches(load.users, end))
    options = options_of(load, stretch.users, workers)
    offset = stretch.began_at - end.started_at
    warm_up = warm_up_of(stretch, completions, wanted)
    left = stretch.seconds - warm_up.cut_seconds
    if wanted.duration_seconds is not None and wanted.duration_seconds > left + TOLERANCE_SECONDS:
        raise LabError(
            f"--duration: {wanted.duration_seconds:g}s is longer than the {left:.1f} s after the warm-up",
            "Give a shorter one, or leave it out.",
        )
    duration = min(left, wanted.duration_seconds or left)
    is_fixed = wanted.warm_up_seconds is not None
    least, most = (warm_up.cut_seconds,) * 2 if is_fixed else warm_up_limits(stretch)
    return MeasuredByHand(
        options=options.updated(
            warm_up_seconds=offset + most,
            duration_seconds=duration,
            stopping=None if is_fixed else Stopping(warm_up_seconds_min=offset + least),
        ),
        warm_up=replace(warm_up, cut_seconds=offset + warm_up.cut_seconds),
        until=stretch.began_at + warm_up.cut_seconds + duration,
        # The command counts in whole seconds.
        repeat=options.updated(
            warm_up_seconds=float(round(warm_up.cut_seconds)),
            duration_seconds=float(max(1, round(duration))),
        ),
        warnings=users_warnings(load, stretch.users),
    )


def _counted(load: LoadByHand, workers: int, wanted: WantedWindow) -> MeasuredByHand:
    """What is measured of a load that ends after a number of flows: from the first to the last of them."""
    if wanted.is_given:
        raise LabError(
            "--warm-up and --duration: are not for a load that ends after a number of flows", "Leave them out."
        )
    users = load.users[0].users
    options = with_limit(options_of(load, users, workers))
    return MeasuredByHand(options, None, None, options, users_warnings(load, users))


def users_warnings(load: LoadByHand, measured_users: int) -> tuple[Reason, ...]:
    if len(load.users) == 1:
        return ()
    users = listed([str(change.users) for change in load.users])
    return (reason("users_changed", users=users, measured=measured_users),)


def warm_up_limits(stretch: Stretch) -> tuple[float, float]:
    """The shortest and the longest warm-up that is looked for: users that start are warm-up."""
    least = stretch.spawning_seconds
    return least, max(least, WARM_UP_SHARE_MAX * stretch.seconds)


def warm_up_of(stretch: Stretch, completions: Sequence[float], wanted: WantedWindow) -> steady.WarmUp:
    """The warm-up of a stretch, from its begin on: the wanted one, or else the one that is found. Raises LabError."""
    if wanted.warm_up_seconds is None:
        least, most = warm_up_limits(stretch)
        return steady.warm_up_end(
            completions,
            started_at=stretch.began_at,
            stopped_at=stretch.ended_at,
            seconds_min=least,
            seconds_max=most,
            bin_seconds=steady.bin_seconds_for(stretch.seconds),
        )
    if wanted.warm_up_seconds >= stretch.seconds:
        raise LabError(
            f"--warm-up: {wanted.warm_up_seconds:g}s is not shorter than the {stretch.seconds:.1f} s of the load",
            "Give a shorter one, or leave it out.",
        )
    return steady.WarmUp(wanted.warm_up_seconds, True)


def options_of(load: LoadByHand, users: int, workers: int = 0) -> Load:
    """The options of the same ``lab run``, with its default times. Without ``workers``, it is a single process."""
    asked, nodes = load.plan.load, load.plan.subject.nodes
    times = {name: Load.model_fields[name].default for name in ("duration_seconds", "warm_up_seconds")}
    places = {"pool": users if users < asked.users else None} if asked.is_burst else {"users": users}
    one, several = (asked.node or nodes[0], None) if len(nodes) == 1 else (asked.node, nodes)
    return asked.updated(**times, **places, workers=workers or None, node=one, nodes=several)


def snapshot_of(counters: Counters, subject: Subject) -> Snapshot:
    """The counters as ``lab run`` has them. What was not read is missing."""
    told = counters.bridge_completed or {}
    started = {node: at.started_at for node, at in counters.nodes.items()} | {BRIDGE: counters.bridge_started_at}
    return Snapshot(
        bridge_completed={
            one.node: {
                flow: sum(told.get(one.node, {}).get(name, 0) for name in {flow, short})
                for flow, short in one.flows.items()
            }
            for one in subject.each
        },
        node_success={node: at.succeeded for node, at in counters.nodes.items()},
        vault_unconsumed={(one.state, one.node): one.unconsumed for one in counters.vaults},
        started_at={name: at for name, at in started.items() if at is not None},
    )


NOTHING_READ = Counters(read_at=0.0, at_rest=True, rest_seconds=0.0)


def counted(
    load: LoadByHand, after: Counters | None, subject: Subject, succeeded: dict[str, dict[str, int]]
) -> tuple[CountsEntry, tuple[Reason, ...]]:
    """The four counts over a load, and why some are not known. ``succeeded`` is that of ``counts.difference``."""
    before, why = load.before, []
    if after is None:
        why.append("the generator ended before it had read the counters after the load")
    elif not before.at_rest:
        why.append("flows of another origin, or of the set-up, were still in flight when the load began")
    if why:
        before = after = NOTHING_READ
    assert after is not None
    nodes = {*before.nodes} & {*after.nodes}
    unread = {node for node in subject.nodes if node not in nodes}
    if before.bridge_completed is None or after.bridge_completed is None:
        unread.add(BRIDGE)
    found = difference(
        snapshot_of(before, subject),
        snapshot_of(after, subject),
        subject,
        succeeded=succeeded,
        unread=frozenset(unread),
    )
    # A node that was not read before the load has no difference, although it may have counted.
    known = {node: flows for node, flows in found.node_flows.items() if node in nodes}
    why += [] if why else [*dict.fromkeys([*before.missing, *after.missing])]
    warnings = tuple(reason("counts_not_known", why=one) for one in why)
    changes = {"node_flows": known, "at_rest": after.at_rest, "rest_seconds": after.rest_seconds}
    return judged(found.model_copy(update=changes)), warnings
