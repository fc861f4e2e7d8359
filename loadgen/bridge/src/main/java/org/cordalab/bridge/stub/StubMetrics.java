package org.cordalab.bridge.stub;

import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.instrumentation.jvm.JvmMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.function.LongSupplier;
import org.cordalab.bridge.metrics.MetricsPage;

/**
 * The metrics of one stub node, with the names that the JMX exporter gives those of a real node.
 *
 * <p>Those of the JVM and the process are the bridge's, because the stub nodes have no process of their own.
 */
final class StubMetrics {

    private final PrometheusRegistry registry = new PrometheusRegistry();

    /** Exports the numbers of flows that have started, succeeded and failed. */
    StubMetrics(String flow, LongSupplier started, LongSupplier succeeded, LongSupplier failed) {
        // A gauge, because a counter's name would get a suffix.
        GaugeWithCallback.builder()
                .name("corda_flow_duration_seconds_count")
                .help("Flows of a class that ended, by outcome.")
                .labelNames("flow", "outcome")
                .callback(callback -> {
                    callback.call(succeeded.getAsLong(), flow, "success");
                    callback.call(failed.getAsLong(), flow, "failure");
                })
                .register(registry);
        GaugeWithCallback.builder()
                .name("corda_flows_in_flight")
                .help("Flows started but not yet ended.")
                // The ended flows are read first, so that the difference is never negative.
                .callback(callback -> {
                    long ended = succeeded.getAsLong() + failed.getAsLong();
                    callback.call(started.getAsLong() - ended);
                })
                .register(registry);
        CounterWithCallback.builder()
                .name("corda_flows_started_total")
                .help("Flows started.")
                .callback(callback -> callback.call(started.getAsLong()))
                .register(registry);
        CounterWithCallback.builder()
                .name("corda_flows_finished_total")
                .help("Flows ended, including failed ones.")
                .callback(callback -> callback.call(succeeded.getAsLong() + failed.getAsLong()))
                .register(registry);
        JvmMetrics.builder().register(registry);
    }

    /** Returns the metrics page, in the format that the Accept header asks for. */
    MetricsPage page(String accept) {
        return MetricsPage.of(registry, accept);
    }
}
