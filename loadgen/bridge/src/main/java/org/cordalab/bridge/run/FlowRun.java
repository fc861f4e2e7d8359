package org.cordalab.bridge.run;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import net.corda.client.rpc.RPCException;
import org.cordalab.bridge.flow.FlowCall;
import org.cordalab.bridge.metrics.BridgeMetrics.FlowMetrics;
import org.cordalab.bridge.node.NodeGateway;
import org.cordalab.bridge.node.NodeSession;
import org.cordalab.bridge.node.NodeUnavailableException;
import org.cordalab.bridge.node.StartedFlow;

/**
 * One flow start, followed from the RPC until its outcome is known, over as many connections as that takes.
 *
 * <p>It goes on when the request that began it is over: a caller that hangs up or runs out of time changes nothing for the
 * node, so it must change nothing in what is counted as outstanding.
 */
public final class FlowRun {

    private static final int MAX_MESSAGE_CHARS = 1000;

    private final NodeGateway gateway;
    private final String shortName;
    private final String fingerprint;
    private final String clientId;
    private final FlowMetrics metrics;
    private final LongSupplier nanoTime;
    private final long beganAt;
    private final long startUntil;
    private final CompletableFuture<FlowOutcome> outcome = new CompletableFuture<>();

    /** Given up at the end: arguments may be large, and ended runs are kept for minutes. */
    private volatile FlowCall call;

    private volatile String flowId;
    private volatile long rpcNanos;

    /**
     * @param startWithin for how long the start is tried again when the connection breaks under it; later the run only
     *     looks whether the node has the flow
     */
    FlowRun(
            NodeGateway gateway,
            FlowCall call,
            String clientId,
            Duration startWithin,
            FlowMetrics metrics,
            LongSupplier nanoTime) {
        this.gateway = gateway;
        this.call = call;
        this.shortName = call.shortName();
        this.fingerprint = call.fingerprint();
        this.clientId = clientId;
        this.nanoTime = nanoTime;
        this.beganAt = nanoTime.getAsLong();
        this.startUntil = beganAt + startWithin.toNanos();
        this.metrics = metrics;
    }

    public String clientId() {
        return clientId;
    }

    /** The flow's name in metrics and messages. */
    public String shortName() {
        return shortName;
    }

    /** Whether this is the run of such a call. */
    public boolean isOf(FlowCall other) {
        return fingerprint.equals(other.fingerprint());
    }

    /** The node's id of the flow, once it has accepted it. */
    public Optional<String> flowId() {
        return Optional.ofNullable(flowId);
    }

    /** How long the RPC took that started the flow; not known when the run had to attach to it later. */
    public Optional<Duration> rpcTime() {
        return rpcNanos == 0 ? Optional.empty() : Optional.of(Duration.ofNanos(rpcNanos));
    }

    /** The outcome, if it is known by now. */
    public Optional<FlowOutcome> outcome() {
        return Optional.ofNullable(outcome.getNow(null));
    }

    /** The outcome, or nothing when it is not known within the limit. */
    public Optional<FlowOutcome> await(Duration limit) throws InterruptedException {
        try {
            return Optional.of(outcome.get(Math.max(0, limit.toNanos()), TimeUnit.NANOSECONDS));
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (ExecutionException e) {
            throw new IllegalStateException("A run ends with an outcome", e);
        }
    }

    /** Ends when the run does. */
    CompletableFuture<FlowOutcome> ended() {
        return outcome;
    }

    /** Lets everyone who waits go; whoever is first, this or {@link #end}, decides. */
    void abandon(String why) {
        outcome.complete(new FlowOutcome.Lost(why));
    }

    void end(FlowOutcome result) {
        call = null;
        outcome.complete(result);
    }

    /** Starts the flow and waits for its outcome, however long that takes. */
    FlowOutcome follow() throws InterruptedException {
        while (true) {
            Optional<NodeSession> session = gateway.awaitSession();
            if (session.isEmpty()) {
                return new FlowOutcome.Lost("The bridge is stopping.");
            }
            try {
                Optional<StartedFlow> started = attach(session.get());
                if (started.isEmpty()) {
                    return flowId == null ? new FlowOutcome.NeverStarted() : forgotten();
                }
                flowId = started.get().flowId();
                return completed(started.get().result().get());
            } catch (NodeUnavailableException e) {
                if (!session.get().supportsClientIds()) {
                    return withoutClientId();
                }
                session.get().discard(e);
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof NodeUnavailableException)) {
                    return failed(e.getCause());
                }
                if (!session.get().supportsClientIds()) {
                    return withoutClientId();
                }
            } catch (RuntimeException e) {
                return failed(e);
            }
        }
    }

    private Optional<StartedFlow> attach(NodeSession session) {
        if (flowId != null || nanoTime.getAsLong() - startUntil > 0) {
            return session.reattach(clientId);
        }
        long rpcBeganAt = nanoTime.getAsLong();
        StartedFlow started = session.start(clientId, call);
        rpcNanos = nanoTime.getAsLong() - rpcBeganAt;
        metrics.rpcReturned(rpcNanos);
        return Optional.of(started);
    }

    private FlowOutcome completed(Object value) {
        long flowNanos = nanoTime.getAsLong() - beganAt;
        return new FlowOutcome.Completed(ResultSummary.of(value), flowNanos);
    }

    private FlowOutcome failed(Throwable answer) {
        // The RPC client wraps checked exceptions, which most of Corda's are.
        Throwable error = answer instanceof RPCException && answer.getCause() != null ? answer.getCause() : answer;
        String message = error.getMessage() == null ? "no message" : error.getMessage();
        return new FlowOutcome.Failed(
                error.getClass().getName(),
                message.substring(0, Math.min(message.length(), MAX_MESSAGE_CHARS)),
                flowId != null);
    }

    private static FlowOutcome forgotten() {
        return new FlowOutcome.Lost("After the connection broke, the node no longer knew the client id.");
    }

    private static FlowOutcome withoutClientId() {
        return new FlowOutcome.Lost(
                "The connection broke, and without client ids (Corda before 4.6) the outcome cannot be asked for.");
    }
}
