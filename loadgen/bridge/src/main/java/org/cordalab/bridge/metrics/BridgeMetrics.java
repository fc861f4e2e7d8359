package org.cordalab.bridge.metrics;

import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.instrumentation.jvm.JvmMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.Unit;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.DoubleSupplier;
import org.cordalab.bridge.problem.ProblemType;

/** All metrics of the bridge, in its own registry. */
public final class BridgeMetrics {

    /** From a flow without a peer on an idle node to a flow that waits for its whole time limit. */
    private static final double[] FLOW_SECONDS = {
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 300
    };

    private static final double[] RPC_SECONDS = {
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30
    };

    /** Why a flow did not complete: the label {@code reason} of {@code bridge_flows_failed}. */
    public enum Failure {
        FLOW_EXCEPTION,
        REJECTED,
        NEVER_STARTED,
        NO_CONNECTION,
        LOST;

        public String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Why a start may be rejected while the lab generates load. Exported as 0 before it happens. */
    private static final List<ProblemType> REJECTIONS_OF_LOAD =
            List.of(ProblemType.TOO_MANY_OUTSTANDING_FLOWS, ProblemType.NODE_UNAVAILABLE, ProblemType.OVERLOADED);

    private static final String NODE = "node";
    private static final String FLOW = "flow";

    private final PrometheusRegistry registry = new PrometheusRegistry();
    private final Map<String, DoubleSupplier> inFlight = new ConcurrentHashMap<>();
    private final Map<String, DoubleSupplier> inFlightLimit = new ConcurrentHashMap<>();
    private final Map<String, DoubleSupplier> ready = new ConcurrentHashMap<>();
    private final Map<String, DoubleSupplier> clientIdsToRemove = new ConcurrentHashMap<>();
    private final Map<String, DoubleSupplier> rpcConnections = new ConcurrentHashMap<>();

    private final Counter started = counter("bridge_flows_started", "Flows handed to the node.", NODE, FLOW);
    private final Counter completed =
            counter("bridge_flows_completed", "Flows whose result arrived from the node.", NODE, FLOW);
    private final Counter failed = counter(
            "bridge_flows_failed",
            "Flows that did not complete: flow_exception (the flow threw), rejected (the node did not start it),"
                    + " never_started (the connection broke before the node had it), no_connection (no RPC connection"
                    + " could be opened for it), lost (outcome unknown).",
            NODE,
            FLOW,
            "reason");
    private final Counter rejected =
            counter("bridge_flows_rejected", "Flow starts that the bridge rejected, by problem slug.", NODE, "reason");
    private final Counter httpRequests =
            counter("bridge_http_requests", "HTTP requests answered, by status and route.", "status", "route");
    private final Histogram flowDuration = histogram(
            "bridge_flow_duration_seconds",
            "From the start RPC until the flow's result arrived, of completed flows.",
            FLOW_SECONDS);
    private final Histogram rpcDuration =
            histogram("bridge_rpc_duration_seconds", "Round trip of the RPC that starts a flow.", RPC_SECONDS);

    public BridgeMetrics() {
        gauge("bridge_flows_in_flight", "Flows that were handed to the node and have no outcome yet.", inFlight);
        gauge(
                "bridge_flows_in_flight_limit",
                "Maximum number of flows in flight. Further starts are answered with 429.",
                inFlightLimit);
        gauge("bridge_node_ready", "1 when the node has answered an RPC within the last seconds.", ready);
        gauge(
                "bridge_client_ids_to_remove",
                "Ended flows whose outcome the node keeps until the bridge removes it.",
                clientIdsToRemove);
        gauge(
                "bridge_rpc_connections",
                "RPC connections to the node that were opened and not closed again.",
                rpcConnections);
        JvmMetrics.builder().register(registry);
        new ContainerMetrics(Path.of("/sys/fs/cgroup"), Path.of("/proc/stat")).register(registry);
    }

