"""Panels that are on more than one board."""

from grafana.boards.model import Panel, Query
from grafana.boards.queries import ALERTS, CONTAINER, NODE, or_zero, quantile_by, rate, sum_by

_LATENCY = "quantile:locust_request_latency_seconds:rate20s"
_OK = 'outcome=~"ok|expected"'
_UNWANTED = 'outcome=~"failed|unknown"'

_STARTED = f"sum(node:locust_requests_started:rate20s{{{NODE}}})"
_DROPPED = f"sum({rate('locust_arrivals_dropped_total')})"
_OFFERED = f"({or_zero(_STARTED)}) + ({or_zero(_DROPPED)})"
_ACHIEVED = or_zero(f"sum(node_outcome:locust_requests:rate20s{{{_OK}, {NODE}}})")
_ERRORS = f"sum(node_outcome:locust_requests:rate20s{{{_UNWANTED}, {NODE}}})"

# --- one number -------------------------------------------------------------------------------------------------------

OFFERED = Panel(
    title="Offered rate",
    description="Requests that the generator had to send per second: those sent, and in open load those dropped too. "
    "Good: equal to the achieved rate. With a fixed number of users it follows the achieved rate, because a user sends "
    "the next request only after an answer.",
    unit="reqps",
    queries=(Query(_OFFERED, "Offered rate"),),
    kind="stat",
    width=3,
)

ACHIEVED = Panel(
    title="Achieved rate",
    description="Requests per second that ended as the workload wants, as the generator saw them. Good: steady, and "
    "equal to the offered rate.",
    unit="reqps",
    queries=(Query(_ACHIEVED, "Achieved rate"),),
    kind="stat",
    width=3,
)

# --- load -------------------------------------------------------------------------------------------------------------

OFFERED_AND_ACHIEVED = Panel(
    title="Offered and achieved rate",
    description="Requests that the generator had to send, requests that ended as the workload wants, and flows that "
    "the bridge saw complete, per second. Good: the three lines coincide and are flat after the warm-up. If offered is "
    "above achieved, flows pile up, fail or are dropped.",
    unit="reqps",
    queries=(
        Query(_OFFERED, "offered"),
        Query(_ACHIEVED, "achieved"),
        Query(or_zero(f"sum(node:bridge_flows_completed:rate20s{{{NODE}}})"), "completed by the bridge"),
    ),
    width=12,
    dashed=("offered",),
)

LATENCY = Panel(
    title="Latency at the generator",
    description="Time from the intended start of a request to its answer, percentiles over the last 20 s of all nodes. "
    "They are those of the report, except that they are interpolated within buckets: in open load, a request without "
    "the wanted answer is infinitely slow, which is drawn as 300 s. Good: flat, with p99 at most a few times p50. A "
    "steady climb means that a queue is growing.",
    unit="s",
    queries=(
        Query(f'{_LATENCY}{{quantile="0.5"}}', "p50"),
        Query(f'{_LATENCY}{{quantile="0.95"}}', "p95"),
        Query(f'{_LATENCY}{{quantile="0.99"}}', "p99"),
    ),
    width=12,
)

ERRORS = Panel(
    title="Errors",
    description="Answers per second that no workload wants; flows that failed and starts that the bridge refused, by "
    "reason; and timed-out waits of the nodes for a database connection. Good: a flat 0. If the bridge refuses starts "
    "because of too many outstanding flows, the load exceeds its limit.",
    unit="reqps",
    queries=(
        Query(or_zero(_ERRORS), "answers with an error"),
        Query(
            f"sum by (reason) (node_reason:bridge_flows_failed:rate20s{{{NODE}}}) or on () vector(0)",
            "flows failed {{reason}}",
        ),
        Query(
            f"sum by (reason) (node_reason:bridge_flows_rejected:rate20s{{{NODE}}}) or on () vector(0)",
            "starts refused {{reason}}",
        ),
        Query(
            or_zero(f"sum({rate('hikari_connection_timeouts_total', NODE)})"),
            "waits for a database connection timed out",
        ),
    ),
    width=12,
)

