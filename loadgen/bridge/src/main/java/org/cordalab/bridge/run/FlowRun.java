package org.cordalab.bridge.run;

import io.opentelemetry.context.Context;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.cordalab.bridge.flow.FlowCall;
import org.cordalab.bridge.metrics.BridgeMetrics.FlowMetrics;
import org.cordalab.bridge.node.NoConnectionException;
import org.cordalab.bridge.node.NodeGateway;
import org.cordalab.bridge.node.NodeSession;
import org.cordalab.bridge.node.NodeUnavailableException;
import org.cordalab.bridge.node.StartedFlow;

/**
 * One flow start, followed from the RPC until its outcome is known, over as many connections as necessary.
 *
 * <p>The run continues after the request that started it. A caller that disconnects or times out changes nothing for
 * the node, so it must not change the number of outstanding flows either.
 */
public final class FlowRun {

    private final NodeGateway gateway;
    private final String fingerprint;
    private final String clientId;
    private final FlowMetrics metrics;
    private final LongSupplier nanoTime;
    private final long beganAt;
    private final Instant startedAt = Instant.now();
    private final long startUntil;
    private final CompletableFuture<FlowOutcome> outcome = new CompletableFuture<>();
    private final AtomicReference<ClientIdUse> clientIdUse;
    private final Context trace = Context.current();

    /** Released at the end, because arguments may be large and ended runs are kept for an hour. */
    private volatile FlowCall call;

    /** Whether the run only checks from now on whether the node has the flow. */
    private boolean startIsOver;

    private volatile String flowId;
    private volatile long rpcNanos;
    private volatile long flowNanos;
    private volatile long resultBytes;

    /** Who needs the client id after the flow has ended. It leaves {@link #INTERNAL} at most once. */
    private enum ClientIdUse {
        /** Only this bridge. */
        INTERNAL,
        /** A caller may ask with it. */
        KNOWN_TO_CALLER,
        /** No one. */
        RELEASED
    }

    /**
     * @param clientIdIsCallers whether the caller chose the client id
     * @param startWithin how long the start is retried if the connection breaks during it; after that, the run only
     *     checks whether the node has the flow
     */
    FlowRun(
            NodeGateway gateway,
            FlowCall call,
            String clientId,
            boolean clientIdIsCallers,
            Duration startWithin,
            FlowMetrics metrics,
            LongSupplier nanoTime) {
        this.gateway = gateway;
        this.call = call;
        this.fingerprint = call.fingerprint();
        this.clientId = clientId;
        this.clientIdUse =
                new AtomicReference<>(clientIdIsCallers ? ClientIdUse.KNOWN_TO_CALLER : ClientIdUse.INTERNAL);
        this.nanoTime = nanoTime;
        this.beganAt = nanoTime.getAsLong();
        this.startUntil = beganAt + startWithin.toNanos();
        this.metrics = metrics;
    }

    public String clientId() {
        return clientId;
    }

    /** Returns the fingerprint of the start, see {@link FlowCall}. */
    String fingerprint() {
        return fingerprint;
    }

    /** Returns the node's id of the flow; empty until the node has accepted it. */
    public Optional<String> flowId() {
        return Optional.ofNullable(flowId);
    }

    /** Returns the duration of the RPC that started the flow; empty if the run had to attach to the flow later. */
    public Optional<Duration> rpcTime() {
        return rpcNanos == 0 ? Optional.empty() : Optional.of(Duration.ofNanos(rpcNanos));
    }

    /** Returns when the bridge began to start the flow. */
    public Instant startedAt() {
        return startedAt;
    }

    /** Returns the time from the start of the flow until its result or its exception arrived; empty until then. */
    public Optional<Duration> flowTime() {
        return flowNanos == 0 ? Optional.empty() : Optional.of(Duration.ofNanos(flowNanos));
    }

    /** Returns the outcome, if it is already known. */
    public Optional<FlowOutcome> outcome() {
        return Optional.ofNullable(outcome.getNow(null));
    }

