package org.cordalab.bridge.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.cordalab.bridge.config.HttpLimits;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.problem.ProblemType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests what callers learn of results for which there is no memory. Each takes all of the small budget, and the
 * arguments of another running flow have some of it.
 */
@Timeout(60)
class LongResultsTest {

    private static final String FLOWS = "/v1/nodes/PartyA/flows";
    private static final int BUDGET_BYTES = 20 * 1024;
    /** Enough to keep one of the results. */
    private static final long LARGE = 1024 * 1024;
    /** The results are left to the node. */
    private static final long SMALL = 4096;

    private static final Object TEXTS = Collections.nCopies(100, "x".repeat(300));

    private TestBridge bridge;

    private final List<Socket> clients = new ArrayList<>();

    @AfterEach
    void stop() throws IOException {
        bridge.close();
        for (Socket client : clients) {
            client.close();
        }
    }

    record Sample(Object result, long outcomeBytes) {}

    static Stream<Sample> samples() {
        Object digits = BigInteger.TWO.pow(8 * BUDGET_BYTES);
        return Stream.of(TEXTS, List.of(TEXTS), digits)
                .flatMap(result -> Stream.of(new Sample(result, LARGE), new Sample(result, SMALL)));
    }

    @ParameterizedTest
    @MethodSource("samples")
    void isNeverAnsweredAsIfNothingWasStarted(Sample sample) throws Exception {
        begin(sample.outcomeBytes());
        var other = start("other");
        var first = start("c1");
        bridge.node().complete("c1", sample.result());

        JsonNode unknown = problem(first.get(), ProblemType.OUTCOME_UNKNOWN);
        assertThat(unknown.get("clientId").textValue()).isEqualTo("c1");
        assertThat(unknown.get("flowId").textValue()).isNotEmpty();
        assertThat(unknown.get("detail").textValue())
                .startsWith("The flow has completed, but ")
                .contains("Ask again with the client id");
        problem(send("c1").get(), ProblemType.OUTCOME_UNKNOWN);

        HttpResponse<String> asked = get("c1");
        assertThat(problem(asked, ProblemType.OVERLOADED).get("detail").textValue())
                .endsWith("Nothing was changed. Ask again.");
        assertThat(asked.headers().firstValue("Retry-After")).contains("1");

        bridge.node().complete("other", null);
        assertThat(other.get().statusCode()).isEqualTo(200);
        assertThat(awaitRoom("c1")).contains("\"status\":\"completed\"").hasSizeGreaterThan(BUDGET_BYTES);
    }

    @ParameterizedTest
    @ValueSource(longs = {LARGE, SMALL})
    void isKeptAlsoIfTheCallerLearnsTheClientIdOnlyNow(long outcomeBytes) throws Exception {
        begin(outcomeBytes);
        start("other");
        var answer = bridge.send("POST", FLOWS, "{\"flow\": \"Empty\"}");
        while (bridge.node().startedIds().size() < 2) {
            Thread.onSpinWait();
        }
        String clientId = bridge.node().startedIds().get(1);
        bridge.node().complete(clientId, TEXTS);

        JsonNode unknown = problem(answer.get(), ProblemType.OUTCOME_UNKNOWN);
        assertThat(unknown.get("clientId").textValue()).isEqualTo(clientId);
        bridge.node().complete("other", null);
        assertThat(awaitRoom(clientId)).contains("\"status\":\"completed\"");
    }

    @Test
    void isSentIfItFitsHoweverMuchLongerItIsInJson() throws Exception {
        begin(LARGE);
        start("other");
        // 16 KiB of memory for a result are not counted. A control character takes six bytes in JSON.
        for (int texts = 1; texts < 15; texts++) {
            String clientId = "c" + texts;
            var answer = start(clientId);
            bridge.node().complete(clientId, Collections.nCopies(texts, "\u0001".repeat(1000)));

            assertThat(json(answer.get(), 200).get("result")).hasSize(texts);
        }
    }

    @Test
    void takesNoMemoryFromThePortOfTheMetrics() throws Exception {
        begin(LARGE);
        // Flows and answers add lines to the page, which has to be long. That of a real lab is.
        var flow = start("c1");
        bridge.node().complete("c1", null);
        assertThat(flow.get().statusCode()).isEqualTo(200);
        for (String route : bridge.routes()) {
            String path =
                    route.replaceFirst("^\\w+ ", "").replaceFirst("\\[.*", "").replaceAll("[{}]", "x");
            bridge.send("PATCH", path, "").get();
            bridge.send("GET", path + "?unknown=1", "").get();
        }
        String unfinished = "POST " + FLOWS + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: " + TestBridge.MAX_BODY_BYTES + "\r\n\r\n"
                + " ".repeat(TestBridge.MAX_BODY_BYTES - 1);
        for (int taken = 0; taken < BUDGET_BYTES; taken += TestBridge.MAX_BODY_BYTES) {
            var client = new Socket(InetAddress.getLoopbackAddress(), bridge.port());
            client.getOutputStream().write(unfinished.getBytes(StandardCharsets.US_ASCII));
            clients.add(client);
        }
        while (bridge.send("GET", "/metrics", "").get().statusCode() != ProblemType.OVERLOADED.status()) {
            Thread.onSpinWait();
        }

        assertThat(TestBridge.sendRaw(
                        bridge.metricsPort(), "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
                .startsWith("HTTP/1.1 200 ");
    }

    private void begin(long outcomeBytes) {
        Duration limit = Duration.ofSeconds(30);
        bridge = new TestBridge(
                Optional.empty(), new HttpLimits(24, BUDGET_BYTES, outcomeBytes, limit, limit, limit, limit, limit));
    }

    /** Starts a flow that runs until the node completes it. */
    private CompletableFuture<HttpResponse<String>> start(String clientId) throws InterruptedException {
        var answer = send(clientId);
        bridge.node().awaitStarted(clientId);
        return answer;
    }

    private CompletableFuture<HttpResponse<String>> send(String clientId) {
        return bridge.send("POST", FLOWS, "{\"flow\": \"Empty\", \"clientId\": \"" + clientId + "\"}");
    }

    private HttpResponse<String> get(String clientId) throws Exception {
        return bridge.send("GET", FLOWS + "/" + clientId, "").get();
    }

    /** Asks until there is memory for the result. That of another request is released after its answer. */
    private String awaitRoom(String clientId) throws Exception {
        HttpResponse<String> answer = get(clientId);
        while (answer.statusCode() == ProblemType.OVERLOADED.status()) {
            answer = get(clientId);
        }
        assertThat(answer.statusCode()).isEqualTo(200);
        return answer.body();
    }

    private static JsonNode problem(HttpResponse<String> answer, ProblemType type) {
        JsonNode problem = json(answer, type.status());
        assertThat(problem.get("type").textValue()).isEqualTo(type.urn());
        assertThat(problem.get("detail").textValue()).doesNotContain("Nothing was started");
        return problem;
    }

    private static JsonNode json(HttpResponse<String> answer, int status) {
        String body = answer.body();
        assertThat(answer.statusCode())
                .as(body.substring(0, Math.min(body.length(), 500)))
                .isEqualTo(status);
        return Json.read(body.getBytes(StandardCharsets.UTF_8));
    }
}
