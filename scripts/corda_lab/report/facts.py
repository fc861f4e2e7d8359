"""Facts about a run or the plan of a sweep in one line each: environment, load, order and labs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from corda_lab.analysis.conclusions import Analysis, steps_words
from corda_lab.knobs import labels
from corda_lab.results.manifest import Environment, Host, Manifest, MeasuredLink
from corda_lab.results.stored import StoredRun
from corda_lab.results.sweep_parts import NO_CONDITION, BurstCount, Condition, FlowCount, Measure, SpanFields
from corda_lab.steps.build import conditioning_words, warm_up_words
from corda_lab.steps.entry import ConditioningEntry, StepEntry
from corda_lab.steps.load import LOAD_OPTIONS, LoadOptions
from corda_lab.steps.open_load import OPEN_ARRIVALS
from corda_lab.steps.parameters import value_words
from corda_lab.text.words import length, listed, plural

Fact = tuple[str, str]
"""A name and a text."""

NOT_ON_HOSTS = (
    "what hosts and containers used, and how fast the processors were: these are read on one machine only. Times"
    " between hosts, because they need one clock"
)

LABS = {
    "repeat": "a new one for every repeat of a shape",
    "shape": "a new one for every shape; the intervals do not include the variation between two starts of a shape",
    "step": "a new one for every step",
}
"""When a lab was started, by ``fresh`` of the sweep file."""


def run_facts(run: StoredRun) -> Iterator[Fact]:
    """What a run of one step was, beside its environment."""
    (step,), manifest = run.steps, run.manifest
    yield from _rerun_facts(manifest)
    yield from _web_ui_facts(manifest)
    place = f" with {step.counterparty}" if step.counterparty else ""
    yield "Workload", f"{step.workload}: {step.flow} on {step.node}{place}"
    yield "Load", load_words(step.load)
    yield "Overrides", ", ".join(f"{key}={value}" for key, value in step.load.overrides.items()) or "none"
    yield "Unit of work", ", ".join(dict.fromkeys(part.unit for part in step.parts))
    yield "Conditioning", conditioning_facts(step.conditioning)
    if not step.load.is_counted:
        yield "Warm-up", warm_up_words(step.warm_up)
    yield "Measuring window", f"{step.window.seconds:.0f} s"
    yield "Started, ended", f"{manifest.started_at}, {manifest.ended_at}"
    law = step.littles_law
    off = "" if law.deviation_percent is None else f" ({law.deviation_percent:+.1f} %)"
    at_bridge = "" if law.bridge_in_flight_mean is None else f", {law.bridge_in_flight_mean:.2f} at the bridge"
    product = f"{law.throughput_per_second:.2f}/s × {law.latency_mean_seconds:.3f} s = {law.product:.2f}"
    yield "Little's law", f"{product}; in flight: {law.in_flight_mean:.2f} at the generator{off}{at_bridge}"
    timed = step.calibration
    if timed is not None and timed.before and timed.after:
        before, after = (sum(times.values()) / len(times) for times in (timed.before, timed.after))
        yield "CPU speed", f"the same work took {before:.2f} ms before and {after:.2f} ms after the load"
    busy = step.generator.cpu_percent_max
    yield "Generator", "CPU not known" if busy is None else f"at most {busy:.0f} % of one core"
    if sampled := [entry for entry in manifest.profiles if entry.file is not None]:
        nodes = listed([f"{entry.node} for {entry.window_seconds:.0f} s" for entry in sampled])
        yield "Profiled", f"{nodes} of the measuring window; a profiler costs CPU time"


def _rerun_facts(manifest: Manifest) -> Iterator[Fact]:
    if manifest.rerun is not None:
        changes = "; ".join(manifest.rerun.changes)
        yield "Repeats", manifest.rerun.run + (f", with changes: {changes}" if changes else ", to the letter")


def _web_ui_facts(manifest: Manifest) -> Iterator[Fact]:
    by_hand = manifest.web_ui
    if by_hand is None:
        return
    yield "Started in", f"the Locust web UI, as {by_hand.id}"
    yield "Form", ", ".join(f"{name}={text}" for name, text in by_hand.form.items() if text) or "not known"
    if len(by_hand.users) > 1:
        yield (
            "Users",
            ", ".join(
                f"{change.users} from {datetime.fromtimestamp(change.asked_at, UTC):%H:%M:%S} UTC"
                for change in by_hand.users
            ),
        )


def load_words(load: LoadOptions) -> str:
    """``arrivals closed, users 8, pacing 0s, seed 1``: the options of a load that have a value."""
    values = {name: option.value(load) for name, option in LOAD_OPTIONS.items()}
    return ", ".join(
        f"{name} {LOAD_OPTIONS[name].text(value)}" for name, value in values.items() if value not in (None, "", ())
    )


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
    """The environments of a run that differ only in the measured links, which are measured at every start."""

    environment: Environment
    links: list[MeasuredLink]
    steps: str

    @property
    def images(self) -> list[tuple[str, str, str]]:
        """The images by service: name and id."""
        return [(service, image.name, image.id) for service, image in self.environment.images.items()]

    @property
    def facts(self) -> Iterator[Fact]:
        environment, placed = self.environment, self.environment.placement
        versions = environment.versions
        java = ", ".join(f"{name} {version}" for name, version in versions.java.items())
        yield "Shape of the lab", labels.describe(environment.shape)
        for name in dict.fromkeys(link.name for link in self.links):
            through, direct = (
                ends(
                    [
                        f"{value:.1f}"
                        for value in sorted(getattr(link, side) for link in self.links if link.name == name)
                    ]
                )
                for side in ("through_ms", "direct_ms")
            )
            yield f"Link {name}", f"round trip {through} ms, without the proxy {direct} ms"
        yield "Corda", f"{versions.corda} (Java: {java})"
        yield "Docker", f"engine {versions.engine}, Compose {versions.compose}"
        yield "Commit", environment.git.words
        yield "Stand-in images", ", ".join(environment.stand_ins) or "none (all images are official)"
        if placed is None:
            yield "Machine", machine(environment.host)
            return
        yield "Placement", f"{placed.name} ({placed.sha256[:12]}), {placed.overlay} overlay"
        for name, host in placed.hosts.items():
            yield f"Host {name}", host.words
        yield "Manager", f"{machine(environment.host)}; it drove the load, and may be one of the hosts"
        yield "Not measured", NOT_ON_HOSTS


def environments(run: StoredRun) -> list[Lab]:
    """The labs of a run, each with its steps."""
    alike: dict[str, list[int]] = {}
    for number, environment in enumerate(run.manifest.environments):
        alike.setdefault(environment.model_dump_json(exclude={"links_measured"}), []).append(number)
    found = []
    for numbers in alike.values():
        members = [run.manifest.environments[number] for number in numbers]
        steps = [step.index for step in run.steps if step.environment in numbers]
        links = [link for environment in members for link in environment.links_measured]
        found.append(Lab(members[0], links, steps_words(steps) if steps else "no step"))
    return found


def plan_facts(analysis: Analysis) -> Iterator[Fact]:
    """How a sweep was measured, beside what its file says."""
    run, sweep = analysis.run, analysis.run.sweep
    yield from _rerun_facts(run.manifest)
    yield "Started, ended", f"{run.manifest.started_at}, {run.manifest.ended_at}"
    yield "Order", f"interleaved, seed {sweep.seed}; {plural(sweep.repeats, 'repeat')} of each point"
    yield "Labs", LABS[sweep.fresh]
    yield "Conditioning", conditioning_plan(sweep.condition, (step.load.arrivals for step in run.steps))
    if how := _conditioned_by(run.steps):
        yield "Conditioned by", how
    methods = {point.estimate("throughput").method for point in analysis.points} - {None}
    yield "Intervals", listed(sorted(map(str, methods))) or "none, because each point has one repeat"
    for left_out in sweep.left_out:
        yield f"Left out, {left_out.label}", left_out.reason
    for label, outcome in sweep.outcomes.items():
        yield f"Outcome, {label}", outcome.reason or "–"


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


def _conditioned_by(steps: Sequence[StepEntry]) -> str:
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
