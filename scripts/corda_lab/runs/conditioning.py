"""Brings nodes to where they stay, before anything is measured.

A node becomes several times as fast over its first few hundred flows. Without conditioning, the order of the points of
a sweep is part of its result. The load that conditions the nodes is like any other, but enters no value.
"""

import math
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.lab.environment import read_environment
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.results.folders import NAME_LENGTH_MAX
from corda_lab.results.manifest import Environment
from corda_lab.results.stored import StepFile
from corda_lab.runs import containers, counters, unknown
from corda_lab.runs.collect import Collected, collect
from corda_lab.runs.preflight import PreparedRun, describe, plan
from corda_lab.runs.recording import CONDITION, recorded
from corda_lab.runs.running import deployed
from corda_lab.stats.steady import WarmUp
from corda_lab.steps import rows
from corda_lab.steps.build import warm_up_found
from corda_lab.steps.entry import ConditioningEntry
from corda_lab.steps.load import COLD_FLOWS, SECONDS_MAX, Conditioning
from corda_lab.steps.reasons import Reason, reason
from corda_lab.steps.validity import CHANCE_DEVIATIONS
from corda_lab.text import ui
from lab_workload.load import Load
from lab_workload.run_end import RunEnd
from lab_workload.subject import Subject


def before_run(options: Load, seconds_max: float = SECONDS_MAX) -> Conditioning:
    """The load that conditions the nodes for a run: the load of the run itself."""
    name = f"condition-{options.name or options.workload.lower().replace('_', '-')}"
    return Conditioning(options.updated(name=name[:NAME_LENGTH_MAX].rstrip("-")), seconds_max=seconds_max)


def again(options: Load, entry: ConditioningEntry | None) -> Conditioning | None:
    """The load that conditioned the nodes before a stored run with these options; None if there was none."""
    if entry is None:
        return None
    return replace(before_run(options), seconds_min=entry.seconds_min, seconds_max=entry.seconds_max)


def condition(
    run: PreparedRun, settings: Settings, folder: Path, environment: Environment | None = None, index: int = 1
) -> ConditioningEntry:
    """Put the load of ``Conditioning.until_steady`` on the lab, and wait until the lab is at rest. Raises LabError.

    It is a step in ``folder``. ``environment`` is that of the lab; it is read if it is None.
    """
    with (
        ui.phase("Conditioning the nodes"),
        recorded(folder, StepFile(index=index, key=CONDITION, kind="condition")) as recording,
        closing(deployed(settings)) as lab,
    ):
        planned = plan(run, lab.settings, lab, lab.bridge)
        ui.note(f"{describe(planned)}, at most {run.options.total_seconds} s")
        recording.begin(lab, planned, environment or read_environment(lab))
        with containers.generating(lab, planned) as names:
            containers.await_setup(lab, planned, names)
            containers.let_go(lab, planned)
            load = containers.generate_load(lab, planned, lab.bridge, names)
            collected = collect(planned, names, recording.rows)
        await_rest(lab, planned.subject, planned.identity)
        entry = entry_of(run, collected, load.warm_up)
        how = "steady" if entry.steady else "not steady yet"
        ui.note(f"{entry.flows} flows in {entry.seconds:.0f} s, then {how}")
        recording.done()
    return entry


def await_rest(lab: Lab, subject: Subject, identity: str) -> None:
    """Wait until no flow is in flight any more, and let the nodes forget the outcomes. Raises LabError if it lasts."""
    if not counters.await_rest(lab):
        raise LabError(
            f"Flows are still in flight {counters.REST_SECONDS_MAX:g} s after the nodes were conditioned",
            f"Condition them with fewer users, or check `{lab.logs_command('bridge')}`.",
            exit_code=1,
        )
    for node in subject.nodes:
        unknown.forget(lab.bridge, node, identity)


def entry_of(run: PreparedRun, collected: Collected, decided: WarmUp | None) -> ConditioningEntry:
    """The entry of the step that follows. ``decided``: the load was ended because it was steady, before its limit."""
    end, options = collected.end, run.options
    times = collected.requests.filter(rows.is_done())["ended_at"].sort().to_list()
    return ConditioningEntry(
        workload=run.workload.name,
        load=options,
        seconds_min=options.warm_up_seconds_min + options.duration_seconds,
        seconds_max=options.warm_up_seconds + options.duration_seconds,
        seconds=end.stop_at - end.started_at,
        flows=len(times),
        steady=decided is not None or _ended_steady(options, times, end),
    )


def _ended_steady(options: Load, times: list[float], end: RunEnd) -> bool:
    """Return whether a load that ran to its limit was steady by then. ``times`` has its completions, sorted."""
    if not times:
        return False
    if not options.is_open:
        return warm_up_found(options, times, end.started_at, end.stop_at).found
    # Arrivals at random differ from one half of the window to the other, however warm the nodes are.
    middle, half = end.stop_at - options.duration_seconds / 2, options.duration_seconds / 2
    first, second = (sum(begin <= one < begin + half for one in times) for begin in (middle - half, middle))
    return abs(second - first) <= CHANCE_DEVIATIONS * math.sqrt(first + second)


def completed_flows(prometheus: Prometheus, node: str) -> int:
    """The number of flows that a node has completed since it started, those of other initiators included."""
    selector = f'corda_flow_duration_seconds_count{{outcome="success",node="{node}"}}'
    return sum(int(value.value) for value in prometheus.latest(selector))


def cold_nodes(prometheus: Prometheus, subject: Subject) -> list[Reason]:
    """The warning that a node has completed too few flows to be warm. Of several nodes, the coldest is named."""
    nodes = dict.fromkeys([*subject.nodes, *subject.counterparties])
    flows, node = min((completed_flows(prometheus, node), node) for node in nodes)
    return [reason("node_cold", node=node, flows=flows, enough=COLD_FLOWS)] if flows < COLD_FLOWS else []
