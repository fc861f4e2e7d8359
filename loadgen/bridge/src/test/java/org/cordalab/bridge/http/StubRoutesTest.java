package org.cordalab.bridge.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.StreamSupport;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.problem.ProblemType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests stub nodes through the API of the bridge, as the pipeline uses them. */
@Timeout(60)
class StubRoutesTest {

    private static final String FLOWS = "/v1/nodes/PartyA/flows";
    private static final String LOG = "/v1/stub/flows";
    private static final String STATES = "?stateType=net.corda.core.contracts.ContractState";
    private static final double MS = 1e6;

    @TempDir
    private Path folder;

    private TestBridge bridge;

    @AfterEach
    void stop() {
        bridge.close();
    }

    @Test
    void aFlowTakesItsDelayAndTheLogSaysSo() throws Exception {
        start("\"delaysMs\": [200, 50]");

        JsonNode first = json(post("c0").get(), 200);
        JsonNode second = json(post("c1").get(), 200);

        List<JsonNode> log = log();
        assertThat(log).hasSize(2);
        assertEnded(log.get(0), "c0", 200, first);
        assertEnded(log.get(1), "c1", 50, second);
        assertThat(log.get(1).get("startedMonotonicNs").longValue())
                .isGreaterThanOrEqualTo(log.get(0).get("endedMonotonicNs").longValue());
    }

    @Test
    void aPlannedFailureAndAFlowBeyondThePlanFail() throws Exception {
        start("\"delaysMs\": [1, 1], \"failures\": [1]");

        json(post("c0").get(), 200);
        JsonNode planned = problem(post("c1").get(), ProblemType.FLOW_FAILED);
        JsonNode beyond = problem(post("c2").get(), ProblemType.FLOW_FAILED);

        assertThat(planned.get("exception").textValue()).isEqualTo("net.corda.core.flows.FlowException");
        assertThat(planned.get("detail").textValue()).isEqualTo("Flow 1 fails, as planned.");
        assertThat(beyond.get("detail").textValue()).isEqualTo("The plan has 2 delays, but this is flow 2.");
        assertThat(log().stream().map(flow -> flow.get("outcome").textValue()))
                .containsExactly("completed", "failed", "failed");
    }

    @Test
    void clientIdsAreKeptAsOnARealNode() throws Exception {
        start("\"delaysMs\": [1]");
        JsonNode first = json(post("run-0001-a").get(), 200);

        JsonNode again = json(post("run-0001-a").get(), 200);
        JsonNode asked = json(get(FLOWS + "/run-0001-a"), 200);
        JsonNode forgotten = json(
                bridge.send("DELETE", FLOWS + "?clientIdPrefix=run-0001", "").get(), 200);

        assertThat(again.get("txId")).isEqualTo(first.get("txId"));
        assertThat(asked.get("txId")).isEqualTo(first.get("txId"));
        assertThat(log()).hasSize(1);
        assertThat(forgotten.get("removed").intValue()).isEqualTo(1);
        problem(get(FLOWS + "/run-0001-a"), ProblemType.NOT_FOUND);
    }

    @Test
    void bothVaultsHaveTheTransactions() throws Exception {
        start("\"delaysMs\": [1, 1, 1], \"failures\": [1]");
        List<String> ids = new ArrayList<>();
        ids.add(json(post("c0").get(), 200).get("txId").textValue());
        post("c1").get();
        ids.add(json(post("c2").get(), 200).get("txId").textValue());

        for (String node : List.of("PartyA", "PartyB")) {
            JsonNode count = json(get("/v1/nodes/" + node + "/vault/count" + STATES), 200);
            assertThat(count.get("unconsumed").intValue()).isEqualTo(2);
            assertThat(count.get("consumed").intValue()).isZero();
            JsonNode listed = json(get("/v1/nodes/" + node + "/vault/transactions" + STATES + "&since=0"), 200);
            assertThat(StreamSupport.stream(listed.get("transactionIds").spliterator(), false)
                            .map(JsonNode::textValue))
                    .containsExactlyInAnyOrderElementsOf(ids);
        }
    }

