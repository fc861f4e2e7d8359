package net.corda.opentelemetrydriver;

import io.opentelemetry.api.OpenTelemetry;
import org.cordalab.nodes.traces.Traces;

/**
 * What Corda 4.10 and later look for by this name, in a node and in an RPC client, to have their spans kept. Without such
 * a class, they go nowhere. R3 publishes one with the same name, which sends OTLP by gRPC only.
 */
public final class OpenTelemetryDriver {
    private final Traces traces;

    /** @param serviceName the X.500 name of a node, or the name of a client */
    public OpenTelemetryDriver(String serviceName) {
        traces = Traces.ofProcess(serviceName);
    }

    public OpenTelemetry getOpenTelemetry() {
        return traces;
    }

    /** Does nothing. The other connections of an RPC client go on, and the process writes its last spans when it ends. */
    public void shutdown() {}
}
