"""Facts about a run or the plan of a sweep in one line each: environment, load, order, labs, and kinds of notes."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from corda_lab.analysis import wording
from corda_lab.analysis.metrics import COMPARED
from corda_lab.analysis.notes import Kind
from corda_lab.analysis.points import points
from corda_lab.results.manifest import Environment, Host, Manifest
from corda_lab.results.stored import StoredRun
from corda_lab.results.sweep_parts import NO_CONDITION, BurstCount, Condition, FlowCount, Measure, SpanFields
from corda_lab.steps.build import conditioning_words
from corda_lab.steps.entry import ConditioningEntry, StepEntry
from corda_lab.steps.load import LOAD_OPTIONS, LoadOptions, burst_words, flows_words
from corda_lab.steps.open_load import OPEN_ARRIVALS
from corda_lab.steps.parameters import value_words
from corda_lab.text.words import length, listed, plural

NOTE_TITLES: Mapping[Kind, str] = {
    "failed": "Failed",
    "error": "Failed requests",
    "invalid": "Invalid",
    "warning": "Warning",
}

MORE_FILES = (
    "samples.parquet",
    "stages.parquet",
    "spans.parquet",
    "drops.parquet",
    "audit.json",
    "logs/",
    "profiles/",
)


def more_files(folder: Path) -> list[str]:
    return [name for name in MORE_FILES if (folder / name).exists()]


def machine(host: Host) -> str:
    """``2 cores of AMD EPYC, 24 GiB, Linux 6.1, governor performance, turbo off``."""
    memory = "" if host.memory_bytes is None else f", {host.memory_bytes / 1024**3:.0f} GiB"
    governor = "" if host.governor is None else f", governor {host.governor}"
    turbo = "" if host.turbo is None else f", turbo {'on' if host.turbo else 'off'}"
    return f"{plural(host.cpu_count or 0, 'core')} of {host.cpu_model}{memory}, {host.kernel}{governor}{turbo}"


def rerun_facts(manifest: Manifest) -> list[tuple[str, str]]:
    """That a run repeats another, and what had changed since, as a row of a table of facts; none if it does not."""
    if manifest.rerun is None:
        return []
    changes = "; ".join(manifest.rerun.changes)
    return [("Repeats", manifest.rerun.run + (f", with changes: {changes}" if changes else ", to the letter"))]


def profile_facts(manifest: Manifest) -> list[tuple[str, str]]:
    """That the load of a run was profiled, as a row of a table of facts; none if it was not."""
    sampled = [entry for entry in manifest.profiles if entry.file is not None]
    nodes = listed([f"{entry.node} for {entry.window_seconds:.0f} s" for entry in sampled])
    return [("Profiled", f"{nodes} of the measuring window; a profiler costs CPU time")] if sampled else []


def web_ui_facts(manifest: Manifest) -> list[tuple[str, str]]:
    """That a load was started in the web UI, and what its form said, as rows of a table of facts; none otherwise."""
    by_hand = manifest.web_ui
    if by_hand is None:
        return []
    form = ", ".join(f"{name}={text}" for name, text in by_hand.form.items() if text)
    users = ", ".join(f"{one.users} from {_clock(one.asked_at)}" for one in by_hand.users)
    return [
        ("Started in", f"the Locust web UI, as {by_hand.id}"),
        ("Form", form or "not known"),
        *([("Users", users)] if len(by_hand.users) > 1 else []),
    ]


def _clock(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S} UTC"


def environment_facts(environment: Environment) -> list[tuple[str, str]]:
    versions = environment.versions
    java = ", ".join(f"{name} {version}" for name, version in versions.java.items())
    return [
        ("Corda", f"{versions.corda} (Java: {java})"),
        ("Docker", f"engine {versions.engine}, Compose {versions.compose}"),
        ("Commit", environment.git.words),
        ("Stand-in images", ", ".join(environment.stand_ins) or "none (all images are official)"),
        *_machines(environment),
    ]


def _machines(environment: Environment) -> list[tuple[str, str]]:
    placed = environment.placement
    if placed is None:
        return [("Machine", machine(environment.host))]
    return [
        ("Placement", f"{placed.name} ({placed.sha256[:12]}), {placed.overlay} overlay"),
        *((f"Host {name}", host.words) for name, host in placed.hosts.items()),
        ("Manager", f"{machine(environment.host)}; it drove the load, and may be one of the hosts"),
        ("Not measured", NOT_ON_HOSTS),
    ]


NOT_ON_HOSTS = (
    "what hosts and containers used, and how fast the processors were: these are read on one machine only. Times"
    " between hosts, because they need one clock"
)


def machines(environment: Environment) -> str:
    placed = environment.placement
    if placed is None:
        return machine(environment.host)
    return f"{plural(len(placed.hosts), 'host')} of the placement {placed.name}"


def load_facts(load: LoadOptions) -> str:
    """``closed, 8 users, pacing 0 s, seed 1``; for open load the arrivals, rate and pool; for bursts their size."""
    by = f", {plural(load.workers, 'worker')}" if load.workers else ""
    if load.model == "open":
        return (
            f"open, {load.arrivals} arrivals at {load.rate:g}/s, pool of {load.users}, "
            f"dropped when more than {LOAD_OPTIONS['late_max'].value(load):g} s late{by}, seed {load.seed}"
        )
    if load.model == "burst":
        return f"{burst_words(load)}, seed {load.seed}"
    flows = "" if load.flows is None else f", {flows_words(load)}"
    return f"closed, {plural(load.users, 'user')}, pacing {load.pacing_seconds:g} s{flows}{by}, seed {load.seed}"


def conditioning_facts(before: ConditioningEntry | None) -> str:
    """``412 iou flows in 58 s, then steady (closed, 8 users, pacing 0 s, seed 1)``: what conditioned the nodes."""
    return "none" if before is None else f"{conditioning_words(before)} ({load_facts(before.load)})"


LABS = {
    "repeat": "a new one for every repeat of a shape",
    "shape": "a new one for every shape; the intervals do not include the variation between two starts of a shape",
    "step": "a new one for every step",
}
"""When a lab was started, by ``fresh`` of the sweep file."""


def plan_facts(run: StoredRun) -> list[tuple[str, str]]:
    sweep = run.sweep
    methods = listed(list(dict.fromkeys(step.warm_up.method for step in run.steps)))
    found = [
        *rerun_facts(run.manifest),
        ("Order", f"interleaved, seed {sweep.seed}; {plural(sweep.repeats, 'repeat')} of each point"),
        ("Labs", LABS[sweep.fresh]),
        ("Conditioning", conditioning_plan(sweep.condition, (step.load.arrivals for step in run.steps))),
        *(("Conditioned by", words) for words in conditionings(run.steps)),
        *([("Warm-up", f"{span(sweep.warm_up)} (method: {methods})")] if sweep.warm_up else []),
        ("Measuring window", until(sweep.measure)),
        *(
            (f"{heading}, {name}", words)
            for name, own in ((step.name, step) for step in sweep.steps or ())
            for heading, words in (("Warm-up", span(own.warm_up)), ("Measuring window", until(own.measure)))
            if words
        ),
        ("Intervals", interval_method(run)),
        ("Comparisons", "paired by repeat"),
    ]
    found += [(f"Left out, {one.label}", one.reason) for one in sweep.left_out]
    if limits := sweep.thresholds.model_dump(exclude_none=True):
        found.append(("Thresholds", ", ".join(f"{name} {value}" for name, value in limits.items())))
    if sweep.find_max:
        asked = sweep.find_max.model_dump(mode="json", exclude_none=True).items()
        found.append(("Search", ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in asked)))
        found += [(f"Outcome, {label}", outcome.reason or "–") for label, outcome in sweep.outcomes.items()]
    return found


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


def span(planned: SpanFields | None) -> str:
    """A planned duration: ``1 min to 3 min``, or ``1 min``. Empty if it was not planned."""
    if planned is None:
        return ""
    least, most = length(planned.min), length(planned.max)
    return least if least == most else f"{least} to {most}"


def until(planned: Measure | None) -> str:
    """What was to end a step: a time, or a count. Empty if it was not planned."""
    if isinstance(planned, BurstCount):
        return plural(planned.bursts, "burst")
    if isinstance(planned, FlowCount):
        before = f", after {planned.after} that do not count" if planned.after else ""
        return plural(planned.flows, "flow") + before
    return "" if planned is None else length(planned)


def interval_method(run: StoredRun) -> str:
    methods = {point.estimate(name).method for point in points(run) for name in COMPARED}
    known = sorted(method for method in methods if method)
    return (
        f"{wording.INTERVAL} of the geometric mean over the repeats (arithmetic mean if one is 0): "
        f"{listed(known) or 'none, because each point has one repeat'}"
    )


def ends(texts: Sequence[str]) -> str:
    """The first and the last of sorted texts: ``43.0 to 43.2``; a single text as it is."""
    return texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"