    /** Starts to export the gauges of the HTTP server. */
    public void watchServer(
            DoubleSupplier connections,
            double connectionsLimit,
            DoubleSupplier requestBytes,
            double requestBytesLimit) {
        gauge("bridge_connections", "Connections of clients.", connections);
        gauge(
                "bridge_connections_limit",
                "Maximum number of connections. Further ones get 503.",
                () -> connectionsLimit);
        gauge(
                "bridge_request_memory_bytes",
                "Memory that is reserved for bodies, for the arguments of flows, and for long answers.",
                requestBytes);
        gauge(
                "bridge_request_memory_limit_bytes",
                "Maximum of the memory for requests. A request that does not fit gets 503.",
                () -> requestBytesLimit);
    }

    /** Starts to export a node's gauges. */
    public void watchNode(
            String node,
            int inFlightLimit,
            DoubleSupplier inFlight,
            DoubleSupplier ready,
            DoubleSupplier clientIdsToRemove,
            DoubleSupplier rpcConnections) {
        REJECTIONS_OF_LOAD.forEach(type -> rejected.initLabelValues(node, type.slug()));
        this.inFlightLimit.put(node, () -> inFlightLimit);
        this.inFlight.put(node, inFlight);
        this.ready.put(node, ready);
        this.clientIdsToRemove.put(node, clientIdsToRemove);
        this.rpcConnections.put(node, rpcConnections);
    }

    /** Returns the metrics of one flow on one node. Its counters are exported as 0 from now on. */
    public FlowMetrics flow(String node, String flow) {
        return new FlowMetrics(node, flow);
    }

    public void rejected(String node, String reason) {
        rejected.labelValues(node, reason).inc();
    }

    public void httpRequest(int status, String route) {
        httpRequests.labelValues(Integer.toString(status), route).inc();
    }

    /**
     * Returns the metrics page.
     *
     * @param accept the request's Accept header, or null; selects Prometheus text or OpenMetrics
     */
    public MetricsPage page(String accept) {
        return MetricsPage.of(registry, accept);
    }

    /** The metrics of one flow on one node. */
    public final class FlowMetrics {
        private final String node;
        private final String flow;
        private final CounterDataPoint startedPoint;
        private final CounterDataPoint completedPoint;

        private FlowMetrics(String node, String flow) {
            this.node = node;
            this.flow = flow;
            this.startedPoint = started.labelValues(node, flow);
            this.completedPoint = completed.labelValues(node, flow);
            for (Failure failure : Failure.values()) {
                failed.initLabelValues(node, flow, failure.label());
            }
        }

        public void started() {
            startedPoint.inc();
        }

        public void rpcReturned(long nanos) {
            rpcDuration.labelValues(node, flow).observe(Unit.nanosToSeconds(nanos));
        }

        public void completed(long nanos) {
            flowDuration.labelValues(node, flow).observe(Unit.nanosToSeconds(nanos));
            completedPoint.inc();
        }

        public void failed(String reason) {
            failed.labelValues(node, flow, reason).inc();
        }
    }

    private Counter counter(String name, String help, String... labels) {
        return Counter.builder().name(name).help(help).labelNames(labels).register(registry);
    }

    private Histogram histogram(String name, String help, double[] upperBounds) {
        return Histogram.builder()
                .name(name)
                .help(help)
                .labelNames(NODE, FLOW)
                .classicOnly()
                .classicUpperBounds(upperBounds)
                .register(registry);
    }

    private void gauge(String name, String help, Map<String, DoubleSupplier> byNode) {
        GaugeWithCallback.builder()
                .name(name)
                .help(help)
                .labelNames(NODE)
                .callback(callback -> byNode.forEach((node, value) -> callback.call(value.getAsDouble(), node)))
                .register(registry);
    }

    private void gauge(String name, String help, DoubleSupplier value) {
        GaugeWithCallback.builder()
                .name(name)
                .help(help)
                .callback(callback -> callback.call(value.getAsDouble()))
                .register(registry);
    }

    /** Exports the flows of a node as 0 before their first start, so that a rate includes the first start. */
    public void showFlows(String node, Collection<String> flows) {
        flows.forEach(flow -> {
            started.initLabelValues(node, flow);
            completed.initLabelValues(node, flow);
        });
    }
}
