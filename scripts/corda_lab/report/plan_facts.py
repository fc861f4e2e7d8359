"""The facts about the plan of a sweep: its order, its labs, and what was measured for how long."""

from collections.abc import Iterable, Sequence

from corda_lab.analysis import wording
from corda_lab.analysis.metrics import COMPARED
from corda_lab.analysis.points import points
from corda_lab.report.facts import rerun_facts
from corda_lab.results.manifest import BurstCount, ConditionPlan, FlowCount, MeasurePlan, Span
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.open_load import OPEN_ARRIVALS
from corda_lab.steps.parameters import value_words
from corda_lab.text.words import length, listed, plural

LABS = {
    "repeat": "a new one for every repeat of a shape",
    "shape": "a new one for every shape; the intervals do not include the variation between two starts of a shape",
    "step": "a new one for every step",
}
"""When a lab was started, by ``fresh`` of the sweep file."""


def plan_facts(run: StoredRun) -> list[tuple[str, str]]:
    """The plan of a sweep, as (name, text)."""
    sweep = run.sweep
    methods = listed(list(dict.fromkeys(step.warm_up.method for step in run.steps)))
    found = [
        *rerun_facts(run.manifest),
        ("Order", f"interleaved, seed {sweep.seed}; {plural(sweep.repeats, 'repeat')} of each point"),
        ("Labs", LABS[sweep.fresh]),
        ("Conditioning", conditioning_plan(sweep.condition, (step.load.arrivals or "closed" for step in run.steps))),
        *(("Conditioned by", words) for words in conditionings(run.steps)),
        *([("Warm-up", f"{span(sweep.warm_up)} (method: {methods})")] if sweep.warm_up else []),
        ("Measuring window", until(sweep.measure)),
        *(
            (f"{heading}, {name}", words)
            for name, own in sweep.own_spans.items()
            for heading, words in (("Warm-up", span(own.warm_up)), ("Measuring window", until(own.measure)))
            if words
        ),
        ("Intervals", interval_method(run)),
        ("Comparisons", "paired by repeat"),
    ]
    found += [(f"Left out, {one.label}", one.reason) for one in sweep.left_out]
    if sweep.thresholds:
        found.append(("Thresholds", ", ".join(f"{name} {value}" for name, value in sweep.thresholds.items())))
    if sweep.find_max:
        asked = sweep.find_max.asked.items()
        found.append(("Search", ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in asked)))
        found += [(f"Outcome, {label}", outcome.reason or "–") for label, outcome in sweep.find_max.outcomes.items()]
    return found


def conditioning_plan(planned: ConditionPlan | None, arrivals: Iterable[str]) -> str:
    """What was to condition the nodes of every new lab. ``arrivals`` are those of the steps.

    A load whose least time is its limit lasts for that time, and so does open load: its throughput does not show
    whether the nodes are warm.
    """
    if planned is None:
        return "none"
    given = {"load": planned.load, "set": planned.set}
    workload = [f"the workload {planned.workload}"] if planned.workload else []
    changes = [value_words(f"{group}.{name}", value) for group in given for name, value in given[group].items()]
    own = listed([*workload, *changes])
    load = "the load of the first step on it" + (f" with {own}" if own else "")
    kinds = {str(planned.load["arrivals"])} if "arrivals" in planned.load else set(arrivals)
    if kinds <= OPEN_ARRIVALS or planned.seconds_min == planned.seconds_max:
        return f"every new lab, by {load}, for {length(planned.seconds_max)}"
    return f"every new lab, by {load}, until steady: {span(planned)}"


def conditionings(steps: Sequence[StepEntry]) -> list[str]:
    """What conditioned the nodes, in one line over all starts of a lab; empty if nothing did."""
    found = [step.conditioning for step in steps if step.conditioning is not None]
    if not found:
        return []
    steady = sum(one.steady for one in found)
    loads = listed(sorted({one.workload for one in found}))
    flows = ends([f"{count:,}" for count in sorted({one.flows for one in found})])
    seconds = ends([f"{value:.0f}" for value in sorted({round(one.seconds) for one in found})])
    how = "then steady" if steady == len(found) else f"steady after {steady} of {plural(len(found), 'start')}"
    return [f"{flows} {loads} flows in {seconds} s, {how}"]


def span(planned: Span | None) -> str:
    """A planned duration: ``1 min to 3 min``, or ``1 min``. Empty if it was not planned."""
    if planned is None:
        return ""
    least, most = length(planned.seconds_min), length(planned.seconds_max)
    return least if least == most else f"{least} to {most}"


def until(planned: MeasurePlan | None) -> str:
    """What was to end a step: a time, or a count. Empty if it was not planned."""
    if isinstance(planned, BurstCount):
        return plural(planned.bursts, "burst")
    if isinstance(planned, FlowCount):
        before = f", after {planned.after} that do not count" if planned.after else ""
        return plural(planned.flows, "flow") + before
    return "" if planned is None else length(planned)


def interval_method(run: StoredRun) -> str:
    """How the intervals were computed."""
    methods = {point.estimate(name).method for point in points(run) for name in COMPARED}
    known = sorted(method for method in methods if method)
    return (
        f"{wording.INTERVAL} of the geometric mean over the repeats (arithmetic mean if one is 0): "
        f"{listed(known) or 'none, because each point has one repeat'}"
    )


def ends(texts: Sequence[str]) -> str:
    """The first and the last of sorted texts: ``43.0 to 43.2``; a single text as it is."""
    return texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"
