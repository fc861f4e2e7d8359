"""Corda node: what every node does, from its flows down to its process. The notary is one of them."""

from grafana.boards import shared
from grafana.boards.model import Board, Panel, Query, Section
from grafana.boards.queries import CORDA, NODE, rate, sum_by, to_peer

# --- flows ------------------------------------------------------------------------------------------------------------

FLOW_DURATION = Panel(
    title="Flow duration at the node, p95",
    description="Time from the call of a flow to its success, by node and flow class. The node keeps a decaying sample "
    "of about five minutes, so this lags behind the load and is never the percentile of a run. Good: flat. Compare "
    "initiator, responder and notary to see where the time goes.",
    unit="s",
    queries=(
        Query(f'max by (node, flow) (corda_flow_duration_seconds{{quantile="0.95", {NODE}}})', "{{node}} {{flow}}"),
    ),
)

_FINISHED = f"sum by (node) (corda_flows_finished_total{{{NODE}}})"

FLOWS_FAILED = Panel(
    title="Flows failed since the node started",
    description="Flows that ended without success, counted by each node since it started. Good: a flat line. A failed "
    "flow raises it at every node that takes part in it.",
    unit="none",
    queries=(
        Query(
            f'clamp_min({_FINISHED} - (sum by (node) (corda_flow_duration_seconds_count{{outcome="success", {NODE}}}) '
            f"or 0 * {_FINISHED}), 0)",
            "{{node}}",
        ),
    ),
    decimals=0,
)


# --- spans ------------------------------------------------------------------------------------------------------------

SPANS_INSIDE = Panel(
    title="Flows inside each span",
    description="How many traced flows were in each span on average, and in no other span within it. The spans are "
    "stacked; their sum is the number of traced flows in flight. Good: a flat stack. The span that grows with the load "
    "is where flows wait.",
    unit="short",
    queries=(Query(sum_by("span", rate("corda_span_self_seconds_total", NODE)), "{{span}}"),),
    width=12,
    stacked=True,
)

SPAN_TIME = Panel(
    title="Mean time of a span",
    description="The mean time of the spans that ended, with all spans within them. Good: flat. The report of a run "
    "has the stages of each flow, with percentiles.",
    unit="s",
    queries=(
        Query(
            f"{sum_by('span', rate('corda_span_seconds_total', NODE))}"
            f" / ({sum_by('span', rate('corda_span_ended_total', NODE))} > 0)",
            "{{span}}",
        ),
    ),
    width=12,
)

SPANS = Panel(
    title="Spans",
    description="Spans per second that the nodes wrote for the report or sent to a collector, and spans that they "
    "dropped. Good: none dropped. If spans are dropped, traces are not whole.",
    unit="ops",
    queries=(Query(sum_by("outcome, to", rate("corda_spans_total", NODE)), "{{outcome}} {{to}}"),),
    width=12,
)

# --- RPC and messages -------------------------------------------------------------------------------------------------

RPC_REQUESTS = Panel(
    title="RPC requests per second",
    description="Requests that arrived at each node's RPC broker, from the bridge and from others. Good: proportional "
    "to the achieved rate, and near 0 at nodes that start no flows.",
    unit="reqps",
    queries=(Query(sum_by("node", rate("artemis_queue_messages_added_total", 'broker="RPC"', NODE)), "{{node}}"),),
)

RPC_WAITING = Panel(
    title="RPC requests waiting",
    description="RPC requests that the node's four RPC threads have not yet taken. Good: near 0. If it grows, callers "
    "ask for more than these threads can do.",
    unit="none",
    queries=(Query(f"node:artemis_rpc_queue_waiting:sum{{{NODE}}}", "{{node}}"),),
    decimals=0,
)

RPC_CONNECTIONS = Panel(
    title="RPC connections",
    description="Open connections to the node's RPC broker, its own included. Good: constant during a run. If it "
    "grows, a client does not close its connections.",
    unit="none",
    queries=(Query(f"sum by (node) (artemis_rpc_connections{{{NODE}}})", "{{node}}"),),
    decimals=0,
)

MESSAGES = Panel(
    title="Artemis messages per second",
    description="Messages put into the P2P broker's queues per second: inbound (received from other nodes) and peer "
    "(sent to them). Good: proportional to the achieved rate. If there are more inbound messages per flow than before, "
    "the flow has become chattier.",
    unit="mps",
    queries=(
        Query(
            sum_by("node, queue", rate("artemis_queue_messages_added_total", 'broker="P2P"', NODE)),
            "{{node}} {{queue}}",
        ),
    ),
)

WAITING_BY_PEER = Panel(
    title="Messages waiting by peer",
    description="Messages of a node that another node has not yet taken. Good: near 0. A peer with a deep queue is "
    "away, slow, or behind a slow link.",
    unit="none",
    queries=(Query(to_peer(f'artemis_queue_messages{{queue="peer", {NODE}}}'), "{{node}} to {{to}}"),),
    decimals=0,
)

