"""Known samples of all signals, as a run without errors and a run with errors would leave them in Prometheus.

All counters rise at a constant rate, so that the result of every query is known.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from corda_lab.clients.prometheus import Prometheus

SCRAPE_SECONDS = 5
STRETCH_SECONDS = 600

MIB = 1024 * 1024
GIB = 1024 * MIB
RUN = "20260102T030405Z-iou"
PEERS = {"Notary": "DLnnnnnnnn", "PartyA": "DLaaaaaaaa", "PartyB": "DLbbbbbbbb", "PartyC": "DLcccccccc"}
"""The beginning of the key hash of each node, by which the queues of its peers name it."""
IOU = "org.cordalab.flows.Iou"
RESPONDER = "org.cordalab.flows.IouResponder"
NOTARISE = "net.corda.node.services.transactions.NonValidatingNotaryFlow"

Labels = dict[str, str]


@dataclass(frozen=True)
class Known:
    """A series with known values: start + rise × seconds since the beginning of the stretch."""

    name: str
    labels: Labels
    start: float = 0
    rise: float = 0


def _histogram(name: str, labels: Labels, bounds: list[tuple[str, float]], mean: float = 1) -> list[Known]:
    """A histogram that fills at a constant rate. ``bounds`` are (le, observations/s up to it); the last is +Inf."""
    buckets = [Known(f"{name}_bucket", labels | {"le": le}, rise=rise) for le, rise in bounds]
    total = bounds[-1][1]
    return [*buckets, Known(f"{name}_count", labels, rise=total), Known(f"{name}_sum", labels, rise=total * mean)]


def _quantiles(name: str, labels: Labels, p95: float) -> list[Known]:
    quantiles = {"0.50": p95 / 2, "0.95": p95, "0.99": p95 * 2}
    return [Known(name, labels | {"quantile": quantile}, start=value) for quantile, value in quantiles.items()]


def _process(labels: Labels, cores: float, resident: float) -> list[Known]:
    return [
        Known("process_cpu_seconds_total", labels, rise=cores),
        Known("process_resident_memory_bytes", labels, start=resident),
    ]


def _container(labels: Labels, cores: float, memory: float, limit: float) -> list[Known]:
    return [
        Known("container_cpu_seconds_total", labels, rise=cores),
        Known("container_cpu_throttled_seconds_total", labels),
        Known("container_memory_bytes", labels, start=memory),
        Known("container_memory_limit_bytes", labels, start=limit),
    ]


def _node(name: str, flows: float, in_flight: float, cores: float) -> list[Known]:
    """The series that every node always exports."""
    on = {"job": "corda", "instance": f"{name.lower()}:9404", "node": name}
    pool = on | {"pool": "HikariPool-1"}
    inbound = {"broker": "P2P", "queue": "inbound"}
    peers = [{"broker": "P2P", "queue": "peer", "peer": PEERS[peer]} for peer in ("PartyA", "PartyB")]
    return [
        Known("up", on, start=1),
        Known("scrape_duration_seconds", on, start=0.05),
        Known("corda_node_status", on | {"status": "STARTED"}, start=1),
        Known("corda_flows_started_total", on, start=100 + in_flight, rise=flows),
        Known("corda_flows_finished_total", on, start=100, rise=flows),
        Known("corda_flows_in_flight", on, start=in_flight),
        Known("corda_checkpoints_total", on, rise=4 * flows),
        Known("hikari_connections_active", pool, start=2),
        Known("hikari_connections_idle", pool, start=8),
        Known("hikari_connections_pending", pool, start=1),
        Known("hikari_connections_max", pool, start=10),
        Known("hikari_connection_timeouts_total", pool),
        Known("hikari_connections_taken_total", pool, rise=5 * flows),
        *_quantiles("hikari_connection_usage_seconds", pool, 0.02),
        Known("artemis_journal_buffer_timeout_seconds", on, start=0.00333),
        Known("artemis_queue_messages", on | inbound, start=5),
        Known("artemis_queue_messages", on | peers[0], start=1),
        Known("artemis_queue_messages", on | peers[1], start=2),
        Known("artemis_queue_messages_added_total", on | inbound, rise=6 * flows),
        Known("artemis_queue_messages_added_total", on | peers[0], rise=3 * flows),
        Known("artemis_queue_messages_added_total", on | peers[1], rise=1 * flows),
        Known("artemis_queue_messages_added_total", on | {"broker": "RPC", "queue": "server"}, rise=2 * flows),
        Known("artemis_inbound_consumers", on | {"peer": PEERS[name]}, start=1),
        Known("artemis_rpc_connections", on, start=2),
        Known("artemis_rpc_queue_messages", on, start=7),
        Known("artemis_rpc_queue_messages_delivering", on, start=4),
        Known("jvm_memory_pool_used_bytes", on | {"pool": "G1 Eden Space"}, start=250 * MIB),
        Known("jvm_memory_pool_used_bytes", on | {"pool": "G1 Survivor Space"}, start=30 * MIB),
        Known("jvm_memory_pool_used_bytes", on | {"pool": "G1 Old Gen"}, start=120 * MIB),
        Known("jvm_memory_pool_collection_used_bytes", on | {"pool": "G1 Old Gen"}, start=100 * MIB),
        Known("jvm_memory_pool_max_bytes", on | {"pool": "G1 Old Gen"}, start=1000 * MIB),
        Known("jvm_threads_current", on, start=120),
        Known("jvm_memory_used_bytes", on | {"area": "heap"}, start=400 * MIB),
        Known("jvm_memory_used_bytes", on | {"area": "nonheap"}, start=300 * MIB),
        Known("jvm_memory_max_bytes", on | {"area": "heap"}, start=1000 * MIB),
        Known("jvm_memory_max_bytes", on | {"area": "nonheap"}, start=-1),
        Known("jvm_gc_collection_seconds_count", on | {"gc": "G1 Young Generation"}, rise=0.5),
        Known("jvm_gc_collection_seconds_sum", on | {"gc": "G1 Young Generation"}, rise=0.03),
        Known("jvm_gc_collection_seconds_count", on | {"gc": "G1 Old Generation"}),
        Known("jvm_gc_collection_seconds_sum", on | {"gc": "G1 Old Generation"}, rise=0.01),
        *_process(on, cores, 900 * MIB),
        Known("process_start_time_seconds", on, start=1_790_000_000),
        *_container(on, cores + 0.01, 800 * MIB, 2000 * MIB),
        Known("container_network_received_bytes_total", on, rise=2000 * flows),
        Known("container_network_sent_bytes_total", on, rise=1000 * flows),
        Known("container_disk_free_bytes", on, start=50 * GIB),
        Known("corda_database_file_bytes", on, start=20 * MIB),
    ]


def _flows(node: str, flow: str, succeeded: float, p95: float) -> list[Known]:
    """The additional series of a node that takes part in flows."""
    on = {"job": "corda", "instance": f"{node.lower()}:9404", "node": node}
    return [
        Known("corda_flow_duration_seconds_count", on | {"flow": flow, "outcome": "success"}, 100, succeeded),
        *_quantiles("corda_flow_duration_seconds", on | {"flow": flow}, p95),
        *_quantiles("corda_flow_startup_queue_seconds", on, p95 / 10),
    ]


def _spans(node: str, spans: Mapping[str, tuple[float, float]], ended: float) -> list[Known]:
    """The series of spans: by name, how long each took and how much of it was its own."""
    on = {"job": "corda", "instance": f"{node.lower()}:9404", "node": node}
    return [
        *(
            Known(name, on | {"span": span}, rise=rise)
            for span, (seconds, own) in spans.items()
            for name, rise in (
                ("corda_span_ended_total", ended),
                ("corda_span_seconds_total", seconds * ended),
                ("corda_span_self_seconds_total", own * ended),
            )
        ),
        Known("corda_spans_total", on | {"outcome": "written", "to": "file"}, rise=len(spans) * ended),
        Known("corda_spans_total", on | {"outcome": "dropped", "to": "file"}),
    ]


def _postgres() -> list[Known]:
    """The series of the PostgreSQL exporter."""
    on = {"job": "postgres", "instance": "172.18.0.3:9187"}
    database = on | {"datid": "16385", "datname": "corda"}
    server = on | {"server": "postgres:5432"}
    activity = server | {"datname": "corda", "application_name": "PostgreSQL JDBC Driver"}
    return [
        Known("up", on, start=1),
        Known("scrape_duration_seconds", on, start=0.02),
        Known("pg_up", on, start=1),
        Known("pg_stat_activity_count", activity | {"usename": "partya", "state": "active"}, start=2),
        Known("pg_stat_activity_count", activity | {"usename": "partya", "state": "idle"}, start=8),
        Known("pg_stat_activity_count", server | {"datname": "corda", "usename": "", "state": "disabled"}),
        Known("pg_stat_database_xact_commit", database, rise=200),
        Known("pg_stat_database_xact_rollback", database, rise=1),
        Known("pg_stat_database_blks_hit", database, rise=900),
        Known("pg_stat_database_blks_read", database, rise=100),
        Known("pg_stat_database_blk_read_time", database, rise=50),
        Known("pg_stat_database_blk_write_time", database, rise=20),
        Known("pg_locks_count", on | {"datname": "corda", "mode": "rowexclusivelock"}, start=4),
        Known("pg_locks_count", on | {"datname": "corda", "mode": "sharelock"}),
        Known("pg_schema_size_bytes", server | {"schema": "partya"}, start=3 * MIB),
        Known("pg_schema_size_bytes", server | {"schema": "partyk"}),
        Known("pg_large_objects_size_bytes", server, start=9 * MIB),
        Known("pg_schema_rows_inserted_total", server | {"schema": "partya"}, rise=30),
        Known("pg_schema_rows_updated_total", server | {"schema": "partya"}, rise=10),
        Known("pg_schema_rows_deleted_total", server | {"schema": "partya"}, rise=20),
        Known("pg_container_cpu_seconds_total", server, rise=0.5),
        Known("pg_container_memory_bytes", server, start=300 * MIB),
        *_process(on, 0.01, 30 * MIB),
    ]


def _bridge_gauges(bridge: dict[str, str]) -> Iterator[Known]:
    yield Known("bridge_connections", bridge, start=24)
    yield Known("bridge_connections_limit", bridge, start=1536)
    yield Known("bridge_request_memory_bytes", bridge, start=40_000)
    yield Known("bridge_request_memory_limit_bytes", bridge, start=48 * MIB)
    for node in ("Notary", "PartyA", "PartyB", "PartyC"):
        of_node = bridge | {"node": node}
        yield Known("bridge_node_ready", of_node, start=1)
        yield Known("bridge_flows_in_flight", of_node, start=19 if node == "PartyA" else 0)
        yield Known("bridge_flows_in_flight_limit", of_node, start=800)
        yield Known("bridge_rpc_connections", of_node, start=1)
        yield Known("bridge_client_ids_to_remove", of_node, start=600 if node == "PartyA" else 0)


def run_samples(failed: float) -> list[Known]:
    """A run of the IOU workload with 11 requests/s and 10 answers/s, of which ``failed`` are errors."""
    ok = 10 - failed
    bridge = {"job": "bridge", "instance": "bridge:8081"}
    locust = {"job": "locust", "instance": "172.18.0.8:9646"}
    prometheus = {"job": "prometheus", "instance": "localhost:9090"}
    started = bridge | {"node": "PartyA", "flow": "Iou"}
    workload = locust | {"workload": "iou", "node": "PartyA"}
    flow_bounds = [("0.5", ok * 0.5), ("1.0", ok * 0.95), ("2.0", ok), ("+Inf", ok)]
    rpc_bounds = [("0.01", ok * 0.9), ("0.02", ok), ("+Inf", ok)]
    request_bounds = [("1.0", 5.0), ("2.0", 9.5), ("4.0", 10.0), ("+Inf", 10.0)]
    # Without errors it is a closed load, which has no lag; with errors an open one, of which half is late.
    lag_bounds = [("0.01", failed * 2.5), ("0.02", failed * 5), ("+Inf", failed * 5)]
    series = [
        *_node("Notary", ok, 3, 0.25),
        *_node("PartyA", 10, 20, 1.5),
        *_node("PartyB", ok, 18, 1),
        *_node("PartyC", 0, 0, 0.02),
        *_flows("Notary", NOTARISE, ok, 0.2),
        *_flows("PartyA", IOU, ok, 1),
        *_flows("PartyB", RESPONDER, ok, 0.6),
        *_spans("PartyA", {"Iou": (0.5, 0.1), "FinalityFlow": (0.4, 0.4)}, ok),
        *_spans("PartyB", {"IouResponder": (0.3, 0.3)}, ok),
        *(Known("up", target, start=1) for target in (bridge, locust, prometheus)),
        *(Known("scrape_duration_seconds", target, start=0.01) for target in (bridge, locust, prometheus)),
        *_bridge_gauges(bridge),
        Known("bridge_flows_started_total", started, rise=10),
        Known("bridge_flows_completed_total", started, rise=ok),
        *_histogram("bridge_flow_duration_seconds", started, flow_bounds),
        *_histogram("bridge_rpc_duration_seconds", started, rpc_bounds),
        Known("locust_users", locust, start=20),
        Known("locust_run_info", workload | {"run": RUN, "load": "closed, 20 users"}, start=1),
        Known("locust_requests_in_flight", locust, start=19),
        Known("locust_arrivals_dropped_total", locust, rise=failed / 4),
        *_histogram("locust_schedule_lag_seconds", locust, lag_bounds),
        Known("locust_requests_started_total", workload, rise=11),
        Known("locust_requests_total", workload | {"outcome": "ok"}, rise=ok),
        *_histogram("locust_request_latency_seconds", workload, request_bounds),
        *_process(bridge, 0.3, 200 * MIB),
        Known("process_start_time_seconds", bridge, start=1_790_000_000),
        *_container(bridge, 0.31, 250 * MIB, 1000 * MIB),
        Known("host_cpu_seconds_total", bridge, rise=2),
        Known("host_cpu_stolen_seconds_total", bridge, rise=0.04),
        *_process(locust, 0.2, 100 * MIB),
        *_container(locust, 0.21, 120 * MIB, 480 * MIB),
        *_process(prometheus, 0.1, 50 * MIB),
        *_postgres(),
    ]
    rejected = bridge | {"node": "PartyA", "reason": "too-many-outstanding-flows"}
    failures = [
        Known("bridge_flows_failed_total", started | {"reason": "flow_exception"}, rise=failed * 0.75),
        Known("bridge_flows_rejected_total", rejected, rise=failed * 0.25),
        Known("locust_requests_total", workload | {"outcome": "failed"}, rise=failed),
        Known("lab_fault_info", locust | {"kind": "kill", "target": "notary"}, start=1),
    ]
    return [*series, *(failures if failed else [])]


@dataclass(frozen=True)
class Stretch:
    """Ten minutes of samples. Times are in Unix seconds."""

    start: int
    series: list[Known]

    @property
    def end(self) -> int:
        return self.start + STRETCH_SECONDS

    def lines(self) -> Iterator[str]:
        for known in self.series:
            labels = ",".join(f'{label}="{value}"' for label, value in known.labels.items())
            for seconds in range(0, STRETCH_SECONDS + 1, SCRAPE_SECONDS):
                yield f"{known.name}{{{labels}}} {known.start + known.rise * seconds} {self.start + seconds}\n"


@dataclass(frozen=True)
class Loaded:
    """A Prometheus with the samples, and their two stretches."""

    prometheus: Prometheus
    faultless: Stretch
    with_errors: Stretch
