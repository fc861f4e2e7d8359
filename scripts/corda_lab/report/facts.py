"""Facts about a run or the plan of a sweep in one line each: environment, load, order and labs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corda_lab.analysis.conclusions import steps_words
from corda_lab.knobs import shape as knobs
from corda_lab.results.manifest import Environment, Host, MeasuredLink
from corda_lab.results.stored import StoredRun
from corda_lab.results.sweep_parts import NO_CONDITION, BurstCount, Condition, FlowCount, Measure, SpanFields
from corda_lab.steps.build import conditioning_words
from corda_lab.steps.entry import ConditioningEntry, StepEntry
from corda_lab.steps.load import text_of
from corda_lab.steps.open_load import OPEN_ARRIVALS
from corda_lab.steps.parameters import value_words
from corda_lab.text.words import length, listed, plural
from lab_workload.load import FIELDS, OPTIONS, Load

LABS = {
    "repeat": "a new one for every repeat of a shape",
    "shape": "a new one for every shape; the intervals do not include the variation between two starts of a shape",
    "step": "a new one for every step",
}
"""When a lab was started, by ``fresh`` of the sweep file."""


def load_words(load: Load) -> str:
    """``arrivals closed, users 8, pacing 0s, seed 1``: the options of a load that have a value."""
    values = {key: load.of_model(FIELDS[key]) for key in OPTIONS}
    return ", ".join(f"{key} {text_of(key, value)}" for key, value in values.items() if value not in (None, "", ()))


def conditioning_facts(before: ConditioningEntry | None) -> str:
    """``412 iou flows in 58 s, then steady (closed, users 8, …)``: what conditioned the nodes."""
    return "none" if before is None else f"{conditioning_words(before)} ({load_words(before.load)})"


def machine(host: Host) -> str:
    """``2 cores of AMD EPYC, 24 GiB, Linux 6.1, governor performance, turbo off``."""
    memory = "" if host.memory_bytes is None else f", {host.memory_bytes / 1024**3:.0f} GiB"
    governor = "" if host.governor is None else f", governor {host.governor}"
    turbo = "" if host.turbo is None else f", turbo {'on' if host.turbo else 'off'}"
    return f"{plural(host.cpu_count or 0, 'core')} of {host.cpu_model}{memory}, {host.kernel}{governor}{turbo}"


def machines(environment: Environment) -> str:
    placed = environment.placement
    if placed is None:
        return machine(environment.host)
    return f"{plural(len(placed.hosts), 'host')} of the placement {placed.name}"


@dataclass(frozen=True)
class Lab:
    """The environments of a run that differ only in the measured links, which are measured at every start.

    ``round_trips`` has those of each link over all starts, in ms: through its proxy, and without it.
    """

    environment: Environment
    steps: str
    shape: str
    machine: str
    round_trips: dict[str, tuple[str, str]]


def environments(run: StoredRun) -> list[Lab]:
    """The labs of a run, each with its steps."""
    alike: dict[str, list[int]] = {}
    for number, environment in enumerate(run.manifest.environments):
        alike.setdefault(environment.model_dump_json(exclude={"links_measured"}), []).append(number)
    labs = []
    for numbers in alike.values():
        members = [run.manifest.environments[number] for number in numbers]
        steps = [step.index for step in run.steps if step.environment in numbers]
        links: dict[str, list[MeasuredLink]] = {}
        for link in (link for environment in members for link in environment.links_measured):
            links.setdefault(link.name, []).append(link)
        round_trips = {
            name: (_milliseconds(link.through_ms for link in own), _milliseconds(link.direct_ms for link in own))
            for name, own in links.items()
        }
        first, words = members[0], steps_words(steps) if steps else "no step"
        labs.append(Lab(first, words, knobs.describe(first.shape), machine(first.host), round_trips))
    return labs


def _milliseconds(times: Iterable[float]) -> str:
    return ends([f"{ms:.1f}" for ms in sorted(times)])


def conditioning_plan(planned: Condition, arrivals: Iterable[str]) -> str:
    """What was to condition the nodes of every new lab. ``arrivals`` are those of the steps.

    A load whose least time is its limit lasts for that time, and so does open load: its throughput does not show
    whether the nodes are warm.
    """
    if planned == NO_CONDITION:
        return "none"
    given = {"load": planned.load.model_dump(exclude_none=True), "set": planned.set}
    workload = [f"the workload {planned.workload}"] if planned.workload else []
    changes = [value_words(f"{group}.{name}", value) for group in given for name, value in given[group].items()]
    own = listed([*workload, *changes])
    load = "the load of the first step on it" + (f" with {own}" if own else "")
    kinds = {str(given["load"]["arrivals"])} if "arrivals" in given["load"] else set(arrivals)
    if kinds <= OPEN_ARRIVALS or planned.duration.min == planned.duration.max:
        return f"every new lab, by {load}, for {length(planned.duration.max)}"
    return f"every new lab, by {load}, until steady: {span(planned.duration)}"


def conditioned_by(steps: Sequence[StepEntry]) -> str:
    """What conditioned the nodes, over all starts of a lab; empty if nothing did."""
    known = [step.conditioning for step in steps if step.conditioning is not None]
    if not known:
        return ""
    steady = sum(before.steady for before in known)
    loads = listed(sorted({before.workload for before in known}))
    flows = ends([f"{count:,}" for count in sorted({before.flows for before in known})])
    seconds = ends([f"{value:.0f}" for value in sorted({round(before.seconds) for before in known})])
    how = "then steady" if steady == len(known) else f"steady after {steady} of {plural(len(known), 'start')}"
    return f"{flows} {loads} flows in {seconds} s, {how}"


def span(planned: SpanFields) -> str:
    """A planned duration: ``1 min to 3 min``, or ``1 min``."""
    return ends(list(dict.fromkeys([length(planned.min), length(planned.max)])))


def until(planned: Measure | None) -> str:
    """What was to end a step: a time, or a count. Empty if it was not planned."""
    if isinstance(planned, BurstCount):
        return plural(planned.bursts, "burst")
    if isinstance(planned, FlowCount):
        before = f", after {planned.after} that do not count" if planned.after else ""
        return plural(planned.flows, "flow") + before
    return "" if planned is None else length(planned)


def ends(texts: Sequence[str]) -> str:
    """The first and the last of sorted texts: ``43.0 to 43.2``; a single text as it is."""
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"