SENT_BY_PEER = Panel(
    title="Messages sent by peer",
    description="Messages per second from node to node. Good: proportional to the achieved rate, and only between "
    "nodes that take part in the flows.",
    unit="mps",
    queries=(Query(to_peer(rate("artemis_queue_messages_added_total", 'queue="peer"', NODE)), "{{node}} to {{to}}"),),
)

# --- processor and memory ---------------------------------------------------------------------------------------------

NODE_CPU = Panel(
    title="CPU per node",
    description="CPU time used by each node's process; 100 % is one core. Good: the sum stays below the number of "
    "cores, and no node is at its limit (NODE_CORES).",
    unit="percentunit",
    queries=(Query(f"node:process_cpu_seconds:rate20s{{{NODE}}}", "{{node}}"),),
)

NODE_HEAP = Panel(
    title="Heap per node",
    description="Heap in use as a share of its maximum. Good: a saw-tooth whose low points stay well below 85 %. If "
    "the low points climb, there is a leak or the heap is too small.",
    unit="percentunit",
    queries=(
        Query(
            f'sum by (node) (jvm_memory_used_bytes{{area="heap", {CORDA}, {NODE}}}) '
            f'/ sum by (node) (jvm_memory_max_bytes{{area="heap", {CORDA}, {NODE}}})',
            "{{node}}",
        ),
    ),
    max=1,
)

NODE_GC = Panel(
    title="GC time share per node",
    description="Share of wall-clock time spent in garbage collection. Good: below 5 %. Above 10 %, a larger heap "
    "helps more than anything else.",
    unit="percentunit",
    queries=(Query(f"node:jvm_gc_collection_seconds:rate20s{{{NODE}}}", "{{node}}"),),
)

THREADS = Panel(
    title="Threads per node",
    description="Threads of each node's JVM. Good: flat after the start. If it climbs, something starts threads and "
    "does not end them.",
    unit="none",
    queries=(Query(f"sum by (node) (jvm_threads_current{{{CORDA}, {NODE}}})", "{{node}}"),),
    decimals=0,
)

NODE_MEMORY = Panel(
    title="Memory of the node's container",
    description="Memory that the container's processes have allocated, as a share of its limit (NODE_MEMORY): heap, "
    "metaspace, compiled code and buffers. Good: flat after the warm-up, and well below 100 %. A node that reaches the "
    "limit is killed.",
    unit="percentunit",
    queries=(
        Query(
            f"sum by (node) (container_memory_bytes{{{CORDA}, {NODE}}}) "
            f"/ sum by (node) (container_memory_limit_bytes{{{CORDA}, {NODE}}})",
            "{{node}}",
        ),
    ),
    max=1,
)

NETWORK = Panel(
    title="Bytes in and out",
    description="Bytes per second that each node received from other containers and sent to them: other nodes, the "
    "bridge, PostgreSQL. Good: proportional to the achieved rate. If there are more bytes per flow than before, "
    "transactions or their backchains have grown.",
    unit="binBps",
    queries=(
        Query(sum_by("node", rate("container_network_received_bytes_total", CORDA, NODE)), "{{node}} in"),
        Query(sum_by("node", rate("container_network_sent_bytes_total", CORDA, NODE)), "{{node}} out"),
    ),
)

THROTTLED = Panel(
    title="CPU time withheld",
    description="Time per second for which the kernel kept a node waiting because it had used up its share of the CPU "
    "(NODE_CORES). Good: 0. Without a limit, it always is. Above it, the limit is what the node is waiting for.",
    unit="percentunit",
    queries=(Query(sum_by("node", rate("container_cpu_throttled_seconds_total", CORDA, NODE)), "{{node}}"),),
)

BOARD = Board(
    uid="corda-node",
    title="Corda node",
    description="What every node does: flows and their spans, RPC, messages, database, JVM and container. The "
    "open-source node exports nothing about its caches.",
    sections=(
        Section(
            "Flows",
            (
                shared.FLOWS_ENDED.columns(6),
                shared.FLOWS_IN_FLIGHT.columns(6),
                FLOW_DURATION,
                shared.WAIT_FOR_THREAD.columns(6),
            ),
        ),
        Section("Where traced flows spend their time", (SPANS_INSIDE, SPAN_TIME)),
        Section("Whole flows", (FLOWS_FAILED, shared.CHECKPOINTS, SPANS)),
        Section("RPC", (RPC_REQUESTS, RPC_WAITING, RPC_CONNECTIONS, shared.OUTSTANDING_AT_BRIDGE)),
        Section("Messages", (shared.QUEUES.columns(6), MESSAGES, WAITING_BY_PEER, SENT_BY_PEER)),
        Section(
            "Database connections",
            (
                shared.DATABASE_TRANSACTIONS.columns(8),
                shared.DATABASE_TIME.columns(8),
                shared.DATABASE_CONNECTIONS.columns(8),
            ),
        ),
        Section("JVM", (NODE_CPU, NODE_HEAP, shared.HEAP_KEPT.columns(6), NODE_GC)),
        Section("Process and container", (THREADS, NODE_MEMORY, NETWORK, THROTTLED)),
    ),
)
