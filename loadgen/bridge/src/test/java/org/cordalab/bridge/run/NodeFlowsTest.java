package org.cordalab.bridge.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
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
import org.cordalab.bridge.node.NodeUnavailableException;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class NodeFlowsTest {

    private static final Duration LONG = Duration.ofSeconds(20);
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

        FlowRun run = flows.start(iou(1), Optional.of("c1"));
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
    void tellsTheExceptionOfAFlow() throws InterruptedException {
        flows = connected();

        FlowRun run = flows.start(iou(100), Optional.of("c1"));
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

        assertThat(flows.start(iou(1), Optional.empty()).await(LONG))
                .contains(new FlowOutcome.Failed("java.lang.IllegalArgumentException", "no permission", false));
        assertThat(metric("bridge_flows_failed_total{flow=\"SampleFlows$Iou\",node=\"PartyA\",reason=\"rejected\"}"))
                .isEqualTo("1.0");
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
        FlowRun first = flows.start(iou(1), Optional.of("c1"));
        flows.start(iou(2), Optional.of("c2"));
        flows.start(iou(3), Optional.of("c3"));

        Problem refused = problem(iou(4), Optional.of("c4"));
        assertThat(refused.type()).isEqualTo(ProblemType.TOO_MANY_OUTSTANDING_FLOWS);
        assertThat(refused.retryAfter()).contains(Duration.ofSeconds(1));
        assertThat(flows.outstanding()).isEqualTo(LIMIT);

        node.awaitStarted("c1");
        node.complete("c1", null);
        first.await(LONG);
        assertThat(flows.outstanding()).isEqualTo(LIMIT - 1);
        assertThat(flows.start(iou(4), Optional.of("c4"))).isNotNull();
    }

    @Test
    void attachesToTheRunOfTheSameClientIdRunningOrEnded() throws InterruptedException {
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.of("c1"));
        node.awaitStarted("c1");

        assertThat(flows.start(iou(1), Optional.of("c1"))).isSameAs(run);
        node.complete("c1", null);
        run.await(LONG);

        assertThat(flows.start(iou(1), Optional.of("c1"))).isSameAs(run);
        assertThat(node.startedIds()).containsExactly("c1");
    }

    @Test
    void refusesAClientIdThatBelongsToOtherArguments() {
        flows = connected();
        flows.start(iou(1), Optional.of("c1"));

        assertThat(problem(iou(2), Optional.of("c1")).type()).isEqualTo(ProblemType.INVALID_REQUEST);
        assertThat(flows.outstanding()).isEqualTo(1);
    }

    @Test
    void reattachesWhenTheConnectionBreaksUnderAFlow() throws InterruptedException {
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.of("c1"));
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

        FlowRun run = flows.start(iou(1), Optional.of("c1"));
        attempted.await();
        node.connect();
        node.awaitStarted("c1");
        node.complete("c1", null);

        assertThat(run.await(LONG).orElseThrow()).isInstanceOf(FlowOutcome.Completed.class);
        assertThat(node.startedIds()).containsExactly("c1");
    }

    @Test
    void doesNotStartAFlowAfterTheCallerWasToldThatTimeIsOut() throws InterruptedException {
        flows = connected();
        var attempted = new CountDownLatch(1);
        node.onStart((id, call) -> {
            attempted.countDown();
            return new NodeUnavailableException("broken");
        });

        FlowRun run = flows.start(iou(1), Optional.of("c1"));
        attempted.await();
        assertThat(run.await(Duration.ZERO)).isEmpty();
        node.onStart((id, call) -> null);
        now.addAndGet(LONG.toNanos() + 1);
        node.connect();

        assertThat(run.await(LONG)).contains(new FlowOutcome.NeverStarted());
        assertThat(node.startedIds()).isEmpty();
    }

    @Test
    void saysSoWhenTheNodeHasForgottenAFlow() throws InterruptedException {
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.of("c1"));
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
        FlowRun run = flows.start(iou(1), Optional.of("c1"));
        node.awaitStarted("c1");

        node.disconnect();

        assertThat(run.await(LONG).orElseThrow()).isInstanceOf(FlowOutcome.Lost.class);
        assertThat(flows.outstanding()).isZero();
    }

    @Test
    void lettingTheCallerGoDoesNotEndTheRun() throws InterruptedException {
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.of("c1"));
        node.awaitStarted("c1");

        assertThat(run.await(Duration.ZERO)).isEmpty();

        assertThat(flows.outstanding()).isEqualTo(1);
        node.complete("c1", null);
        assertThat(run.await(LONG)).isPresent();
    }

    @Test
    void removesItsOwnClientIdsFromTheNodeAndKeepsTheCallers() throws InterruptedException {
        flows = connected();
        FlowRun callers = flows.start(iou(1), Optional.of("c1"));
        node.awaitStarted("c1");
        node.complete("c1", null);
        callers.await(LONG);

        FlowRun own = flows.start(iou(1), Optional.empty());
        node.awaitStarted(own.clientId());
        node.complete(own.clientId(), null);
        own.await(LONG);

        assertThat(node.removed().poll(LONG.toSeconds(), TimeUnit.SECONDS)).isEqualTo(own.clientId());
        assertThat(node.removed()).isEmpty();
        assertThat(flows.find(own.clientId())).contains(own);
    }

    @Test
    void removesWhatAnEarlierBridgeLeftOnTheNode() throws InterruptedException {
        node.withEndedFlows("bridge-old", "of-a-caller");
        flows = connected();

        assertThat(node.removed().poll(LONG.toSeconds(), TimeUnit.SECONDS)).isEqualTo("bridge-old");
        assertThat(node.removed()).isEmpty();
    }

    @Test
    void keepsOutcomesUpToABoundOnly() throws InterruptedException {
        flows = connected();
        int more = NodeFlows.MAX_OUTCOMES + 100;
        String first = null;
        for (int i = 0; i < more; i++) {
            node.onStart((id, call) -> new IllegalStateException("refused"));
            FlowRun run = flows.start(iou(1), Optional.of("c" + i));
            run.await(LONG);
            first = first == null ? run.clientId() : first;
        }

        long kept = IntStream.range(0, more)
                .filter(i -> flows.find("c" + i).isPresent())
                .count();
        assertThat(kept).isLessThanOrEqualTo(NodeFlows.MAX_OUTCOMES);
    }

    @Test
    void drainWaitsForFlowsAndThenLetsTheirCallersGo() throws InterruptedException {
        flows = connected();
        FlowRun run = flows.start(iou(1), Optional.of("c1"));
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
        return new NodeFlows(node, LIMIT, LONG, metrics, now::get);
    }

    private Problem problem(FlowCall call, Optional<String> clientId) {
        return catchThrowableOfType(Problem.class, () -> flows.start(call, clientId));
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
