"""Differences between the environments of two runs: what can change a value, apart from the system under test."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corda_lab.analysis.points import Point
from corda_lab.results.manifest import Environment
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.text.words import plural
from lab_workload.load import FIELDS, OPTIONS

LINK_MS_MAX, LINK_SHARE_MAX = 3.0, 0.1
"""Two measured round trips of a link count as equal within this many milliseconds, or within this share of the longer
one. The requested latency of a link is part of the shape."""

SPEED_SHARE_MAX = 0.05
"""Two processors are equally fast if their times for the same work differ by at most this share of the longer one."""

NOT_COMPARED = frozenset({"duration", "warm_up", "node", "nodes", "counterparty", "name"})
"""Options of a load that are compared as the place and the measuring of a step, or not at all."""

ABSENT = "–"
"""In place of a setting that only the other side has."""
UNKNOWN = "null"
"""The text of a fact that the operating system did not report."""

Circumstances = Mapping[str, Mapping[str, str]]
"""What values depend on: kind → name → text, the most important kind first."""


@dataclass(frozen=True)
class EnvironmentDifference:
    """One setting that differs between two runs, with its value in each of them."""

    kind: str
    name: str
    first: str
    second: str


def flat(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of nested dictionaries as (path, text), with the names of a path joined by dots."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from flat(inner, f"{prefix}.{name}" if prefix else str(name))
    else:
        yield prefix, json.dumps(value) if isinstance(value, list | bool) or value is None else str(value)


def circumstances(run: StoredRun, step: StepEntry) -> Circumstances:
    """Everything that the values of a step depend on, except chance and the system under test."""
    around = surroundings(run.environment(step))
    # A profiler costs the load CPU time.
    profiled = [profile.node for profile in run.manifest.profiles if profile.began_at is not None]
    return {
        "shape": around["shape"],
        "placement": around["placement"],
        "load": _load(run, step),
        "measuring": _measuring(run),
        "profiler": {"profiled nodes": ", ".join(profiled) or "none"},
        "speed": _speed(step),
        **around,
    }


def surroundings(environment: Environment) -> Circumstances:
    """The part of the circumstances that is known without a load."""
    shape, placed = dict(flat(environment.shape)), environment.placement
    if placed is None:
        placement = {"hosts": "one machine"}
    else:
        hosts = {f"host {name}": host.words for name, host in placed.hosts.items()}
        file = {"file": f"{placed.name}, {placed.sha256[:12]}", "overlay": placed.overlay}
        placement = {"hosts": plural(len(hosts), "host"), **file, **hosts}
    return {
        "shape": shape,
        "placement": placement,
        "images": dict(flat({name: image.model_dump() for name, image in environment.images.items()})),
        # With a placement, ``host`` is the machine that drove the load.
        **({} if placed else {"host": dict(flat(environment.host.model_dump()))}),
        "versions": dict(flat(environment.versions.model_dump())),
        "commit": dict(flat(environment.git.model_dump())),
        "stand-ins": {"images": ", ".join(environment.stand_ins)},
        "links": dict(flat({link.name: link.through_ms for link in environment.links_measured})),
        # Without the settings that are part of the shape, and without the ports of this machine.
        "settings": {
            name: text for name, text in flat(environment.settings) if name not in shape and not name.endswith("_PORT")
        },
    }


def _load(run: StoredRun, step: StepEntry) -> Mapping[str, str]:
    asked = {key: step.load.of_model(FIELDS[key]) for key in OPTIONS if key not in NOT_COMPARED}
    place = {"flow": step.flow, "node": step.node, "counterparty": step.counterparty}
    # Every repeat adds 1 to the seed, and any repeat may come first here. A search chooses its own rates, and each of
    # its steps adds 1 to the seed.
    chosen = {"rate": "searched", "seed": run.sweep.seed} if run.sweep.find_max else {}
    load = {**asked, "seed": step.load.seed - (step.repeat - 1), **chosen, "overrides": step.load.overrides}
    return dict(flat({**load, **place, "workload file": run.manifest.workload_files.get(step.workload, "")}))


def _measuring(run: StoredRun) -> Mapping[str, str]:
    """How a run measured: the rules of a sweep for warm-up, duration, repeats and order; the times of a single run."""
    if run.is_sweep:
        names = {"condition", "warm_up", "measure", "repeats", "fresh", "find_max"}
        rules = run.sweep.model_dump(mode="json", include=names, exclude_none=True)
        steps = {
            step.name: step.model_dump(include={"warm_up", "measure"}, exclude_none=True)
            for step in run.sweep.steps or ()
        }
        return dict(flat({**rules, "steps": steps}))
    step = run.steps[0]
    before = {"condition": f"at most {step.conditioning.seconds_max:g} s"} if step.conditioning else {}
    return {**before, "warm_up.seconds": f"{step.warm_up.seconds_max:g}", "repeats": "1"}


def _speed(step: StepEntry) -> Mapping[str, str]:
    """How long the fixed piece of work took before the load, on average over the cores, by the name of the work."""
    timed = step.calibration
    if timed is None or not timed.before:
        return {}
    return {f"ms of a piece of work ({timed.work})": f"{sum(timed.before.values()) / len(timed.before):.3f}"}


def environment_differences(
    first: StoredRun, second: StoredRun, pairs: Sequence[tuple[Point, Point]]
) -> list[EnvironmentDifference]:
    """The differences between the environments of paired points of two runs, each once, by kind."""
    found: dict[EnvironmentDifference, None] = {}
    kinds: dict[str, None] = {}
    for one, other in pairs:
        before, after = circumstances(first, one.steps[0]), circumstances(second, other.steps[0])
        found |= dict.fromkeys(differences(before, after))
        kinds |= dict.fromkeys(before)
    return sorted(found, key=lambda difference: list(kinds).index(difference.kind))


def differences(before: Circumstances, after: Circumstances) -> list[EnvironmentDifference]:
    """The differences between two sets of circumstances, for the kinds that both have, in their order."""
    found = []
    for kind in (kind for kind in before if kind in after):
        for name in dict.fromkeys([*before[kind], *after[kind]]):
            first, second = before[kind].get(name, ABSENT), after[kind].get(name, ABSENT)
            if is_alike(kind, first, second):
                continue
            if "\n" in first + second:
                first, second = (f"{len(text.splitlines())} lines, {fingerprint(text)}" for text in (first, second))
            found.append(EnvironmentDifference(kind, name, first, second))
    return found


def is_alike(kind: str, first: str, second: str) -> bool:
    """Whether two settings of a kind count as equal: times may be close, and facts unknown."""
    if first == second:
        return True
    match kind:
        case "host":
            return UNKNOWN in (first, second)
        case "speed":
            return ABSENT in (first, second) or _is_close(first, second, 0.0, SPEED_SHARE_MAX)
        case "links":
            return ABSENT not in (first, second) and _is_close(first, second, LINK_MS_MAX, LINK_SHARE_MAX)
    return False


def _is_close(first: str, second: str, difference_max: float, share_max: float) -> bool:
    a, b = float(first), float(second)
    return abs(a - b) <= max(difference_max, share_max * max(a, b))


def fingerprint(text: str) -> str:
    """The first 12 hex digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
