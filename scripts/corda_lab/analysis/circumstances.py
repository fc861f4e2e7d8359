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

KINDS = (
    "shape",
    "placement",
    "load",
    "measuring",
    "profiler",
    "images",
    "host",
    "speed",
    "versions",
    "commit",
    "stand-ins",
    "links",
    "settings",
)
"""Kinds of differences between the environments of two runs, the most important first."""


NOT_COMPARED = frozenset({"duration", "warm_up", "node", "nodes", "counterparty", "name"})
"""Options of a load that are compared as the place and the measuring of a step, or not at all."""


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


def circumstances(run: StoredRun, step: StepEntry) -> dict[str, dict[str, str]]:
    """Everything that the values of a step depend on, except chance and the system under test: kind → name → text."""
    environment = run.environment(step)
    workload = {"workload file": run.manifest.workload_files.get(step.workload, "")}
    place = {"flow": step.flow, "node": step.node, "counterparty": step.counterparty}
    # Every repeat adds 1 to the seed, and any repeat may come first here.
    first_seed = step.load.seed - (step.repeat - 1)
    # A search chooses its own rates, and each of its steps adds 1 to the seed.
    searched_rate = {"rate": "searched"} if run.sweep.find_max else {"seed": first_seed}
    asked = {key: step.load.of_model(FIELDS[key]) for key in OPTIONS if key not in NOT_COMPARED}
    load = {**asked, "overrides": step.load.overrides, "seed": run.sweep.seed, **searched_rate}
    return {
        **surroundings(environment),
        "load": dict(flat({**load, **place, **workload})),
        "measuring": measuring(run),
        "profiler": profiler(run),
        "speed": speed(step),
    }


def surroundings(environment: Environment) -> dict[str, dict[str, str]]:
    """The part of the circumstances that is known without a load: kind → name → text."""
    shape = dict(flat(environment.shape))
    return {
        "shape": shape,
        "images": dict(flat({name: image.model_dump() for name, image in environment.images.items()})),
        "placement": placement(environment),
        **({} if environment.placement else {"host": dict(flat(environment.host.model_dump()))}),
        "versions": dict(flat(environment.versions.model_dump())),
        "commit": dict(flat(environment.git.model_dump())),
        "stand-ins": {"images": ", ".join(environment.stand_ins)},
        "links": dict(flat({link.name: link.through_ms for link in environment.links_measured})),
        # Without the settings that are part of the shape, and without the ports of this machine.
        "settings": {
            name: text for name, text in flat(environment.settings) if name not in shape and not name.endswith("_PORT")
        },
    }


def placement(environment: Environment) -> dict[str, str]:
    """What ran on which host, and what each host is. ``host`` is then the machine that drove the load, and left out."""
    found = environment.placement
    if found is None:
        return {"hosts": "one machine"}
    hosts = {f"host {name}": host.words for name, host in found.hosts.items()}
    file = {"file": f"{found.name}, {found.sha256[:12]}", "overlay": found.overlay}
    return {"hosts": plural(len(hosts), "host"), **file, **hosts}


def measuring(run: StoredRun) -> dict[str, str]:
    """How a run measured: the rules of a sweep for warm-up, duration, repeats and order; the times of a single run."""
    if run.is_sweep:
        names = {"condition", "warm_up", "measure", "repeats", "fresh", "find_max"}
        found = run.sweep.model_dump(mode="json", include=names, exclude_none=True)
        spans = {"warm_up", "measure"}
        steps = {one.name: one.model_dump(include=spans, exclude_none=True) for one in run.sweep.steps or ()}
        return dict(flat({**found, "steps": steps}))
    step = run.steps[0]
    before = {"condition": f"at most {step.conditioning.seconds_max:g} s"} if step.conditioning else {}
    return {**before, "warm_up.seconds": f"{step.warm_up.seconds_max:g}", "repeats": "1"}


def profiler(run: StoredRun) -> dict[str, str]:
    """The nodes that were profiled under the load of a run, which costs it CPU time."""
    entries = [entry for entry in run.manifest.profiles if entry.began_at is not None]
    return {"profiled nodes": ", ".join(entry.node for entry in entries) or "none"}


def environment_differences(
    first: StoredRun, second: StoredRun, pairs: Sequence[tuple[Point, Point]]
) -> list[EnvironmentDifference]:
    """The differences between the environments of paired points of two runs, each once, in the order of ``KINDS``."""
    found: dict[EnvironmentDifference, None] = {}
    for one, other in pairs:
        before, after = circumstances(first, one.steps[0]), circumstances(second, other.steps[0])
        found |= dict.fromkeys(differences(before, after))
    return sorted(found, key=lambda one: KINDS.index(one.kind))


def differences(
    before: Mapping[str, Mapping[str, str]], after: Mapping[str, Mapping[str, str]]
) -> list[EnvironmentDifference]:
    """The differences between two sets of circumstances, in the order of ``KINDS``, for the kinds that both have."""
    found = []
    for kind in (kind for kind in KINDS if kind in before and kind in after):
        for name in dict.fromkeys([*before[kind], *after[kind]]):
            a, b = before[kind].get(name, "–"), after[kind].get(name, "–")
            if a == b or (kind in ALIKE and ALIKE[kind](a, b)):
                continue
            if "\n" in a + b:
                a, b = (f"{len(text.splitlines())} lines, {fingerprint(text)}" for text in (a, b))
            found.append(EnvironmentDifference(kind, name, a, b))
    return found


def speed(step: StepEntry) -> dict[str, str]:
    """How long the fixed piece of work took before the load, on average over the cores, by the name of the work."""
    found = step.calibration
    if found is None or not found.before:
        return {}
    return {f"ms of a piece of work ({found.work})": f"{sum(found.before.values()) / len(found.before):.3f}"}


def is_same_speed(first: str, second: str) -> bool:
    """Whether two times of the same work, in ms, are those of equally fast processors; true also if one is unknown."""
    if "–" in (first, second):
        return True
    a, b = float(first), float(second)
    return abs(a - b) <= SPEED_SHARE_MAX * max(a, b)


def is_same_link(first: str, second: str) -> bool:
    """Whether two measured round trips, in ms, are as close as two measurements of the same link."""
    if "–" in (first, second):
        return False
    a, b = float(first), float(second)
    return abs(a - b) <= max(LINK_MS_MAX, LINK_SHARE_MAX * max(a, b))


def is_same_fact(first: str, second: str) -> bool:
    """Whether two facts about a machine may be the same: also true if one of the runs did not know it."""
    return first == second or UNKNOWN in (first, second)


UNKNOWN = "null"
"""The text of a fact that the operating system did not report."""

ALIKE = {"links": is_same_link, "speed": is_same_speed, "host": is_same_fact}
"""Kinds whose values are measured or may be unknown, and when two of them count as equal."""


def fingerprint(text: str) -> str:
    """The first 12 hex digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