ERROR_SHARE = Panel(
    title="Error share",
    description="Share of the answers that no workload wants. Good: 0 %. A rate that contains errors is not a result.",
    unit="percentunit",
    queries=(
        Query(
            or_zero(f"(({or_zero(_ERRORS)}) / (sum(node_outcome:locust_requests:rate20s{{{NODE}}}) > 0))"),
            "Error share",
        ),
    ),
    kind="stat",
    width=3,
    decimals=2,
    colours=((None, "green"), (0.0001, "red")),
)

LATENCY_P95 = Panel(
    title="Latency p95",
    description="95 % of the answers of the last 20 s took less than this from their intended start. Good: steady. It "
    "rises with every additional user once the nodes are saturated. Interpolated within buckets; the report of a run "
    "has the exact value.",
    unit="s",
    queries=(Query(f'{_LATENCY}{{quantile="0.95"}}', "Latency p95"),),
    kind="stat",
    width=3,
)

LATENCY_AT_BRIDGE = Panel(
    title="Latency at the bridge",
    description="Time from flow start to result, and the round trip of the starting RPC alone, both seen by the "
    "bridge. Good: the flow time is within a few milliseconds of the generator's latency, and the RPC time is a small "
    "part of it. If the RPC time is high, flows queue for the node's RPC threads or for the flow start.",
    unit="s",
    queries=(
        *(
            Query(quantile_by("le", quantile, rate("bridge_flow_duration_seconds_bucket", NODE)), f"flow {name}")
            for quantile, name in (("0.5", "p50"), ("0.95", "p95"), ("0.99", "p99"))
        ),
        Query(quantile_by("le", "0.95", rate("bridge_rpc_duration_seconds_bucket", NODE)), "RPC p95"),
    ),
    width=8,
    dashed=("RPC p95",),
)

OUTSTANDING_AT_BRIDGE = Panel(
    title="Outstanding flows at the bridge",
    description="Flows started through the bridge but not yet answered, per node, and the limit per node above which "
    "the bridge answers 429. Good: well below the limit.",
    unit="none",
    queries=(
        Query(f"sum by (node) (bridge_flows_in_flight{{{NODE}}})", "{{node}}"),
        Query("max(bridge_flows_in_flight_limit)", "limit"),
    ),
    decimals=0,
    dashed=("limit",),
)

# --- flows ------------------------------------------------------------------------------------------------------------

FLOWS_IN_FLIGHT = Panel(
    title="Flows in flight per node",
    description="Flows started but not yet ended at each node, including responders and notarisations. Good: level "
    "with the number of users at the node that they call, and back to 0 at rest. If flows remain after the load, they "
    "are stuck.",
    unit="none",
    queries=(Query(f"node:corda_flows_in_flight:sum{{{NODE}}}", "{{node}}"),),
    width=8,
    decimals=0,
)

FLOWS_ENDED = Panel(
    title="Flows ended per node",
    description="Flows ended per second at each node: initiators, responders and notarisations, including failed ones. "
    "Good: every node that takes part keeps up with the achieved rate.",
    unit="ops",
    queries=(Query(f"node:corda_flows_finished:rate20s{{{NODE}}}", "{{node}}"),),
    width=8,
)

WAIT_FOR_THREAD = Panel(
    title="Wait for the flow thread, p95",
    description="How long a started flow waited before it first ran (decaying sample of about five minutes; Corda 4.8 "
    "and newer). Good: a few milliseconds. An open-source node has one flow thread. If this value grows, that thread "
    "is the limit.",
    unit="s",
    queries=(Query(f'max by (node) (corda_flow_startup_queue_seconds{{quantile="0.95", {NODE}}})', "{{node}}"),),
    width=8,
)

CHECKPOINTS = Panel(
    title="Checkpoints per second",
    description="Checkpoints of running flows written per second. Good: proportional to the achieved rate. Each "
    "checkpoint is a database write, so fewer per flow are faster.",
    unit="ops",
    queries=(Query(sum_by("node", rate("corda_checkpoints_total", NODE)), "{{node}}"),),
)

QUEUES = Panel(
    title="Artemis queue depth",
    description="Messages in the queues of each node's P2P broker: inbound (received but not yet processed) and peer "
    "(on their way to other nodes). Good: near 0, and short peaks only. If the inbound queue is deep, the node cannot "
    "keep up. If a peer queue is deep, the peer or the network cannot.",
    unit="none",
    queries=(Query(f"sum by (node, queue) (node_queue:artemis_queue_messages:sum{{{NODE}}})", "{{node}} {{queue}}"),),
    width=8,
    decimals=0,
)

