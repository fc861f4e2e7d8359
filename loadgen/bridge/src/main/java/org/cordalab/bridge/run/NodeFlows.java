package org.cordalab.bridge.run;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.RemovalCause;
import com.github.benmanes.caffeine.cache.Scheduler;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import org.cordalab.bridge.flow.FlowCall;
import org.cordalab.bridge.metrics.BridgeMetrics;
import org.cordalab.bridge.metrics.BridgeMetrics.FlowMetrics;
import org.cordalab.bridge.node.NodeGateway;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The flows of one node: the outstanding flows, whose number is limited, and the outcomes of recently ended flows.
 *
 * <p>An outcome is kept for {@link #OUTCOME_RETENTION}, and at most {@link #MAX_OUTCOMES} are kept. The node keeps a
 * client id that the caller chose for the same time, so that a retry cannot run the flow twice, even if the bridge was
 * restarted in between. A client id that the bridge created is removed from the node as soon as the flow has ended,
 * because no one else has it.
 */
public final class NodeFlows implements AutoCloseable {

    static final Duration OUTCOME_RETENTION = Duration.ofMinutes(5);
    static final int MAX_OUTCOMES = 10_000;

    /**
     * Marks client ids created by the bridge, so that those left on a node after a crash of the bridge can be removed.
     */
    private static final String OWN_ID_PREFIX = "bridge-";

    private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

    private static final Logger LOG = LoggerFactory.getLogger(NodeFlows.class);

    private final NodeGateway gateway;
    private final int maxOutstanding;
    private final Duration timeLimit;
    private final BridgeMetrics metrics;
    private final LongSupplier nanoTime;

    private final Semaphore permits;
    private final Map<String, FlowRun> active = new ConcurrentHashMap<>();
    private final Cache<String, FlowRun> ended;
    private final ClientIdCleaner cleaner;
    private final Map<String, FlowMetrics> metricsByFlow = new ConcurrentHashMap<>();
    private volatile boolean stopping;

    /**
     * @param timeLimit longest time that a caller waits for an outcome, and that a start is retried
     */
    public NodeFlows(NodeGateway gateway, int maxOutstanding, Duration timeLimit, BridgeMetrics metrics) {
        this(gateway, maxOutstanding, timeLimit, metrics, System::nanoTime);
    }

    NodeFlows(
            NodeGateway gateway, int maxOutstanding, Duration timeLimit, BridgeMetrics metrics, LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.gateway = gateway;
        this.maxOutstanding = maxOutstanding;
        this.timeLimit = timeLimit;
        this.metrics = metrics;
        this.permits = new Semaphore(maxOutstanding);
        this.cleaner = new ClientIdCleaner(gateway, () -> outstanding() > 0, id -> isOwnId(id) && find(id).isEmpty());
        this.ended = Caffeine.newBuilder()
                .maximumSize(MAX_OUTCOMES)
                .expireAfterWrite(OUTCOME_RETENTION)
                .scheduler(Scheduler.systemScheduler())
                .executor(Runnable::run)
                .removalListener((String id, FlowRun run, RemovalCause cause) -> {
                    if (!isOwnId(id) && run.flowId().isPresent()) {
                        cleaner.add(id);
                    }
                })
                .build();
        metrics.watchNode(
                gateway.name(), maxOutstanding, this::outstanding, () -> gateway.ready() ? 1 : 0, cleaner::queued);
        cleaner.start();
    }

    /** Returns the number of flows that were handed to the node and have no outcome yet. */
    public int outstanding() {
        return maxOutstanding - permits.availablePermits();
    }

    /** Returns the run with this client id, outstanding or recently ended. */
    public Optional<FlowRun> find(String clientId) {
        FlowRun run = active.get(clientId);
        return Optional.ofNullable(run != null ? run : ended.getIfPresent(clientId));
    }

    /**
     * Starts a flow, or finds the run that was started with the same client id.
     *
     * @throws Problem node-unavailable without a connection, too-many-outstanding-flows at the limit, invalid-request
     *     if the client id belongs to another start
     */
    public FlowRun start(FlowCall call, Optional<String> requestedId) {
        Optional<FlowRun> known = requestedId.flatMap(this::find);
        if (known.isPresent()) {
            return same(known.get(), call);
        }
        if (stopping || gateway.session().isEmpty()) {
            throw unavailable(
                    stopping ? "The bridge is stopping." : "There is no connection to " + gateway.name() + ".");
        }
        if (!permits.tryAcquire()) {
            throw new Problem(
                            ProblemType.TOO_MANY_OUTSTANDING_FLOWS,
                            "%s has %d outstanding flows, which is the limit."
                                    .formatted(gateway.name(), maxOutstanding))
                    .retryAfter(RETRY_AFTER);
        }
        String clientId = requestedId.orElseGet(() -> OWN_ID_PREFIX + UUID.randomUUID());
        FlowMetrics flowMetrics =
                metricsByFlow.computeIfAbsent(call.shortName(), flow -> metrics.flow(gateway.name(), flow));
        var run = new FlowRun(gateway, call, clientId, timeLimit, flowMetrics, nanoTime);
        Optional<FlowRun> other = enter(run);
        if (other.isPresent()) {
            permits.release();
            return same(other.get(), call);
        }
        flowMetrics.started();
        Thread.ofVirtual().start(() -> follow(run, flowMetrics));
        return run;
    }

    /**
     * Checks that a client id does not belong to another start. Starts nothing.
     *
     * @throws Problem invalid-request if it does
     */
    public void check(FlowCall call, Optional<String> requestedId) {
        requestedId.flatMap(this::find).ifPresent(run -> same(run, call));
    }

    /**
     * Enters a run, unless another run with its client id was entered, or has even ended, since the lookup. Returns the
     * other run, if any.
     */
    private Optional<FlowRun> enter(FlowRun run) {
        FlowRun other = active.putIfAbsent(run.clientId(), run);
        if (other == null) {
            other = ended.getIfPresent(run.clientId());
            if (other != null) {
                active.remove(run.clientId());
            }
        }
        return Optional.ofNullable(other);
    }

    private void follow(FlowRun run, FlowMetrics flowMetrics) {
        FlowOutcome outcome;
        try {
            outcome = run.follow();
        } catch (InterruptedException e) {
            outcome = new FlowOutcome.Lost("The bridge is stopping.");
        } catch (RuntimeException | Error e) {
            LOG.error("{}: failed to follow flow start {}", gateway.name(), run.clientId(), e);
            outcome = new FlowOutcome.Lost("The bridge failed: " + e);
        }
        count(outcome, flowMetrics);
        // This order ensures that the run can always be found. The run is counted, and its permit is released, before
        // any caller learns of its end.
        ended.put(run.clientId(), run);
        active.remove(run.clientId());
        permits.release();
        run.end(outcome);
        if (isOwnId(run.clientId()) && run.flowId().isPresent()) {
            cleaner.add(run.clientId());
        }
    }

    private static void count(FlowOutcome outcome, FlowMetrics flowMetrics) {
        switch (outcome) {
            case FlowOutcome.Completed completed -> flowMetrics.completed(completed.flowNanos());
            case FlowOutcome.Failed failed -> flowMetrics.failed(failed.accepted() ? "flow_exception" : "rejected");
            case FlowOutcome.NeverStarted neverStarted -> flowMetrics.failed("never_started");
            case FlowOutcome.Lost lost -> flowMetrics.failed("lost");
        }
    }

    private static FlowRun same(FlowRun run, FlowCall call) {
        if (run.isOf(call)) {
            return run;
        }
        throw new Problem(
                        ProblemType.INVALID_REQUEST,
                        "The client id belongs to a start of %s with other arguments or of another flow."
                                .formatted(run.shortName()))
                .field("clientId")
                .clientId(run.clientId());
    }

    private Problem unavailable(String why) {
        return new Problem(ProblemType.NODE_UNAVAILABLE, why + " Nothing was started.").retryAfter(RETRY_AFTER);
    }

    private static boolean isOwnId(String clientId) {
        return clientId.startsWith(OWN_ID_PREFIX);
    }

    /** Rejects further starts. */
    public void refuse() {
        stopping = true;
    }

    /**
     * Waits until the outstanding flows have ended. At the time limit, releases all callers that still wait for one.
     */
    public void drain(Duration limit) throws InterruptedException {
        List<FlowRun> runs = List.copyOf(active.values());
        try {
            CompletableFuture.allOf(runs.stream().map(FlowRun::ended).toArray(CompletableFuture<?>[]::new))
                    .get(Math.max(0, limit.toMillis()), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            runs.forEach(run -> run.abandon("The bridge was stopped while the flow ran."));
        } catch (ExecutionException e) {
            throw new IllegalStateException("A run must end with an outcome", e);
        }
    }

    @Override
    public void close() {
        cleaner.close();
    }
}
