"""Runs: which run, step and fault there was when, and what it did to the lab. All boards mark them too."""

from grafana.boards import shared
from grafana.boards.model import Board, Panel, Query, Section
from grafana.boards.queries import CORDA, NODE, WINDOW, by_short_name, or_zero, rate

_SUCCESSES = by_short_name(rate("corda_flow_duration_seconds_count", 'outcome="success"', NODE))

RUNS = Panel(
    title="Runs and steps",
    description="Each run of the generator with its workload, its nodes and its load. A step of a sweep, and the load "
    "that conditions the nodes before it, are runs of their own. Good: one at a time.",
    unit="none",
    queries=(
        Query("max by (run, workload, node, load) (locust_run_info)", "{{run}}: {{workload}} on {{node}}, {{load}}"),
    ),
    kind="state-timeline",
    width=24,
    decimals=0,
    words={1: "runs"},
)

FAULTS = Panel(
    title="Faults",
    description="Faults that `scripts/lab chaos` or a sweep made, from the moment when each was there until it was "
    "healed. Good: none that you did not ask for.",
    unit="none",
    queries=(Query("max by (kind, target) (lab_fault_info) or on () vector(0)", "fault {{kind}} {{target}}"),),
    kind="state-timeline",
    width=12,
    decimals=0,
    colours=((None, "green"), (1, "purple")),
    words={0: "none", 1: "lasts"},
)

COMPLETIONS = Panel(
    title="Three counts of the same flows",
    description="Requests per second that ended well, as counted by the generator, the bridge and the nodes that the "
    "flows were started on. Good: the lines coincide; the set-up of a workload is no request. The report compares the "
    "counts themselves, and the vaults.",
    unit="ops",
    queries=(
        Query(or_zero(f'sum(node_outcome:locust_requests:rate20s{{outcome="ok", {NODE}}})'), "generator"),
        Query(or_zero(f"sum(node:bridge_flows_completed:rate20s{{{NODE}}})"), "bridge"),
        Query(or_zero(f"sum({_SUCCESSES} and on (node, flow) bridge_flows_started_total > 0)"), "nodes"),
    ),
    width=8,
    dashed=("bridge",),
)

RESTARTS = Panel(
    title="Restarts",
    description="Processes that began again, with all their counters at 0. Good: none during a run. After one, counts "
    "before and after it cannot be compared.",
    unit="none",
    queries=(
        Query(f"sum by (node) (changes(process_start_time_seconds{{{CORDA}, {NODE}}}{WINDOW}))", "{{node}}"),
        Query(f'sum(changes(process_start_time_seconds{{job="bridge"}}{WINDOW}))', "bridge"),
    ),
    width=8,
    decimals=0,
)

BOARD = Board(
    uid="runs",
    title="Runs",
    description="Runs, steps and faults in time, and what they did. `scripts/lab list` names the runs whose report is "
    "stored.",
    sections=(
        Section("Runs and steps", (RUNS,), height=6),
        Section("Faults and alerts", (FAULTS, shared.ALERT_STATES)),
        Section("Load", (shared.OFFERED_AND_ACHIEVED, shared.LATENCY)),
        Section("What became of it", (COMPLETIONS, shared.ERRORS.columns(8), RESTARTS)),
        Section("Nodes", (shared.FLOWS_IN_FLIGHT, shared.CONTAINER_CPU, shared.QUEUES)),
    ),
)
