package org.cordalab.bridge.stub;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.cordalab.bridge.json.Json;

/** One flow on a stub node, and what truly became of it. */
final class StubFlow {

    private final String flowId = UUID.randomUUID().toString();
    private final String node;
    private final String clientId;
    private final int index;
    private final Moment started;
    private final long dueNanos;
    private final CompletableFuture<Object> result = new CompletableFuture<>();
    private volatile End end;

    /**
     * A time on both clocks.
     *
     * @param nanos {@link System#nanoTime}, which on Linux is the clock of Python's {@code time.monotonic_ns}
     */
    record Moment(long nanos, Instant wall) {

        static Moment now() {
            return new Moment(System.nanoTime(), Instant.now());
        }
    }

    /**
     * How a flow ended.
     *
     * @param transactionId null if the flow failed
     * @param error null if the flow succeeded
     */
    private record End(Moment at, String transactionId, String error) {}

    StubFlow(String node, String clientId, int index, Moment started, long dueNanos) {
        this.node = node;
        this.clientId = clientId;
        this.index = index;
        this.started = started;
        this.dueNanos = dueNanos;
    }

    String flowId() {
        return flowId;
    }

    int index() {
        return index;
    }

    boolean hasEnded() {
        return end != null;
    }

    /** Completes with the flow's return value or exception. */
    CompletableFuture<Object> result() {
        return result;
    }

    void succeed(Moment at, String transactionId, Object value) {
        end = new End(at, transactionId, null);
        result.complete(value);
    }

    void fail(Moment at, Exception error) {
        end = new End(at, null, error.getMessage());
        result.completeExceptionally(error);
    }

    /** Returns the line of the log. Times are in Unix seconds, and in nanoseconds of the monotonic clock. */
    ObjectNode json() {
        ObjectNode json = Json.object()
                .put("index", index)
                .put("node", node)
                .put("clientId", clientId)
                .put("flowId", flowId)
                .put("startedAt", unixSeconds(started.wall()))
                .put("startedMonotonicNs", started.nanos())
                .put("dueMonotonicNs", dueNanos);
        End ended = end;
        if (ended == null) {
            return json.put("outcome", "running");
        }
        return json.put("endedAt", unixSeconds(ended.at().wall()))
                .put("endedMonotonicNs", ended.at().nanos())
                .put("outcome", ended.error() == null ? "completed" : "failed")
                .put("txId", ended.transactionId())
                .put("error", ended.error());
    }

    private static double unixSeconds(Instant wall) {
        return wall.getEpochSecond() + wall.getNano() / 1e9;
    }
}