    /**
     * Waits for the outcome. Returns empty if it is not known within the limit. The client id is then kept after the
     * end of the flow, so that the caller can ask with it.
     */
    public Optional<FlowOutcome> await(Duration limit) throws InterruptedException {
        try {
            return Optional.of(outcome.get(Math.max(0, limit.toNanos()), TimeUnit.NANOSECONDS));
        } catch (TimeoutException e) {
            // If the client id was released at this moment, the outcome is there in the next one.
            return discloseClientId() ? Optional.empty() : Optional.of(outcome.join());
        } catch (ExecutionException e) {
            throw new IllegalStateException("A run must end with an outcome", e);
        }
    }

    /** Returns a future that completes when the run ends. From then on, it does not hold the arguments. */
    public CompletableFuture<FlowOutcome> ended() {
        return outcome;
    }

    /** Releases all waiting callers, unless the run is ending anyway. */
    void abandon(String why) {
        if (discloseClientId()) {
            outcome.complete(new FlowOutcome.Lost(why));
        }
    }

    /** Lets a caller know the client id. Returns whether it is kept, which it is not if it was released before. */
    boolean discloseClientId() {
        return clientIdUse.compareAndSet(ClientIdUse.INTERNAL, ClientIdUse.KNOWN_TO_CALLER)
                || clientIdUse.get() == ClientIdUse.KNOWN_TO_CALLER;
    }

    /** Declares that the outcome is about to be delivered. Returns whether no caller knows the client id. */
    boolean releaseClientId() {
        return clientIdUse.compareAndSet(ClientIdUse.INTERNAL, ClientIdUse.RELEASED);
    }

    /** Returns about how many bytes the result takes, zero until the outcome is known. */
    long resultBytes() {
        return resultBytes;
    }

    /** Notes the size of the result, which must be known before the run is kept. */
    void weigh(FlowOutcome result) {
        resultBytes = switch (result) {
            case FlowOutcome.Completed completed -> completed.result().bytes();
            case FlowOutcome.Failed failed -> 2L * failed.message().length();
            default -> 0;
        };
    }

    /** Returns whether the run still holds the arguments of this start, and not those of another one alike. */
    public boolean needs(FlowCall start) {
        return call == start;
    }

    void end(FlowOutcome result) {
        call = null;
        outcome.complete(result);
    }

    /** Starts the flow and waits for its outcome, without a time limit. */
    FlowOutcome follow() throws InterruptedException {
        // From the first attempt to start the flow that broke off, only the node knows whether it has the flow.
        boolean mayBeStarted = false;
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
            } catch (NoConnectionException e) {
                if (!mayBeStarted) {
                    return new FlowOutcome.NoConnection(e.getMessage());
                }
                startIsOver = true;
            } catch (NodeUnavailableException e) {
                if (!session.get().supportsClientIds()) {
                    return withoutClientId();
                }
                mayBeStarted = true;
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
        if (flowId != null || startIsOver || nanoTime.getAsLong() - startUntil > 0) {
            return session.reattach(clientId);
        }
        long rpcBeganAt = nanoTime.getAsLong();
        StartedFlow started =
                trace.wrapSupplier(() -> session.start(clientId, call)).get();
        rpcNanos = nanoTime.getAsLong() - rpcBeganAt;
        metrics.rpcReturned(rpcNanos);
        return Optional.of(started);
    }

    private FlowOutcome completed(Object value) {
        flowNanos = nanoTime.getAsLong() - beganAt;
        return new FlowOutcome.Completed(ResultSummary.of(value), flowNanos);
    }

    private FlowOutcome failed(Throwable answer) {
        flowNanos = nanoTime.getAsLong() - beganAt;
        return FlowOutcome.Failed.of(answer, flowId != null);
    }

    private static FlowOutcome forgotten() {
        return new FlowOutcome.Lost("After the connection broke, the node no longer knew the client id.");
    }

    private static FlowOutcome withoutClientId() {
        return new FlowOutcome.Lost(
                "The connection broke, and without client ids (Corda before 4.6) the outcome cannot be asked for.");
    }
}
