"""Load generator and bridge: is what they report true, or were they the limit themselves?"""

from grafana.boards import shared
from grafana.boards.model import Board, Panel, Query, Section
from grafana.boards.queries import NODE, or_zero, quantile_by, rate, sum_by

_LAG = rate("locust_schedule_lag_seconds_bucket")


def _lag(quantile: str) -> str:
    """Return the query of a percentile of the schedule lag; 0 in closed load, which has none by definition."""
    return or_zero(f"{quantile_by('le', quantile, _LAG)} >= 0")


_DROPPED = or_zero(f"sum({rate('locust_arrivals_dropped_total')})")
_GENERATOR = 'job="locust"'

USERS = Panel(
    title="Users",
    description="Users that are running: in closed load those that wait for an answer each, in open load the places of "
    "the pool. Good: the number that you asked for, soon after the start.",
    unit="none",
    queries=(Query(or_zero("sum(locust_users)"), "Users"),),
    kind="stat",
    width=4,
    decimals=0,
)

DROPPED_NOW = Panel(
    title="Dropped arrivals",
    description="Arrivals of open load per second that were never sent, because no place of the pool became free in "
    "time. Good: 0.",
    unit="reqps",
    queries=(Query(_DROPPED, "Dropped arrivals"),),
    kind="stat",
    width=4,
    colours=((None, "green"), (0.0001, "red")),
)

LAG_NOW = Panel(
    title="Schedule lag p99",
    description="99 % of the requests of open load were sent at most this much later than intended. Good: below 10 ms. "
    "Above it, the pool is full, or the generator is too slow.",
    unit="s",
    queries=(Query(_lag("0.99"), "Schedule lag p99"),),
    kind="stat",
    width=4,
    colours=((None, "green"), (0.01, "yellow")),
)

GENERATOR_CPU_NOW = Panel(
    title="Busiest generator process",
    description="CPU of the generator process that uses most, as a share of the one core that it can use. Good: below "
    "90 %. Above it, a step is invalid.",
    unit="percentunit",
    queries=(Query(or_zero(f"max({rate('process_cpu_seconds_total', _GENERATOR)})"), "Busiest generator process"),),
    kind="stat",
    width=4,
    colours=((None, "green"), (0.7, "yellow"), (0.9, "red")),
)

IN_FLIGHT = Panel(
    title="Requests in flight",
    description="Requests that were sent and have no answer yet, and the users or places of the pool. Good: in closed "
    "load both are equal, in open load some places stay free.",
    unit="none",
    queries=(
        Query(or_zero("sum(locust_requests_in_flight)"), "in flight"),
        Query(or_zero("sum(locust_users)"), "users or places"),
    ),
    width=12,
    decimals=0,
    dashed=("users or places",),
)

LAG = Panel(
    title="Schedule lag",
    description="How much later than intended requests of open load or of a burst were sent. Good: below 10 ms. If it "
    "is high while places of the pool are free, the generator is the limit; if none is free, the nodes are. It is 0 by "
    "definition in closed load.",
    unit="s",
    queries=(Query(_lag("0.5"), "p50"), Query(_lag("0.99"), "p99")),
    width=8,
)

DROPPED = Panel(
    title="Arrivals dropped",
    description="Arrivals per second that were never sent, because no place of the pool became free in time. Good: a "
    "flat 0. Otherwise the system is slower than the offered rate, or the pool is too small for it.",
    unit="reqps",
    queries=(Query(_DROPPED, "dropped"),),
    width=8,
)

GENERATOR_CPU = Panel(
    title="CPU of the generator's processes",
    description="CPU of each process of the generator that Prometheus scrapes, as a share of the one core that it can "
    "use: the web UI, and the container of a scripted run. Workers are not scraped; the report has theirs. Good: below "
    "90 %.",
    unit="percentunit",
    queries=(Query(f"max by (instance) ({rate('process_cpu_seconds_total', _GENERATOR)})", "{{instance}}"),),
    width=8,
)

BRIDGE_FLOWS = Panel(
    title="Flows at the bridge",
    description="Flows per second that the bridge started, saw complete or fail, and refused to start. Good: started "
    "and completed coincide, and the others are 0.",
    unit="ops",
    queries=(
        Query(or_zero(f"sum(node:bridge_flows_started:rate20s{{{NODE}}})"), "started"),
        Query(or_zero(f"sum(node:bridge_flows_completed:rate20s{{{NODE}}})"), "completed"),
        Query(or_zero(f"sum(node_reason:bridge_flows_failed:rate20s{{{NODE}}})"), "failed"),
        Query(or_zero(f"sum(node_reason:bridge_flows_rejected:rate20s{{{NODE}}})"), "refused"),
    ),
    width=8,
    dashed=("started",),
)