# --- database ---------------------------------------------------------------------------------------------------------

DATABASE_CONNECTIONS = Panel(
    title="Database connections",
    description="Connections in use, threads waiting for a connection, and the size of the pool. Good: fewer active "
    "connections than the pool has, and no thread waiting.",
    unit="none",
    queries=(
        Query(f"sum by (node) (hikari_connections_active{{{NODE}}})", "{{node}} active"),
        Query(f"sum by (node) (hikari_connections_pending{{{NODE}}})", "{{node}} waiting"),
        Query(f"max(hikari_connections_max{{{NODE}}})", "pool size"),
    ),
    decimals=0,
    dashed=("pool size",),
)

DATABASE_TRANSACTIONS = Panel(
    title="Database transactions per second",
    description="Connections that each node took from its pool per second, one for each database transaction. Good: "
    "proportional to the achieved rate. Fewer per flow are faster.",
    unit="ops",
    queries=(Query(sum_by("node", rate("hikari_connections_taken_total", NODE)), "{{node}}"),),
)

DATABASE_TIME = Panel(
    title="Time a database connection is held, p95",
    description="How long a connection is out of the pool, which is about one database transaction of a flow, "
    "including the work done inside it (decaying sample of about five minutes). Good: flat, at a few milliseconds. A "
    "climb points to the disk, the database or too little CPU.",
    unit="s",
    queries=(Query(f'max by (node) (hikari_connection_usage_seconds{{quantile="0.95", {NODE}}})', "{{node}}"),),
)

# --- processor and memory ---------------------------------------------------------------------------------------------

CONTAINER_CPU = Panel(
    title="CPU per container",
    description="CPU time that each container used, from its own control group; 100 % is one core. Prometheus and the "
    "PostgreSQL exporter report their one process. Good: the sum stays below the number of cores. If it reaches that "
    "number, the machine is the limit, not Corda.",
    unit="percentunit",
    queries=(Query(f"container:cpu_seconds:rate20s{{{CONTAINER}}}", "{{container}}"),),
    width=8,
)

CONTAINER_MEMORY = Panel(
    title="Memory per container",
    description="Memory that the processes of each container have allocated, from its own control group, without the "
    "page cache. Good: flat after the warm-up.",
    unit="bytes",
    queries=(Query(f"container:memory_bytes:sum{{{CONTAINER}}}", "{{container}}"),),
    width=8,
)

HEAP_KEPT = Panel(
    title="Heap kept by collections",
    description="What the last collection left, and what was promoted since, as a share of the heap: all pools but "
    "Eden. Good: a saw-tooth whose low points are flat and well below 85 %. If they climb, there is a leak or the heap "
    "is too small. Above 90 %, the node is about to end.",
    unit="percentunit",
    queries=(Query(f"node:heap_kept:ratio{{{NODE}}}", "{{node}}"),),
    width=8,
    max=1,
)

CPU_STEAL = Panel(
    title="CPU steal",
    description="Share of the CPU time of this machine that its hypervisor gave to other virtual machines. Good: 0 %. "
    "Above 5 %, a step has a warning; above 25 %, it is invalid.",
    unit="percentunit",
    queries=(Query("host:cpu_stolen:ratio20s", "stolen"),),
)

# --- alerts -----------------------------------------------------------------------------------------------------------

ALERTS_FIRING = Panel(
    title="Alerts firing",
    description="Alerts that fire now. Good: 0. `scripts/lab status` says of each what to do.",
    unit="none",
    queries=(Query(or_zero('count(ALERTS{alertstate="firing"})'), "Alerts firing"),),
    kind="stat",
    width=3,
    decimals=0,
    colours=((None, "green"), (1, "red")),
)

ALERT_STATES = Panel(
    title="Alerts",
    description="When each alert fired. Good: none did. docs/monitoring.md describes them, and `scripts/lab status` "
    "says of those that fire what to do.",
    unit="none",
    queries=tuple(
        Query(or_zero(f'count(ALERTS{{alertname="{alert}", alertstate="firing"}})'), alert) for alert in ALERTS
    ),
    kind="state-timeline",
    width=12,
    decimals=0,
    colours=((None, "green"), (1, "red")),
    words={0: "quiet", 1: "fires"},
)
