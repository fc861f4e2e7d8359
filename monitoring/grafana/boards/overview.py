"""Lab overview: what one glance needs. Is the lab whole, does the load arrive, what limits it, is anything wrong?"""

from grafana.boards import shared
from grafana.boards.model import Board, Panel, Query, Section
from grafana.boards.queries import NODE, or_zero

TARGETS_DOWN = Panel(
    title="Targets down",
    description="Nodes, bridge, Locust and Prometheus itself, if none of their processes answered the last scrape. "
    "Good: 0. Any other value leaves gaps in the panels below.",
    unit="none",
    queries=(Query(or_zero("count(max by (job, node) (up) == 0)"), "Targets down"),),
    kind="stat",
    width=3,
    decimals=0,
    colours=((None, "green"), (1, "red")),
)

NODES_READY = Panel(
    title="Nodes ready",
    description="Nodes that answer the bridge's RPC calls. Good: every node of the network, which is four in the "
    "default lab.",
    unit="none",
    queries=(Query(or_zero(f"sum(bridge_node_ready{{{NODE}}})"), "Nodes ready"),),
    kind="stat",
    width=3,
    decimals=0,
    colours=((None, "red"), (1, "green")),
)

OUTSTANDING = Panel(
    title="Outstanding flows",
    description="Flows that the bridge has started but not yet answered. Good: at most the number of users, and 0 at "
    "rest.",
    unit="none",
    queries=(Query(or_zero(f"sum(bridge_flows_in_flight{{{NODE}}})"), "Outstanding flows"),),
    kind="stat",
    width=3,
    decimals=0,
)

BOARD = Board(
    uid="lab-overview",
    title="Lab overview",
    description="One Corda benchmark at a glance: the load, the nodes, what limits them, and what is wrong.",
    sections=(
        Section(
            "At a glance",
            (
                TARGETS_DOWN,
                NODES_READY,
                shared.ALERTS_FIRING,
                shared.OFFERED,
                shared.ACHIEVED,
                shared.ERROR_SHARE,
                shared.LATENCY_P95,
                OUTSTANDING,
            ),
            height=4,
        ),
        Section("Load", (shared.OFFERED_AND_ACHIEVED, shared.LATENCY)),
        Section("Flows", (shared.FLOWS_IN_FLIGHT, shared.FLOWS_ENDED, shared.WAIT_FOR_THREAD)),
        Section("What limits", (shared.CONTAINER_CPU, shared.HEAP_KEPT, shared.QUEUES)),
        Section("What is wrong", (shared.ERRORS, shared.ALERT_STATES)),
    ),
)
