"""Adds up the stacks of a profile: the components, with the method in which each spends the most."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from corda_lab.profile.components import RUNNING, Component, is_idle, is_java, place_of, plain, state_of
from corda_lab.profile.events import KINDS
from corda_lab.profile.stacks import Stack
from corda_lab.results.profiles import ComponentShare, Event, Unit


@dataclass(frozen=True)
class Totals:
    """The sums of a profile's stacks."""

    total: float
    idle_percent: float
    components: tuple[ComponentShare, ...]
    states: dict[str, float]


def summarise(event: Event, stacks: Iterable[Stack]) -> Totals:
    """Add up the stacks of a profile by component, and those of the wall clock also by the state of their threads."""
    values: Counter[Component] = Counter()
    methods: dict[Component, Counter[tuple[str, str]]] = defaultdict(Counter)
    states: Counter[str] = Counter()
    total = 0
    for stack in stacks:
        total += stack.value
        if _is_idle(event, stack):
            continue
        component, frame = place_of(stack.thread, stack.frames)
        innermost = plain(stack.frames[-1]) if stack.frames else ""
        values[component] += stack.value
        methods[component][(frame, innermost)] += stack.value
        states[state_of(stack.frames)] += stack.value
    working = sum(values.values())
    factor = KINDS[event].factor
    shares = tuple(
        _share(component, value * factor, 100 * value / working, methods[component])
        for component, value in values.most_common()
    )
    by_state = {name: round(100 * value / working, 1) for name, value in states.most_common()}
    idle_percent = round(100 * (total - working) / total, 1) if total else 0.0
    return Totals(total * factor, idle_percent, shares, by_state if event is Event.WALL else {})


def _is_idle(event: Event, stack: Stack) -> bool:
    """Whether a thread waits for something to do. Samples of CPU time and of allocations never show that."""
    if event is Event.WALL:
        return state_of(stack.frames) != RUNNING and is_idle(stack.thread, stack.frames)
    return event is Event.LOCK and is_idle(stack.thread, stack.frames)


def _share(
    component: Component, value: float, share_percent: float, methods: Counter[tuple[str, str]]
) -> ComponentShare:
    by_method: Counter[str] = Counter()
    for (method, _), count in methods.items():
        by_method[method] += count
    hottest = by_method.most_common(1)[0][0]
    below = Counter({frame: count for (method, frame), count in methods.items() if method == hottest})
    return ComponentShare(
        name=component.name,
        meaning=component.meaning,
        share_percent=round(share_percent, 2),
        value=round(value, 6),
        method=short_frame(hottest),
        innermost=short_frame(below.most_common(1)[0][0]),
    )


def short_frame(frame: str) -> str:
    """Return a frame without its package or folder: ``net/corda/Node.run`` becomes ``Node.run``."""
    return frame.rpartition("/")[2] if is_java(frame) or frame.startswith("/") else frame


def unit_of(event: Event) -> Unit:
    """The unit of the values of an event."""
    return KINDS[event].unit
