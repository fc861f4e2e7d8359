package org.cordalab.bridge.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import net.corda.core.flows.FlowException;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.node.NodeUnavailableException;
import org.cordalab.bridge.problem.ProblemType;
import org.cordalab.bridge.run.FakeNode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what a caller can learn about a flow after its own request is gone, also from a restarted bridge. */
@Timeout(60)
class OutcomeRoutesTest {

    private static final String FLOWS = "/v1/nodes/PartyA/flows";
    private static final Duration SHORT = Duration.ofSeconds(1);
    private static final Duration LONG = TestBridge.FLOW_TIMEOUT;

    private final FakeNode node = new FakeNode().connect();
    private TestBridge bridge = new TestBridge(node, LONG);

    @AfterEach
    void stop() {
        bridge.close();
    }

    @Test
    void answersForARunningFlow() throws Exception {
        post("c1", 1);

        JsonNode running = json(get("c1"), 202);

        assertThat(running.get("status").textValue()).isEqualTo("running");
        assertThat(running.get("clientId").textValue()).isEqualTo("c1");
    }

    @Test
    void answersForACompletedFlow() throws Exception {
        post("c1", 1);
        node.complete("c1", 42);

        assertCompleted(json(awaitEnd("c1"), 200));
    }

    @Test
    void answersForAFailedFlow() throws Exception {
        post("c1", 1);
        node.fail("c1", new FlowException("below 100"));

        assertFailed(awaitEnd("c1"));
    }

    @Test
    void answersForFlowsOfAKilledBridge() throws Exception {
        post("running", 1);
        post("completed", 1);
        restart(LONG);
        post("failed", 1);
        restart(LONG);
        node.complete("completed", 42);
        node.fail("failed", new FlowException("below 100"));

        JsonNode running = json(get("running"), 202);
        assertThat(running.get("status").textValue()).isEqualTo("running");
        assertThat(running.get("flowId").textValue()).isNotEmpty();
        assertCompleted(json(get("completed"), 200));
        assertFailed(get("failed"));
        problem(get("never"), ProblemType.NOT_FOUND);
        assertThat(node.startedIds()).containsExactlyInAnyOrder("running", "completed", "failed");
    }

    @Test
    void anAnswerForARunningFlowLeavesNoSubscription() throws Exception {
        post("c1", 1);
        restart(LONG);
        long ofTheEarlierBridge = node.subscriptions();

        json(get("c1"), 202);
        json(get("c1"), 202);

        assertThat(node.subscriptions()).isEqualTo(ofTheEarlierBridge);
    }

    @Test
    void cannotAnswerWithoutTheNode() throws Exception {
        post("c1", 1);
        restart(LONG);
        node.disconnect();

        problem(get("c1"), ProblemType.NODE_UNAVAILABLE);

        node.connect();
        node.complete("c1", 42);
        assertCompleted(json(get("c1"), 200));
    }

    @Test
    void says404WhenNothingWasStarted() throws Exception {
        restart(SHORT);
        var attempted = new CountDownLatch(1);
        node.onStart((id, call) -> {
            attempted.countDown();
            return new NodeUnavailableException("broken");
        });

        var answer = bridge.send("POST", FLOWS, start("c1", 1));
        attempted.await();
        problem(answer.get(), ProblemType.OUTCOME_UNKNOWN);
        node.onStart((id, call) -> null);
        node.connect();

        problem(awaitEnd("c1"), ProblemType.NOT_FOUND);
        assertThat(node.startedIds()).isEmpty();
    }

    @Test
    void doesNotSay404ForAFlowThatTheNodeHasLost() throws Exception {
        post("c1", 1);
        node.disconnect();
        node.forget("c1");
        node.connect();

        problem(awaitEnd("c1"), ProblemType.OUTCOME_UNKNOWN);
        problem(bridge.send("POST", FLOWS, start("c1", 1)).get(), ProblemType.OUTCOME_UNKNOWN);
        assertThat(node.startedIds()).containsExactly("c1");
    }

