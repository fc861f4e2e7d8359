package org.cordalab.bridge.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import net.corda.core.flows.FlowException;
import org.cordalab.bridge.flow.ArgumentMapper;
import org.cordalab.bridge.flow.ArgumentParser;
import org.cordalab.bridge.flow.FlowCall;
import org.cordalab.bridge.flow.TestParties;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.metrics.BridgeMetrics;
import org.cordalab.bridge.metrics.BridgeMetrics.Failure;
import org.cordalab.bridge.node.NoConnectionException;
import org.cordalab.bridge.node.NodeUnavailableException;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class NodeFlowsTest {

    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Duration RETENTION = Duration.ofHours(1);
    /** Room for more than the highest number of outcomes. */
    private static final long OUTCOME_BYTES = 64 * 1024 * 1024;

    private static final int LIMIT = 3;

    private final FakeNode node = new FakeNode();
    private final BridgeMetrics metrics = new BridgeMetrics();
    private final AtomicLong now = new AtomicLong();
    private NodeFlows flows;

    @AfterEach
    void close() {
        flows.close();
        node.close();
    }

    @Test
    void tellsTheResultOfAFlow() throws InterruptedException {
        flows = connected();

        FlowRun run = flows.start(iou(1), Optional.of("c1"), LONG);
        node.awaitStarted("c1");
        node.complete("c1", 42);

        var outcome = (FlowOutcome.Completed) run.await(LONG).orElseThrow();
        assertThat(outcome.result().value().intValue()).isEqualTo(42);
        assertThat(run.flowId()).isPresent();
        assertThat(metric("bridge_flows_started_total{flow=\"SampleFlows$Iou\",node=\"PartyA\"}"))
                .isEqualTo("1.0");
        assertThat(metric("bridge_flows_completed_total{flow=\"SampleFlows$Iou\",node=\"PartyA\"}"))
                .isEqualTo("1.0");
    }

    @Test
    void aFlowThatWasCheckedHasItsCountersBeforeTheFirstStart() {
        flows = connected();

        flows.check(iou(1), Optional.empty());

        for (Failure failure : Failure.values()) {
            assertThat(metric("bridge_flows_failed_total{flow=\"SampleFlows$Iou\",node=\"PartyA\",reason=\"%s\"}"
                            .formatted(failure.label())))
                    .isEqualTo("0.0");
        }
        assertThat(metric("bridge_flows_rejected_total{node=\"PartyA\",reason=\"too-many-outstanding-flows\"}"))
                .isEqualTo("0.0");
    }

    @Test
    void tellsTheExceptionOfAFlow() throws InterruptedException {
        flows = connected();

        FlowRun run = flows.start(iou(100), Optional.of("c1"), LONG);
        node.awaitStarted("c1");
        node.fail("c1", new FlowException("below 100"));

        assertThat(run.await(LONG))
                .contains(new FlowOutcome.Failed("net.corda.core.flows.FlowException", "below 100", true));
        assertThat(
                        metric(
                                "bridge_flows_failed_total{flow=\"SampleFlows$Iou\",node=\"PartyA\",reason=\"flow_exception\"}"))
                .isEqualTo("1.0");
    }

    @Test
    void tellsWhyTheNodeRefusedAFlow() throws InterruptedException {
        flows = connected();
        node.onStart((id, call) -> new IllegalArgumentException("no permission"));

        assertThat(flows.start(iou(1), Optional.empty(), LONG).await(LONG))
                .contains(new FlowOutcome.Failed("java.lang.IllegalArgumentException", "no permission", false));
        assertThat(metric("bridge_flows_failed_total{flow=\"SampleFlows$Iou\",node=\"PartyA\",reason=\"rejected\"}"))
                .isEqualTo("1.0");
    }

    @Test
    void keepsTheLastFailureUntilTheNext() throws InterruptedException {
        flows = connected();
        FlowRun first = flows.start(iou(100), Optional.of("c1"), LONG);
        node.awaitStarted("c1");
        assertThat(flows.lastFailure()).isEmpty();
        Instant before = Instant.now();
        node.fail("c1", new FlowException("below 100"));
        first.await(LONG);

        FailedFlow failure = flows.lastFailure().orElseThrow();
        assertThat(failure.flow()).isEqualTo("SampleFlows$Iou");
        assertThat(failure.detail()).isEqualTo("FlowException: below 100");
        assertThat(failure.at()).isBetween(before, Instant.now());

        ended(Optional.of("c2"));
        assertThat(flows.lastFailure()).contains(failure);

        node.onStart((id, call) -> new IllegalArgumentException("no permission"));
        flows.start(iou(1), Optional.empty(), LONG).await(LONG);
        assertThat(flows.lastFailure().orElseThrow().reason()).isEqualTo("rejected");
    }

    @Test
    void startsNothingWithoutAConnection() {
        flows = flows();

        assertThat(problem(iou(1), Optional.empty()).type()).isEqualTo(ProblemType.NODE_UNAVAILABLE);
        assertThat(flows.outstanding()).isZero();
    }

    @Test
    void limitsOutstandingFlowsAndFreesThePlaceBeforeItTellsTheOutcome() throws InterruptedException {
        flows = connected();
        FlowRun first = flows.start(iou(1), Optional.of("c1"), LONG);
        flows.start(iou(2), Optional.of("c2"), LONG);
        flows.start(iou(3), Optional.of("c3"), LONG);

        Problem refused = problem(iou(4), Optional.of("c4"));
        assertThat(refused.type()).isEqualTo(ProblemType.TOO_MANY_OUTSTANDING_FLOWS);
        assertThat(refused.retryAfter()).contains(Duration.ofSeconds(1));
        assertThat(flows.outstanding()).isEqualTo(LIMIT);

        node.awaitStarted("c1");
        node.complete("c1", null);
        first.await(LONG);
        assertThat(flows.outstanding()).isEqualTo(LIMIT - 1);
        assertThat(flows.start(iou(4), Optional.of("c4"), LONG)).isNotNull();
    }

    @Test
    void attachesToTheRunOfTheSameClientIdRunningOrEnded() throws InterruptedException {
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.of("c1"), LONG);
        node.awaitStarted("c1");

        assertThat(flows.start(iou(1), Optional.of("c1"), LONG)).isSameAs(run);
        node.complete("c1", null);
        run.await(LONG);

        assertThat(flows.start(iou(1), Optional.of("c1"), LONG)).isSameAs(run);
        assertThat(node.startedIds()).containsExactly("c1");
    }

    @Test
    void refusesAClientIdThatBelongsToOtherArguments() {
        flows = connected();
        flows.start(iou(1), Optional.of("c1"), LONG);

        assertThat(problem(iou(2), Optional.of("c1")).type()).isEqualTo(ProblemType.INVALID_REQUEST);
        assertThat(flows.outstanding()).isEqualTo(1);
    }

    @Test
    void reattachesWhenTheConnectionBreaksUnderAFlow() throws InterruptedException {
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.of("c1"), LONG);
        node.awaitStarted("c1");

        node.disconnect();
        assertThat(run.outcome()).isEmpty();
        node.complete("c1", "done");
        node.connect();

        assertThat(run.await(LONG).orElseThrow()).isInstanceOf(FlowOutcome.Completed.class);
        assertThat(node.startedIds()).containsExactly("c1");
    }

    @Test
    void repeatsAStartThatMayNotHaveArrivedUnderTheSameClientId() throws InterruptedException {
        flows = connected();
        var attempted = new CountDownLatch(1);
        node.onStart((id, call) -> {
            node.onStart((sameId, sameCall) -> null);
            attempted.countDown();
            return new NodeUnavailableException("broken");
        });

        FlowRun run = flows.start(iou(1), Optional.of("c1"), LONG);
        attempted.await();
        node.connect();
        node.awaitStarted("c1");
        node.complete("c1", null);

        assertThat(run.await(LONG).orElseThrow()).isInstanceOf(FlowOutcome.Completed.class);
        assertThat(node.startedIds()).containsExactly("c1");
    }

    @Test
    void saysSoWhenNoConnectionCouldBeOpenedForAStart() throws InterruptedException {
        flows = connected();
        node.onStart((id, call) -> new NoConnectionException("no place"));

        FlowRun run = flows.start(iou(1), Optional.of("c1"), LONG);

        assertThat(run.await(LONG)).contains(new FlowOutcome.NoConnection("no place"));
        assertThat(node.startedIds()).isEmpty();
        assertThat(flows.outstanding()).isZero();
        assertThat(metric(
                        "bridge_flows_failed_total{flow=\"SampleFlows$Iou\",node=\"PartyA\",reason=\"no_connection\"}"))
                .isEqualTo("1.0");
    }

    @Test
    void startsARepeatedFlowForWhichNoConnectionCouldBeOpenedBefore() throws InterruptedException {
        flows = connected();
        node.onStart((id, call) -> new NoConnectionException("no place"));
        flows.start(iou(1), Optional.of("c1"), LONG).await(LONG);
        node.onStart((id, call) -> null);

        assertThat(ended(Optional.of("c1")).outcome().orElseThrow()).isInstanceOf(FlowOutcome.Completed.class);
    }

    @Test
    void asksTheNodeIfAnEarlierAttemptMayHaveStartedTheFlow() throws InterruptedException {
        flows = connected();
        var attempted = new CountDownLatch(1);
        // The node has the flow, but the connection breaks before it can say so.
        node.onStart((id, call) -> {
            node.withEndedFlows(id);
            node.onStart((sameId, sameCall) -> new NoConnectionException("no place"));
            attempted.countDown();
            return new NodeUnavailableException("broken");
        });

        FlowRun run = flows.start(iou(1), Optional.of("c1"), LONG);
        attempted.await();
        node.connect();

        assertThat(run.await(LONG).orElseThrow()).isInstanceOf(FlowOutcome.Completed.class);
    }

    @Test
    void showsTheNumberOfRpcConnections() {
        flows = connected();
        assertThat(metric("bridge_rpc_connections{node=\"PartyA\"}")).isEqualTo("1.0");

        node.disconnect();
        assertThat(metric("bridge_rpc_connections{node=\"PartyA\"}")).isEqualTo("0.0");
    }

    @Test
    void doesNotStartAFlowAfterTheCallerWasToldThatTimeIsOut() throws InterruptedException {
        flows = connected();
        var attempted = new CountDownLatch(1);
        node.onStart((id, call) -> {
            attempted.countDown();
            return new NodeUnavailableException("broken");
        });

        var callerWaits = Duration.ofSeconds(1);
        FlowRun run = flows.start(iou(1), Optional.of("c1"), callerWaits);
        attempted.await();
        assertThat(run.await(Duration.ZERO)).isEmpty();
        node.onStart((id, call) -> null);
        now.addAndGet(callerWaits.toNanos() + 1);
        node.connect();

        assertThat(run.await(LONG)).contains(new FlowOutcome.NeverStarted());
        assertThat(node.startedIds()).isEmpty();
    }

    @Test
    void saysSoWhenTheNodeHasForgottenAFlow() throws InterruptedException {
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.of("c1"), LONG);
        node.awaitStarted("c1");

        node.disconnect();
        node.forget("c1");
        node.connect();

        assertThat(run.await(LONG).orElseThrow()).isInstanceOf(FlowOutcome.Lost.class);
    }

    @Test
    void doesNotRepeatAStartWhereThereAreNoClientIds() throws InterruptedException {
        node.withoutClientIds();
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.of("c1"), LONG);
        node.awaitStarted("c1");

        node.disconnect();

        assertThat(run.await(LONG).orElseThrow()).isInstanceOf(FlowOutcome.Lost.class);
        assertThat(flows.outstanding()).isZero();
    }

    @Test
    void lettingTheCallerGoDoesNotEndTheRun() throws InterruptedException {
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.of("c1"), LONG);
        node.awaitStarted("c1");

        assertThat(run.await(Duration.ZERO)).isEmpty();

        assertThat(flows.outstanding()).isEqualTo(1);
        node.complete("c1", null);
        assertThat(run.await(LONG)).isPresent();
    }

    @Test
    void removesClientIdsThatNoCallerKnowsAtOnceAndKeepsTheOthers() throws InterruptedException {
        flows = connected();
        ended(Optional.of("c1"));

        FlowRun own = ended(Optional.empty());

        assertThat(nextRemoved()).isEqualTo(own.clientId());
        assertThat(node.removed()).isEmpty();
        assertThat(node.knownIds()).containsExactly("c1");
        assertThat(flows.find(own.clientId())).contains(own);
    }

    @Test
    void keepsItsOwnClientIdOfAResultForWhichThereMayBeNoMemory() throws InterruptedException {
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.empty(), LONG);
        node.awaitStarted(run.clientId());
        node.complete(run.clientId(), Collections.nCopies(1000, 1));
        run.await(LONG);

        FlowRun next = ended(Optional.empty());

        assertThat(nextRemoved()).isEqualTo(next.clientId());
        assertThat(node.knownIds()).containsExactly(run.clientId());
    }

    @Test
    void removesTheCallersClientIdsAfterTheRetention() throws InterruptedException {
        flows = connected();
        ended(Optional.of("c1"));
        assertThat(metric("bridge_client_ids_to_remove{node=\"PartyA\"}")).isEqualTo("1.0");

        now.addAndGet(RETENTION.toNanos() - 1);
        assertThat(flows.find("c1")).isPresent();
        FlowRun own = ended(Optional.empty());
        assertThat(nextRemoved()).isEqualTo(own.clientId());
        now.incrementAndGet();

        assertThat(nextRemoved()).isEqualTo("c1");
        assertThat(flows.find("c1")).isEmpty();
    }

    @Test
    void keepsItsOwnClientIdOnceACallerWasGivenIt() throws InterruptedException {
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.empty(), LONG);
        node.awaitStarted(run.clientId());

        assertThat(run.await(Duration.ZERO)).isEmpty();
        node.complete(run.clientId(), null);
        run.await(LONG);
        FlowRun other = ended(Optional.empty());

        assertThat(nextRemoved()).isEqualTo(other.clientId());
        assertThat(node.knownIds()).containsExactly(run.clientId());
        now.addAndGet(RETENTION.toNanos());
        assertThat(nextRemoved()).isEqualTo(run.clientId());
    }

    @Test
    void keepsClientIdsOnTheNodeThatItHasNoRoomFor() throws InterruptedException {
        flows = connected();
        ended(Optional.of("c1"));
        node.onStart((id, call) -> new IllegalStateException("refused"));
        for (int i = 0; i < NodeFlows.MAX_OUTCOMES + 100; i++) {
            flows.start(iou(1), Optional.of("refused-" + i), LONG).await(LONG);
        }

        assertThat(flows.find("c1")).isEmpty();
        assertThat(flows.isOnNodeOnly("c1")).isTrue();
        assertThat(node.knownIds()).containsExactly("c1");
        flows.check(iou(1), Optional.of("c1"));
        assertThat(catchThrowableOfType(Problem.class, () -> flows.check(iou(2), Optional.of("c1")))
                        .type())
                .isEqualTo(ProblemType.INVALID_REQUEST);
    }

    @Test
    void keepsWhatAnEarlierBridgeLeftOnTheNodeForTheRetention() throws InterruptedException {
        node.withEndedFlows("bridge-old", "of-a-caller");
        flows = connected();
        ended(Optional.empty());

        // The sweep came before this removal.
        assertThat(nextRemoved()).startsWith("bridge-");
        assertThat(node.knownIds()).containsExactlyInAnyOrder("bridge-old", "of-a-caller");
        assertThat(flows.isOnNodeOnly("of-a-caller")).isTrue();
        assertThat(flows.canCompare("of-a-caller")).isFalse();

        now.addAndGet(RETENTION.toNanos());
        assertThat(Set.of(nextRemoved(), nextRemoved())).containsExactlyInAnyOrder("bridge-old", "of-a-caller");
    }

    @Test
    void startsARepeatedFlowThatNeverReachedTheNode() throws InterruptedException {
        flows = connected();
        var attempted = new CountDownLatch(1);
        node.onStart((id, call) -> {
            attempted.countDown();
            return new NodeUnavailableException("broken");
        });
        FlowRun first = flows.start(iou(1), Optional.of("c1"), LONG);
        attempted.await();
        node.onStart((id, call) -> null);
        now.addAndGet(LONG.toNanos() + 1);
        node.connect();
        assertThat(first.await(LONG)).contains(new FlowOutcome.NeverStarted());

        FlowRun second = flows.start(iou(1), Optional.of("c1"), LONG);
        node.awaitStarted("c1");
        node.complete("c1", null);

        assertThat(second.await(LONG).orElseThrow()).isInstanceOf(FlowOutcome.Completed.class);
    }

    @Test
    void forgetsTheEndedFlowsOfAPrefix() throws InterruptedException {
        node.withEndedFlows("run-1-of-an-earlier-bridge");
        flows = connected();
        ended(Optional.of("run-1-a"));
        ended(Optional.of("run-2-a"));
        flows.start(iou(1), Optional.of("run-1-b"), LONG);
        node.awaitStarted("run-1-b");

        assertThat(flows.forget("run-1-", LONG)).isEqualTo(new NodeFlows.Forgotten(2, 1, 0));

        assertThat(node.knownIds()).containsExactlyInAnyOrder("run-1-b", "run-2-a");
        assertThat(flows.find("run-1-a")).isEmpty();
        assertThat(flows.isOnNodeOnly("run-1-a")).isFalse();
        assertThat(flows.find("run-2-a")).isPresent();
    }

    @Test
    void forgetsOnlyAsLongAsItMay() throws InterruptedException {
        flows = connected();
        ended(Optional.of("run-1-a"));

        assertThat(flows.forget("run-1-", Duration.ZERO)).isEqualTo(new NodeFlows.Forgotten(0, 0, 1));
        assertThat(node.knownIds()).containsExactly("run-1-a");
    }

    @Test
    void forgetsTheFlowsOfNodesWithoutClientIds() throws InterruptedException {
        node.withoutClientIds();
        flows = connected();
        ended(Optional.of("run-1-a"));

        assertThat(flows.forget("run-1-", LONG)).isEqualTo(new NodeFlows.Forgotten(1, 0, 0));
        assertThat(flows.find("run-1-a")).isEmpty();
    }

    @Test
    void leavesALostOutcomeToTheNode() throws InterruptedException {
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.of("c1"), LONG);
        node.awaitStarted("c1");
        node.disconnect();
        node.forget("c1");
        node.connect();
        run.await(LONG);

        assertThat(flows.find("c1")).isEmpty();
        assertThat(flows.isOnNodeOnly("c1")).isTrue();
    }

    @Test
    void keepsOutcomesUpToABoundOnly() throws InterruptedException {
        flows = connected();
        int more = NodeFlows.MAX_OUTCOMES + 100;
        String first = null;
        for (int i = 0; i < more; i++) {
            node.onStart((id, call) -> new IllegalStateException("refused"));
            FlowRun run = flows.start(iou(1), Optional.of("c" + i), LONG);
            run.await(LONG);
            first = first == null ? run.clientId() : first;
        }

        long kept = IntStream.range(0, more)
                .filter(i -> flows.find("c" + i).isPresent())
                .count();
        assertThat(kept).isLessThanOrEqualTo(NodeFlows.MAX_OUTCOMES);
    }

    @Test
    void keepsLargeOutcomesOnlyAsFarAsTheMemoryGoes() throws InterruptedException {
        flows = connected();
        // 100 kB each.
        List<String> result = Collections.nCopies(200, "x".repeat(436));
        int fitting = (int) (OUTCOME_BYTES / 100_000);
        for (int i = 0; i < 2 * fitting; i++) {
            FlowRun run = flows.start(iou(1), Optional.of("c" + i), LONG);
            node.awaitStarted("c" + i);
            node.complete("c" + i, result);
            run.await(LONG);
        }

        long kept = IntStream.range(0, 2 * fitting)
                .filter(i -> flows.find("c" + i).isPresent())
                .count();
        assertThat(kept).isBetween(fitting / 2L, (long) fitting);
        assertThat(flows.isOnNodeOnly("c0") || flows.find("c0").isPresent()).isTrue();
    }

    @Test
    void drainWaitsForFlowsAndThenLetsTheirCallersGo() throws InterruptedException {
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.of("c1"), LONG);
        flows.refuse();

        flows.drain(Duration.ofMillis(10));

        assertThat(run.outcome().orElseThrow()).isInstanceOf(FlowOutcome.Lost.class);
        assertThat(problem(iou(2), Optional.empty()).type()).isEqualTo(ProblemType.NODE_UNAVAILABLE);
    }

    private NodeFlows connected() {
        node.connect();
        return flows();
    }

    private NodeFlows flows() {
        return new NodeFlows(node, LIMIT, RETENTION, OUTCOME_BYTES, metrics, now::get);
    }

    /** Starts a flow and lets it end. */
    private FlowRun ended(Optional<String> clientId) throws InterruptedException {
        FlowRun run = flows.start(iou(1), clientId, LONG);
        node.awaitStarted(run.clientId());
        node.complete(run.clientId(), null);
        run.await(LONG);
        return run;
    }

    private String nextRemoved() throws InterruptedException {
        return node.removed().poll(LONG.toSeconds(), TimeUnit.SECONDS);
    }

    private Problem problem(FlowCall call, Optional<String> clientId) {
        return catchThrowableOfType(Problem.class, () -> flows.start(call, clientId, LONG));
    }

    private String metric(String name) {
        return new String(metrics.page(null).body(), StandardCharsets.UTF_8)
                .lines()
                .filter(line -> line.startsWith(name))
                .map(line -> line.substring(line.lastIndexOf(' ') + 1))
                .findFirst()
                .orElse("no " + name);
    }

    private FlowCall iou(int value) {
        var arguments = (ObjectNode) Json.read("{\"iouValue\": %d, \"otherParty\": \"PartyB\"}"
                .formatted(value)
                .getBytes(StandardCharsets.UTF_8));
        var parser = new ArgumentParser(ArgumentMapper.create(TestParties.directory()));
        return parser.parse(node.profile().orElseThrow().flows().find("Iou"), arguments);
    }
}
