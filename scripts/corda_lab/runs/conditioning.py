"""Brings nodes to where they stay, before anything is measured.

A node becomes several times as fast over its first few hundred flows. Without conditioning, the order of the points of
a sweep is part of its result. The load that conditions the nodes is like any other, and its rows are kept. They enter
no value that is reported.
"""

import time
from dataclasses import dataclass, replace

import polars as pl

from corda_lab.clients.prometheus import Prometheus
from corda_lab.lab.settings import Settings
from corda_lab.results.manifest import Environment
from corda_lab.runs import containers, counters, unknown
from corda_lab.runs.collect import Collected, collect
from corda_lab.runs.execute import RunningLab
from corda_lab.runs.preflight import PreparedRun, describe, plan
from corda_lab.runs.recording import Recording
from corda_lab.steps import rows
from corda_lab.steps.build import warm_up_found
from corda_lab.steps.entry import ConditioningEntry
from corda_lab.steps.load import LoadOptions, until_steady
from corda_lab.text import ui

WINDOW_SECONDS = 20.0
"""The nodes are conditioned when throughput was steady for this time."""
SECONDS_MIN = 20.0
SECONDS_MAX = 150.0
COLD_FLOWS = 300
"""A node that has completed fewer flows since its start is still warming up."""


@dataclass(frozen=True)
class Conditioned:
    """What a load that conditioned the nodes came to, and its rows."""

    entry: ConditioningEntry
    requests: pl.DataFrame


def load_of(options: LoadOptions, seconds_min: float = SECONDS_MIN, seconds_max: float = SECONDS_MAX) -> LoadOptions:
    """The load that conditions the nodes for another one: the same, until its throughput is steady.

    It lasts at least ``seconds_min``, and at most ``seconds_max``, both with its window.
    """
    least = max(1.0, seconds_min - WINDOW_SECONDS)
    brief = replace(options, warm_up_seconds=least, duration_seconds=WINDOW_SECONDS, stopping=None)
    return until_steady(brief, max(least + 1, seconds_max - WINDOW_SECONDS))


def condition(run: PreparedRun, settings: Settings, environment: Environment, recording: Recording) -> Conditioned:
    """Put a load on the lab until it is steady, and wait until the lab is at rest. Raises LabError."""
    lab = RunningLab.of(settings)
    planned = plan(run, lab.settings, lab.compose, lab.bridge)
    ui.note(describe(planned))
    recording.begin(lab.compose, planned, environment)
    with containers.generating(lab.compose, planned) as names:
        containers.await_setup(lab.compose, planned, names)
        containers.let_go(lab.compose, planned)
        containers.generate_load(lab.compose, planned, lab.bridge, names)
        collected = collect(lab.compose, planned, names, recording.rows)
    counters.await_rest(lab.bridge, lab.prometheus, since=time.time())
    unknown.forget(lab.bridge, planned.subject.node, planned.identity)
    return Conditioned(entry_of(run.options, collected), collected.requests)


def entry_of(options: LoadOptions, collected: Collected) -> ConditioningEntry:
    """The entry ``conditioning`` of the step that follows."""
    end, requests = collected.end, collected.requests
    times = requests.filter(rows.is_done())["ended_at"].sort().to_list()
    return ConditioningEntry(
        workload=options.workload,
        seconds=end.stop_at - end.started_at,
        flows=len(times),
        steady=bool(times) and warm_up_found(options, times, end.started_at, end.stop_at).found,
    )


def completed_flows(prometheus: Prometheus, node: str) -> int:
    """The number of flows that a node has completed since it started."""
    selector = f'corda_flow_duration_seconds_count{{outcome="success",node="{node}"}}'
    return sum(int(value.value) for value in prometheus.latest(selector))