    @Test
    void doesNotSay404WhereTheNodeKeepsNoClientIds() throws Exception {
        node.withoutClientIds();

        problem(get("c1"), ProblemType.OUTCOME_UNKNOWN);
    }

    @Test
    void aRepeatedStartOfAKilledBridgeGetsTheSameOutcome() throws Exception {
        post("c1", 1);
        node.complete("c1", 42);
        awaitEnd("c1");
        restart(LONG);
        awaitAdopted("c1");

        JsonNode again = json(bridge.send("POST", FLOWS, start("c1", 1)).get(), 200);

        assertCompleted(again);
        assertThat(again.get("argumentsCompared").booleanValue()).isFalse();
        assertThat(node.startedIds()).containsExactly("c1");
        assertThat(metrics()).contains("bridge_flows_started_total{flow=\"SampleFlows$Iou\",node=\"PartyA\"} 0.0");
    }

    @Test
    void aRepeatedStartAfterThe504GetsTheSameOutcomeAlsoWithTheBridgesOwnId() throws Exception {
        restart(SHORT);
        JsonNode problem = problem(bridge.send("POST", FLOWS, iou(1)).get(), ProblemType.OUTCOME_UNKNOWN);
        String clientId = problem.get("clientId").textValue();
        assertThat(problem.get("detail").textValue())
                .contains("repeat the start with the same client id", "kept for 3600 s");
        node.complete(clientId, 42);
        awaitEnd(clientId);

        JsonNode again = json(bridge.send("POST", FLOWS, start(clientId, 1)).get(), 200);
        assertCompleted(again);
        assertThat(again.get("timings").fieldNames()).toIterable().containsExactly("startedAt", "rpcMs", "flowMs");
        restart(LONG);
        awaitAdopted(clientId);
        assertCompleted(json(bridge.send("POST", FLOWS, start(clientId, 1)).get(), 200));
        assertThat(node.startedIds()).containsExactly(clientId);
    }

    @Test
    void aRepeatedStartWithOtherArgumentsIsRefused() throws Exception {
        post("c1", 1);
        node.complete("c1", 42);
        awaitEnd("c1");

        JsonNode problem = problem(bridge.send("POST", FLOWS, start("c1", 2)).get(), ProblemType.INVALID_REQUEST);

        assertThat(problem.get("field").textValue()).isEqualTo("clientId");
    }

    @Test
    void the504OfANodeWithoutClientIdsDoesNotAdviseToRepeat() throws Exception {
        node.withoutClientIds();
        restart(SHORT);

        JsonNode problem = problem(bridge.send("POST", FLOWS, start("c1", 1)).get(), ProblemType.OUTCOME_UNKNOWN);

        assertThat(problem.get("detail").textValue()).contains("Do not repeat the start");
    }

