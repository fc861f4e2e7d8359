"""What differs between the environments of two runs, apart from what they measured."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corda_lab.analysis.points import Point
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry

LINK_MS_MAX, LINK_SHARE_MAX = 3.0, 0.1
"""By how much two measurements of one link differ: what was asked for is in the shape."""


KINDS = ("shape", "load", "measuring", "images", "host", "versions", "commit", "stand-ins", "links", "settings")
"""What can differ between two runs besides their figures, the weightiest first."""


@dataclass(frozen=True)
class Unlike:
    """Something that is not the same in both runs."""

    kind: str
    name: str
    first: str
    second: str


def flat(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of nested dictionaries, each with its path."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from flat(inner, f"{prefix}.{name}" if prefix else str(name))
    else:
        yield prefix, json.dumps(value) if isinstance(value, list | bool) or value is None else str(value)


def circumstances(run: StoredRun, step: StepEntry) -> dict[str, dict[str, str]]:
    """Everything but the code under test and the luck of the day that a step's figures depend on, by kind."""
    environment = run.environment(step)
    shape = dict(flat(environment.shape))
    workload = {"workload file": run.manifest.workload_files.get(step.workload, "")}
    place = {"flow": step.flow, "node": step.node, "counterparty": step.counterparty}
    # Every repeat has the next seed; which repeat comes first here is chance.
    first_seed = step.load.seed - (step.repeat - 1)
    # A search chooses its rates itself, and each of its steps has the next seed.
    searched_rate = {"rate_per_second": "searched"} if run.sweep.find_max else {"seed": first_seed}
    load = {**step.load.model_dump(), "seed": run.sweep.seed, **searched_rate}
    return {
        "shape": shape,
        "load": dict(flat({**load, **place, **workload})),
        "measuring": measuring(run),
        "images": dict(flat({name: image.model_dump() for name, image in environment.images.items()})),
        "host": dict(flat(environment.host.model_dump())),
        "versions": dict(flat(environment.versions.model_dump())),
        "commit": dict(flat(environment.git.model_dump())),
        "stand-ins": {"images": ", ".join(environment.stand_ins)},
        "links": dict(flat({link.name: link.through_ms for link in environment.links_measured})),
        # What the shape says already, and where the lab listens on this machine, is not told again.
        "settings": {
            name: text for name, text in flat(environment.settings) if name not in shape and not name.endswith("_PORT")
        },
    }


def measuring(run: StoredRun) -> dict[str, str]:
    """How a run measured: its policy of warm-up, length, repeats and order, or of a single run its times."""
    if run.is_sweep:
        names = {"warm_up", "measure", "own_spans", "repeats", "order", "fresh", "confidence"}
        search = run.sweep.find_max.asked if run.sweep.find_max else {}
        return dict(flat({**run.sweep.model_dump(include=names, exclude_none=True), "find_max": search}))
    return {"warm_up.seconds": f"{run.steps[0].warm_up.seconds_max:g}", "repeats": "1"}


def unlike(first: StoredRun, second: StoredRun, pairs: Sequence[tuple[Point, Point]]) -> list[Unlike]:
    """What differs between the points of two runs besides their figures, each once."""
    found: dict[Unlike, None] = {}
    for one, other in pairs:
        before, after = circumstances(first, one.steps[0]), circumstances(second, other.steps[0])
        for kind in KINDS:
            for name in dict.fromkeys([*before[kind], *after[kind]]):
                a, b = before[kind].get(name, "–"), after[kind].get(name, "–")
                if a == b or (kind == "links" and is_same_link(a, b)):
                    continue
                if "\n" in a + b:
                    a, b = (f"{len(text.splitlines())} lines, {fingerprint(text)}" for text in (a, b))
                found[Unlike(kind, name, a, b)] = None
    return sorted(found, key=lambda one: KINDS.index(one.kind))


def is_same_link(first: str, second: str) -> bool:
    """Whether two measured round trips, in ms, are as near as two measurements of one link are."""
    if "–" in (first, second):
        return False
    a, b = float(first), float(second)
    return abs(a - b) <= max(LINK_MS_MAX, LINK_SHARE_MAX * max(a, b))


def fingerprint(text: str) -> str:
    """A short name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
