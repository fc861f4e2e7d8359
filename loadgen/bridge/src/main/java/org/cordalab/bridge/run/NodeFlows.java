package org.cordalab.bridge.run;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Scheduler;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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
import org.cordalab.bridge.node.NodeProfile;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The flows of one node: the outstanding flows, whose number is limited, and the outcomes of ended flows.
 *
 * <p>The node keeps a client id that a caller knows for the retention, so that a repeated start cannot run the flow
 * twice, and the outcome can be asked for, even if the bridge was restarted in between. A caller knows the ids that it
 * chose, and those of the bridge that an answer without an outcome gave it, or may give it because the result is long.
 * Any other client id is removed from the node as soon as the flow has ended, because no one else has it. The last
 * outcomes, at most {@link #MAX_OUTCOMES}, are also kept here as far as the memory for them goes, so that they need no
 * RPC. Ids that an earlier bridge left on the node are kept for the retention too.
 */
public final class NodeFlows implements AutoCloseable {

    static final int MAX_OUTCOMES = 10_000;

    /** What a run takes without its result: its ids, fingerprint and times. */
    private static final int OUTCOME_BYTES = 1024;

    private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

    private static final Logger LOG = LoggerFactory.getLogger(NodeFlows.class);

    private final NodeGateway gateway;
    private final int maxOutstanding;
    /** Marks client ids that this bridge process created, so that those that no caller knows can be recognised. */
    private final String ownIdPrefix =
            "bridge-" + Integer.toHexString(UUID.randomUUID().hashCode()) + "-";

    private final BridgeMetrics metrics;
    private final LongSupplier nanoTime;

    private final Semaphore permits;
    private final Map<String, FlowRun> active = new ConcurrentHashMap<>();
    private final Cache<String, FlowRun> ended;
    private final KeptIds kept;
    private final ClientIdCleaner cleaner;
    private final Map<String, FlowMetrics> metricsByFlow = new ConcurrentHashMap<>();
    private volatile boolean stopping;
    private volatile FailedFlow lastFailure;

    /**
     * @param retention how long an outcome is kept after the end of its flow
     * @param outcomeBytes memory of the outcomes that are kept here, and as much again for the client ids that the node
     *     keeps
     */
    public NodeFlows(
            NodeGateway gateway, int maxOutstanding, Duration retention, long outcomeBytes, BridgeMetrics metrics) {
        this(gateway, maxOutstanding, retention, outcomeBytes, metrics, System::nanoTime);
    }

    NodeFlows(
            NodeGateway gateway,
            int maxOutstanding,
            Duration retention,
            long outcomeBytes,
            BridgeMetrics metrics,
            LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.gateway = gateway;
        this.maxOutstanding = maxOutstanding;
        this.metrics = metrics;
        this.permits = new Semaphore(maxOutstanding);
        this.kept = new KeptIds(retention, KeptIds.fitting(outcomeBytes), nanoTime);
        this.cleaner = new ClientIdCleaner(gateway, () -> outstanding() > 0, kept, this::sort);
        this.ended = Caffeine.newBuilder()
                .maximumWeight(outcomeBytes)
                .<String, FlowRun>weigher((clientId, run) -> weight(run, outcomeBytes))
                .expireAfterWrite(retention)
                .ticker(nanoTime::getAsLong)
                .scheduler(Scheduler.systemScheduler())
                .executor(Runnable::run)
                .build();
        metrics.watchNode(
                gateway.name(),
                maxOutstanding,
                this::outstanding,
                () -> gateway.ready() ? 1 : 0,
                cleaner::toRemove,
                gateway::rpcConnections);
        cleaner.start();
    }

    /** Returns what an ended run takes of the memory for outcomes, at least the share of one of the highest number. */
    private static int weight(FlowRun run, long outcomeBytes) {
        long share = (outcomeBytes + MAX_OUTCOMES - 1) / MAX_OUTCOMES;
        return (int) Math.min(Integer.MAX_VALUE, Math.max(share, OUTCOME_BYTES + run.resultBytes()));
    }

    /** Returns the number of flows that were handed to the node and have no outcome yet. */
    public int outstanding() {
        return maxOutstanding - permits.availablePermits();
    }

    /** Returns the last flow that failed since the bridge started; empty if none has. */
    public Optional<FailedFlow> lastFailure() {
        return Optional.ofNullable(lastFailure);
    }

    /** Returns the run with this client id, outstanding or recently ended. */
    public Optional<FlowRun> find(String clientId) {
        FlowRun run = active.get(clientId);
        return Optional.ofNullable(run != null ? run : ended.getIfPresent(clientId));
    }

    /**
     * Starts a flow, or finds the run that was started with the same client id.
     *
     * @param callerWaits how long the caller waits for the outcome. The start is not retried for longer, so that nothing
     *     begins after the caller was told that the outcome is unknown
     * @throws Problem node-unavailable without a connection, too-many-outstanding-flows at the limit, invalid-request
     *     if the client id belongs to another start
     */
    public FlowRun start(FlowCall call, Optional<String> requestedId, Duration callerWaits) {
        Optional<FlowRun> known = requestedId.flatMap(this::find);
        if (known.isPresent()) {
            requireSame(known.get().fingerprint(), call, known.get().clientId());
            return known.get();
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
        String clientId = requestedId.orElseGet(() -> ownIdPrefix + UUID.randomUUID());
        String flow = call.shortName();
        FlowMetrics flowMetrics = metricsOf(flow);
        var run = new FlowRun(gateway, call, clientId, requestedId.isPresent(), callerWaits, flowMetrics, nanoTime);
        Optional<FlowRun> other = enter(run);
        if (other.isPresent()) {
            permits.release();
            requireSame(other.get().fingerprint(), call, clientId);
            return other.get();
        }
        flowMetrics.started();
        Thread.ofVirtual().start(() -> follow(run, flow, flowMetrics));
        return run;
    }

    /**
     * Checks that a client id does not belong to another start. Starts nothing, but exports the flow's counters, so that
     * a rate includes the first start and the first failure of a load that was checked before.
     *
     * @throws Problem invalid-request if it does
     */
    public void check(FlowCall call, Optional<String> requestedId) {
        metricsOf(call.shortName());
        requestedId.ifPresent(clientId -> fingerprint(clientId).ifPresent(known -> requireSame(known, call, clientId)));
    }

    private FlowMetrics metricsOf(String flow) {
        return metricsByFlow.computeIfAbsent(flow, name -> metrics.flow(gateway.name(), name));
    }

    /** Returns whether the arguments of a repeated start can be compared; false if an earlier bridge made the start. */
    public boolean canCompare(String clientId) {
        return fingerprint(clientId).isPresent();
    }

    private Optional<String> fingerprint(String clientId) {
        Optional<FlowRun> run = find(clientId);
        return run.isPresent()
                ? run.map(FlowRun::fingerprint)
                : kept.find(clientId).flatMap(KeptIds.Kept::fingerprint);
    }

    /**
     * Returns whether only the node can answer for this client id: its flow has ended, and the bridge no longer has the
     * outcome, or never had it. A repeated start must then be answered by the node.
     */
    public boolean isOnNodeOnly(String clientId) {
        return find(clientId).isEmpty() && kept.find(clientId).isPresent();
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

    private void follow(FlowRun run, String flow, FlowMetrics flowMetrics) {
        FlowOutcome outcome;
        try {
            outcome = run.follow();
        } catch (InterruptedException e) {
            outcome = new FlowOutcome.Lost("The bridge is stopping.");
        } catch (RuntimeException | Error e) {
            LOG.error("{}: failed to follow flow start {}", gateway.name(), run.clientId(), e);
            outcome = new FlowOutcome.Lost("The bridge failed: " + e);
        }
        count(flow, outcome, flowMetrics);
        run.weigh(outcome);
        // This order ensures that the run can always be found. The run is counted, and its permit is released, before
        // any caller learns of its end.
        remember(run, outcome);
        active.remove(run.clientId());
        permits.release();
        run.end(outcome);
    }

    private void remember(FlowRun run, FlowOutcome outcome) {
        switch (outcome) {
            case FlowOutcome.Completed completed -> {
                if (completed.result().isLong()) {
                    // There may be no memory for it. The answer then gives the caller the client id instead.
                    run.discloseClientId();
                }
                rememberEnded(run);
            }
            case FlowOutcome.Failed failed -> rememberEnded(run);
            case FlowOutcome.Lost lost -> rememberLost(run);
            case FlowOutcome.NeverStarted neverStarted -> {
                // Nothing has happened, so a repeated start is a first start.
            }
            case FlowOutcome.NoConnection noConnection -> {
                // The same.
            }
        }
    }

    private void rememberEnded(FlowRun run) {
        ended.put(run.clientId(), run);
        if (!keepsClientIds() || run.flowId().isEmpty()) {
            return;
        }
        if (run.releaseClientId()) {
            cleaner.add(run.clientId());
        } else {
            kept.keep(run.clientId(), run.fingerprint());
        }
    }

    /** Leaves the answer to the node, which may still know the outcome, or get to know it. */
    private void rememberLost(FlowRun run) {
        if (keepsClientIds()) {
            run.discloseClientId();
            kept.keep(run.clientId(), run.fingerprint());
        } else {
            ended.put(run.clientId(), run);
        }
    }

    /** Returns whether the node keeps client ids; true if it was never reached. */
    private boolean keepsClientIds() {
        return gateway.profile().map(NodeProfile::supportsClientIds).orElse(true);
    }

    /** Sorts the ended flows that the node still knows into those to remove and those to keep. */
    private void sort(Set<String> clientIds) {
        for (String clientId : clientIds) {
            if (active.containsKey(clientId)) {
                continue;
            }
            boolean known = kept.hasOverflowed() || kept.find(clientId).isPresent();
            if (clientId.startsWith(ownIdPrefix) && !known) {
                cleaner.add(clientId);
            } else {
                kept.adopt(clientId);
            }
        }
    }

    /**
     * Forgets the ended flows whose client ids have a prefix, at the node and here. Flows that are running stay.
     *
     * @param limit longest time to spend; flows that are then left are reported as remaining
     * @throws Problem node-unavailable without a connection
     * @throws NodeUnavailableException if the connection breaks meanwhile
     */
    public Forgotten forget(String prefix, Duration limit) throws InterruptedException {
        var session = gateway.session()
                .orElseThrow(() -> new Problem(
                                ProblemType.NODE_UNAVAILABLE, "There is no connection to " + gateway.name() + ".")
                        .retryAfter(RETRY_AFTER));
        List<String> clientIds = session.endedClientIds().stream()
                .filter(clientId -> clientId.startsWith(prefix) && !active.containsKey(clientId))
                .toList();
        int removed = new BulkRemoval(session, clientIds, kept::forget).run(limit);
        List<String> here = ended.asMap().keySet().stream()
                .filter(clientId -> clientId.startsWith(prefix))
                .toList();
        ended.invalidateAll(here);
        int running = (int) active.keySet().stream()
                .filter(clientId -> clientId.startsWith(prefix))
                .count();
        return new Forgotten(keepsClientIds() ? removed : here.size(), running, clientIds.size() - removed);
    }

    /**
     * What {@link #forget} has done.
     *
     * @param removed ended flows that were forgotten
     * @param running flows with the prefix that have not ended
     * @param remaining ended flows that were not forgotten within the time limit
     */
    public record Forgotten(int removed, int running, int remaining) {}

    private void count(String flow, FlowOutcome outcome, FlowMetrics flowMetrics) {
        if (outcome instanceof FlowOutcome.Completed completed) {
            flowMetrics.completed(completed.flowNanos());
        }
        FailedFlow.of(flow, outcome, Instant.now()).ifPresent(failure -> {
            lastFailure = failure;
            flowMetrics.failed(failure.reason());
        });
    }

    private static void requireSame(String fingerprint, FlowCall call, String clientId) {
        if (!fingerprint.equals(call.fingerprint())) {
            throw new Problem(
                            ProblemType.INVALID_REQUEST,
                            "The client id belongs to a start with other arguments or of another flow.")
                    .field("clientId")
                    .clientId(clientId);
        }
    }

    private Problem unavailable(String why) {
        return new Problem(ProblemType.NODE_UNAVAILABLE, why + " Nothing was started.").retryAfter(RETRY_AFTER);
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
