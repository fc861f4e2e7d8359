"""Parts of queries that several panels need."""

NODE = 'node=~"$node"'
"""The nodes that were chosen at the top of the board."""
CORDA = 'job="corda"'
"""The nodes, for metrics that other targets have too. The bridge's have no node, which `.*` matches."""
WINDOW = "[$__rate_interval]"
"""The window of a rate: Grafana makes it four scrapes at least, and longer if a pixel is."""
CONTAINER = 'container=~"$node|bridge|locust|PostgreSQL|prometheus|postgres-exporter"'
"""The containers of the chosen nodes, and all others."""

ALERTS = (
    "NodeDown",
    "FlowsStuck",
    "FlowsInHospital",
    "QueueGrowing",
    "HeapFull",
    "GeneratorSaturated",
    "CountsApart",
    "DiskNearlyFull",
    "CpuStolen",
)
"""The alerts of monitoring/prometheus/rules/alerts.yml."""


def rate(counter: str, *matchers: str) -> str:
    """Return the rate of a counter: ``rate(name{matchers}[$__rate_interval])``."""
    return f"rate({counter}{{{', '.join(matchers)}}}{WINDOW})"


def sum_by(labels: str, vector: str) -> str:
    """Return the sums of a vector by labels."""
    return f"sum by ({labels}) ({vector})"


def or_zero(expr: str) -> str:
    """Return a query that is 0 where there is nothing to add up, such as before the first run."""
    return f"{expr} or vector(0)"


def quantile_by(labels: str, quantile: str, buckets: str) -> str:
    """Return a percentile of a histogram by ``labels``. ``buckets`` are rates."""
    return f"histogram_quantile({quantile}, sum by ({labels}) ({buckets}))"


def to_peer(vector: str) -> str:
    """Return a vector with the label ``peer`` by the node that this is, or by the peer itself if no node says so.

    The queues of a node name their peers by the beginning of the key hash. Each node says what its own is.
    """
    own = 'label_replace(artemis_inbound_consumers, "to", "$1", "node", "(.+)")'
    names = f"topk by (peer) (1, group by (peer, to) ({own}))"
    unknown = f'label_replace({vector} unless on (peer) artemis_inbound_consumers, "to", "$1", "peer", "(.+)")'
    return f"sum by (node, to) ({vector} * on (peer) group_left (to) {names} or {unknown})"


def by_short_name(flows: str) -> str:
    """Return a vector of nodes by flow, as the bridge calls flows: by their class without its package."""
    short = f'label_replace({flows}, "short", "$1", "flow", "(?:.*\\\\.)?([^.]+)")'
    return f'sum by (node, flow) (label_replace(sum by (node, short) ({short}), "flow", "$1", "short", "(.+)"))'