    @Test
    void forgetsTheFlowsOfARun() throws Exception {
        post("run-0001-a", 1);
        post("run-0001-b", 1);
        node.complete("run-0001-a", 42);
        awaitEnd("run-0001-a");
        restart(LONG);
        post("run-0001-c", 1);

        HttpResponse<String> forgotten =
                bridge.send("DELETE", FLOWS + "?clientIdPrefix=run-0001", "").get();

        assertThat(json(forgotten, 200))
                .isEqualTo(Json.read(("{\"node\": \"PartyA\", \"clientIdPrefix\": \"run-0001\", \"removed\": 1,"
                                + " \"running\": 1, \"remaining\": 0}")
                        .getBytes(StandardCharsets.UTF_8)));
        assertThat(node.knownIds()).containsExactlyInAnyOrder("run-0001-b", "run-0001-c");
        problem(get("run-0001-a"), ProblemType.NOT_FOUND);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "?clientIdPrefix=", "?clientIdPrefix=run-001", "?clientIdPrefix=run%20no%201"})
    void refusesAPrefixThatMayNotBeOfOneRun(String query) throws Exception {
        node.withEndedFlows("run-0001-a");

        JsonNode problem = problem(bridge.send("DELETE", FLOWS + query, "").get(), ProblemType.INVALID_REQUEST);

        assertThat(problem.get("field").textValue()).isEqualTo("clientIdPrefix");
        assertThat(node.knownIds()).containsExactly("run-0001-a");
    }

    @Test
    void forgetsNothingForPagesOfOtherOrigins() throws Exception {
        node.withEndedFlows("run-0001-a");

        String answer = bridge.sendRaw("DELETE " + FLOWS + "?clientIdPrefix=run-0001 HTTP/1.1\r\nHost: localhost\r\n"
                + "Origin: http://evil.example\r\nConnection: close\r\n\r\n");

        assertThat(answer).startsWith("HTTP/1.1 403 ");
        assertThat(node.knownIds()).containsExactly("run-0001-a");
    }

    @Test
    void cannotForgetWithoutTheNode() throws Exception {
        node.disconnect();

        problem(bridge.send("DELETE", FLOWS + "?clientIdPrefix=run-0001", "").get(), ProblemType.NODE_UNAVAILABLE);
    }

    /** Kills the bridge and starts another one on the same node. */
    private void restart(Duration flowTimeout) {
        bridge.kill();
        bridge = new TestBridge(node, flowTimeout);
    }

    /** Starts a flow and does not wait for its outcome. */
    private void post(String clientId, int value) throws InterruptedException {
        bridge.send("POST", FLOWS, start(clientId, value));
        node.awaitStarted(clientId);
    }

    /** Asks until the bridge has noticed the end of the flow. */
    private HttpResponse<String> awaitEnd(String clientId) throws Exception {
        HttpResponse<String> answer = get(clientId);
        while (answer.statusCode() == 202) {
            answer = get(clientId);
        }
        return answer;
    }

    /** Waits until the bridge has seen that the node has an ended flow, which it does in the background. */
    private void awaitAdopted(String clientId) {
        while (!bridge.flows().isOnNodeOnly(clientId)) {
            Thread.onSpinWait();
        }
    }

    private HttpResponse<String> get(String clientId) throws Exception {
        return bridge.send("GET", FLOWS + "/" + clientId, "").get();
    }

    private String metrics() throws Exception {
        return bridge.send("GET", "/metrics", "").get().body();
    }

    private static void assertCompleted(JsonNode json) {
        assertThat(json.get("status").textValue()).isEqualTo("completed");
        assertThat(json.get("result").intValue()).isEqualTo(42);
        assertThat(json.get("flowId").textValue()).isNotEmpty();
    }

    private static void assertFailed(HttpResponse<String> answer) {
        JsonNode problem = problem(answer, ProblemType.FLOW_FAILED);
        assertThat(problem.get("flowStatus").textValue()).isEqualTo("failed");
        assertThat(problem.get("exception").textValue()).isEqualTo(FlowException.class.getName());
        assertThat(problem.get("detail").textValue()).isEqualTo("below 100");
        assertThat(problem.get("flowId").textValue()).isNotEmpty();
    }

    private static String start(String clientId, int value) {
        return iou(value).replaceFirst("}$", ", \"clientId\": \"" + clientId + "\"}");
    }

    private static String iou(int value) {
        return "{\"flow\": \"Iou\", \"args\": {\"iouValue\": %d, \"otherParty\": \"PartyB\"}}".formatted(value);
    }

    private static JsonNode problem(HttpResponse<String> answer, ProblemType type) {
        JsonNode problem = json(answer, type.status());
        assertThat(problem.get("type").textValue()).isEqualTo(type.urn());
        return problem;
    }

    private static JsonNode json(HttpResponse<String> answer, int status) {
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
        return Json.read(answer.body().getBytes(StandardCharsets.UTF_8));
    }
}