    @Test
    void exportsWhatTheLabReadsOfANode() throws Exception {
        start("\"delaysMs\": [1, 1, 60000], \"failures\": [1]");
        post("c0").get();
        post("c1").get();
        post("c2");
        awaitStarted(3);

        String count = "corda_flow_duration_seconds_count{flow=\"org.cordalab.bridge.flow.SampleFlows$Iou\",outcome=";
        assertThat(get("/v1/stub/nodes/PartyA/metrics").body())
                .contains(count + "\"success\"} 1.0", count + "\"failure\"} 1.0")
                .contains("corda_flows_in_flight 1.0", "corda_flows_started_total 3.0")
                .contains("corda_flows_finished_total 2.0", "process_start_time_seconds ")
                .contains("process_cpu_seconds_total ");
        assertThat(get("/v1/stub/nodes/partyb/metrics").body())
                .contains(count + "\"success\"} 0.0", "corda_flows_in_flight 0.0");
        assertThat(log().getLast().get("outcome").textValue()).isEqualTo("running");
    }

    @Test
    void readsTheArgumentsAsForRealNodes() throws Exception {
        start("\"delaysMs\": [1]");

        JsonNode problem = problem(
                bridge.send("POST", FLOWS, "{\"flow\": \"Iou\", \"args\": {\"iouValue\": 1}}")
                        .get(),
                ProblemType.MISSING_ARGUMENT);

        assertThat(problem.get("field").textValue()).isEqualTo("args.otherParty");
        assertThat(log()).isEmpty();
    }

    @Test
    void realNodesHaveNoLog() throws Exception {
        bridge = new TestBridge(TestBridge.FLOW_TIMEOUT);

        problem(get(LOG), ProblemType.NOT_FOUND);
        problem(get("/v1/stub/nodes/PartyA/metrics"), ProblemType.NOT_FOUND);
    }

    private void start(String plan) throws IOException {
        Path file = folder.resolve("plan.json");
        Files.writeString(
                file,
                ("{\"nodes\": {\"PartyA\": \"O=PartyA,L=London,C=GB\", \"PartyB\": \"O=PartyB,L=New York,C=US\"},"
                                + " \"flow\": \"org.cordalab.bridge.flow.SampleFlows$Iou\","
                                + " \"stateType\": \"net.corda.core.contracts.ContractState\", %s}")
                        .formatted(plan));
        bridge = TestBridge.ofStub(file);
    }

    private void awaitStarted(int flows) throws Exception {
        while (log().size() < flows) {
            Thread.onSpinWait();
        }
    }

    private CompletableFuture<HttpResponse<String>> post(String clientId) {
        return bridge.send(
                "POST",
                FLOWS,
                "{\"flow\": \"Iou\", \"args\": {\"iouValue\": 1, \"otherParty\": \"PartyB\"}, \"clientId\": \"%s\"}"
                        .formatted(clientId));
    }

    private HttpResponse<String> get(String path) throws Exception {
        return bridge.send("GET", path, "").get();
    }

    private List<JsonNode> log() throws Exception {
        return get(LOG).body()
                .lines()
                .map(line -> Json.read(line.getBytes(StandardCharsets.UTF_8)))
                .toList();
    }

    /** The upper bound is loose, because the machine may be busy. The lower bound holds always. */
    private static void assertEnded(JsonNode logged, String clientId, long delayMs, JsonNode answer) {
        double started = logged.get("startedMonotonicNs").longValue();
        double due = logged.get("dueMonotonicNs").longValue();
        double ended = logged.get("endedMonotonicNs").longValue();
        assertThat(due - started).isEqualTo(delayMs * MS);
        assertThat(ended - due).isBetween(0.0, 1000 * MS);
        assertThat(answer.at("/timings/flowMs").doubleValue()).isGreaterThanOrEqualTo(delayMs);
        assertThat(logged.get("endedAt").doubleValue())
                .isGreaterThan(logged.get("startedAt").doubleValue());
        assertThat(logged.get("clientId").textValue()).isEqualTo(clientId);
        assertThat(logged.get("flowId")).isEqualTo(answer.get("flowId"));
        assertThat(logged.get("txId")).isEqualTo(answer.get("txId"));
        assertThat(logged.get("node").textValue()).isEqualTo("PartyA");
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