LATENCY_BY_NODE = Panel(
    title="Latency by starting node, p95",
    description="95 % of the requests of the last seconds took less than this from their intended start, by the node "
    "that started the flow. Good: alike. A node that is slower than the others is the one to look at.",
    unit="s",
    queries=(Query(quantile_by("le, node", "0.95", rate("locust_request_latency_seconds_bucket", NODE)), "{{node}}"),),
    width=8,
)

CONNECTIONS = Panel(
    title="Connections to the bridge",
    description="Connections of clients, and the number from which on the bridge answers further ones with 503. Good: "
    "at most one for each user, and far below the limit.",
    unit="none",
    queries=(Query("sum(bridge_connections)", "connections"), Query("sum(bridge_connections_limit)", "limit")),
    decimals=0,
    dashed=("limit",),
)

REQUEST_MEMORY = Panel(
    title="Memory of requests",
    description="Memory that the bridge has reserved for bodies, arguments of flows and long answers, and the limit "
    "beyond which it answers 503. Good: far below the limit.",
    unit="bytes",
    queries=(
        Query("sum(bridge_request_memory_bytes)", "reserved"),
        Query("sum(bridge_request_memory_limit_bytes)", "limit"),
    ),
    dashed=("limit",),
)

RPC_OF_BRIDGE = Panel(
    title="RPC connections of the bridge",
    description="RPC connections to each node that the bridge has opened and not closed again. Good: constant, and as "
    "many as it is told to use (BRIDGE_RPC_CONNECTIONS).",
    unit="none",
    queries=(Query(f"sum by (node) (bridge_rpc_connections{{{NODE}}})", "{{node}}"),),
    decimals=0,
)

THROTTLED = Panel(
    title="CPU time withheld from containers",
    description="Time per second for which the kernel kept a container waiting because it had used up its share of the "
    "CPU. Good: 0. Only nodes have a limit, if NODE_CORES sets one.",
    unit="percentunit",
    queries=(Query(sum_by("job, node", rate("container_cpu_throttled_seconds_total")), "{{job}} {{node}}"),),
)

MEMORY_SHARE = Panel(
    title="Memory as a share of the limit",
    description="Memory that the processes of each container have allocated, as a share of what it may use. Good: "
    "flat, and well below 100 %. A container that reaches its limit is killed.",
    unit="percentunit",
    queries=(
        Query(
            "max by (job, node) (container_memory_bytes / container_memory_limit_bytes)",
            "{{job}} {{node}}",
        ),
    ),
    max=1,
)

SCRAPE_TIME = Panel(
    title="Scrape time",
    description="How long Prometheus waited for the metrics of each target that answered. Good: below 0.3 s. If the "
    "scrape of a node takes seconds, the node has too little CPU.",
    unit="s",
    queries=(Query("max by (job, node) (scrape_duration_seconds and up == 1)", "{{job}} {{node}}"),),
)

BOARD = Board(
    uid="load-generator",
    title="Load generator and bridge",
    description="Whether the load arrived as intended, and what the lab itself takes of the machine.",
    sections=(
        Section(
            "Is the generator the limit?",
            (
                USERS,
                shared.OFFERED.columns(4),
                shared.ACHIEVED.columns(4),
                DROPPED_NOW,
                LAG_NOW,
                GENERATOR_CPU_NOW,
            ),
            height=4,
        ),
        Section("Load", (shared.OFFERED_AND_ACHIEVED, IN_FLIGHT)),
        Section("Schedule", (LAG, DROPPED, GENERATOR_CPU)),
        Section("Latency", (shared.LATENCY.columns(8), LATENCY_BY_NODE, shared.LATENCY_AT_BRIDGE)),
        Section(
            "Flows at the bridge",
            (BRIDGE_FLOWS, shared.OUTSTANDING_AT_BRIDGE.columns(8), shared.ERRORS.columns(8)),
        ),
        Section("Room in the bridge", (CONNECTIONS, REQUEST_MEMORY, RPC_OF_BRIDGE, SCRAPE_TIME)),
        Section(
            "What every container takes",
            (shared.CONTAINER_CPU.columns(12), shared.CONTAINER_MEMORY.columns(12)),
        ),
        Section("Limits of the machine", (shared.CPU_STEAL.columns(8), THROTTLED.columns(8), MEMORY_SHARE.columns(8))),
    ),
)
