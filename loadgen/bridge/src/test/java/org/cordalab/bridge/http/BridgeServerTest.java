package org.cordalab.bridge.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import net.corda.core.contracts.StateRef;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.FlowException;
import org.cordalab.bridge.flow.SampleClasses;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.node.NoConnectionException;
import org.cordalab.bridge.node.VaultState;
import org.cordalab.bridge.problem.ProblemType;
import org.cordalab.bridge.run.FakeNode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the real server on its own port. Only the node is fake. */
@Timeout(60)
class BridgeServerTest {

    private static final String FLOWS = "/v1/nodes/PartyA/flows";
    private static final String CHECK = FLOWS + "?check=true";
    private static final String ATTACHMENTS = "/v1/nodes/PartyA/attachments";
    private static final String IOU = "{\"flow\": \"Iou\", \"args\": {\"iouValue\": 1, \"otherParty\": \"PartyB\"}}";
    private static final String JSON = "application/json";

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private FakeNode node;
    private TestBridge bridge;

    @BeforeEach
    void start() {
        start(Duration.ofSeconds(30));
    }

    private void start(Duration flowTimeout) {
        bridge = new TestBridge(flowTimeout);
        node = bridge.node();
    }

    @AfterEach
    void stop() {
        bridge.close();
    }

    @Test
    void answersWhenTheFlowHasEnded() throws Exception {
        var answer = post(FLOWS, start("c1", IOU));
        node.awaitStarted("c1");
        assertThat(answer).isNotDone();
        node.complete("c1", 42);

        HttpResponse<String> response = answer.get();
        JsonNode json = json(response);
        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(json.get("clientId").textValue()).isEqualTo("c1");
        assertThat(json.get("status").textValue()).isEqualTo("completed");
        assertThat(json.get("result").intValue()).isEqualTo(42);
        assertThat(json.get("flowId").textValue()).isNotEmpty();
        assertThat(json.get("timings").get("totalMs").doubleValue())
                .isGreaterThanOrEqualTo(json.get("timings").get("flowMs").doubleValue());
        assertThat(json.has("clientIdSupported")).isFalse();
    }

    @Test
    void saysWhenItReceivedTheRequestAndBeganToStartTheFlow() throws Exception {
        double before = System.currentTimeMillis() / 1e3;
        var answer = post(FLOWS, start("c1", IOU));
        node.awaitStarted("c1");
        node.complete("c1", 42);

        JsonNode timings = json(answer.get()).get("timings");
        double startedAt = timings.get("startedAt").doubleValue();
        double flowMs = timings.get("flowMs").doubleValue();
        assertThat(timings.get("receivedAt").doubleValue()).isBetween(before - 1e-3, startedAt);
        assertThat(startedAt + flowMs / 1e3).isLessThanOrEqualTo(System.currentTimeMillis() / 1e3 + 2e-3);
    }

    @Test
    void saysSoWhenTheNodeHasNoClientIds() throws Exception {
        node.withoutClientIds();

        var answer = post(FLOWS, start("c1", IOU));
        node.awaitStarted("c1");
        node.complete("c1", null);

        assertThat(json(answer.get()).get("clientIdSupported").booleanValue()).isFalse();
    }

    @Test
    void answers502WithTheExceptionOfAFlow() throws Exception {
        var answer = post(FLOWS, start("c1", IOU));
        node.awaitStarted("c1");
        node.fail("c1", new FlowException("below 100"));

        JsonNode problem = problem(answer.get(), ProblemType.FLOW_FAILED);
        assertThat(problem.get("detail").textValue()).isEqualTo("below 100");
        assertThat(problem.get("exception").textValue()).isEqualTo("net.corda.core.flows.FlowException");
        assertThat(problem.get("clientId").textValue()).isEqualTo("c1");
        assertThat(problem.get("flowId").textValue()).isNotEmpty();
        assertThat(problem.get("flowStatus").textValue()).isEqualTo("failed");
        JsonNode timings = problem.get("timings");
        double startedAt = timings.get("startedAt").doubleValue();
        assertThat(timings.get("flowMs").doubleValue()).isPositive();
        assertThat(startedAt).isGreaterThanOrEqualTo(timings.get("receivedAt").doubleValue());
    }

    @Test
    void listsTheLastFailureOfANode() throws Exception {
        assertThat(json(get("/v1/nodes")).get("nodes").get(0).has("lastFailure"))
                .isFalse();
        var answer = post(FLOWS, start("c1", IOU));
        node.awaitStarted("c1");
        node.fail("c1", new FlowException("below 100"));
        answer.get();

        JsonNode failure = json(get("/v1/nodes")).get("nodes").get(0).get("lastFailure");
        assertThat(failure.get("flow").textValue()).isEqualTo("SampleFlows$Iou");
        assertThat(failure.get("reason").textValue()).isEqualTo("flow_exception");
        assertThat(failure.get("detail").textValue()).isEqualTo("FlowException: below 100");
        assertThat(Instant.parse(failure.get("at").textValue())).isBeforeOrEqualTo(Instant.now());
    }

    @Test
    void answers504WithTheClientIdWhenTimeIsOut() throws Exception {
        stop();
        start(Duration.ofSeconds(1));

        JsonNode problem = problem(post(FLOWS, start("c1", IOU)).get(), ProblemType.OUTCOME_UNKNOWN);
        assertThat(problem.get("clientId").textValue()).isEqualTo("c1");

        assertThat(get(FLOWS + "/c1").statusCode()).isEqualTo(202);
        node.complete("c1", 42);
        var again = post(FLOWS, start("c1", IOU)).get();
        assertThat(json(again).get("result").intValue()).isEqualTo(42);
        assertThat(json(get(FLOWS + "/c1")).get("result").intValue()).isEqualTo(42);
        assertThat(node.startedIds()).containsExactly("c1");
    }

    @Test
    void answers429WithRetryAfterAtTheLimit() throws Exception {
        var first = post(FLOWS, start("c1", IOU));
        var second = post(FLOWS, start("c2", IOU));
        node.awaitStarted("c1");
        node.awaitStarted("c2");

        HttpResponse<String> refused = post(FLOWS, start("c3", IOU)).get();
        problem(refused, ProblemType.TOO_MANY_OUTSTANDING_FLOWS);
        assertThat(refused.headers().firstValue("Retry-After")).contains("1");
        assertThat(json(get("/v1/nodes"))
                        .get("nodes")
                        .get(0)
                        .get("outstandingFlows")
                        .intValue())
                .isEqualTo(2);

        node.complete("c1", null);
        node.complete("c2", null);
        assertThat(first.get().statusCode()).isEqualTo(200);
        assertThat(second.get().statusCode()).isEqualTo(200);
    }

    @Test
    void answers503WithoutAConnection() throws Exception {
        node.disconnect();

        problem(post(FLOWS, IOU).get(), ProblemType.NODE_UNAVAILABLE);
        problem(get(FLOWS + "/c1"), ProblemType.NODE_UNAVAILABLE);
        problem(
                get("/v1/nodes/PartyA/vault/count?stateType=net.corda.core.contracts.ContractState"),
                ProblemType.NODE_UNAVAILABLE);
        assertThat(get("/health/ready").statusCode()).isEqualTo(503);
        assertThat(get("/health/live").statusCode()).isEqualTo(200);
    }

    @Test
    void answers503IfNoConnectionCanBeOpenedForAFlow() throws Exception {
        node.onStart((id, call) -> new NoConnectionException("3 RPC connections have been left open."));

        JsonNode problem = problem(post(FLOWS, start("c1", IOU)).get(), ProblemType.NO_RPC_CONNECTION);

        assertThat(problem.get("detail").textValue())
                .isEqualTo("3 RPC connections have been left open. Nothing was started.");
        assertThat(problem.get("clientId").textValue()).isEqualTo("c1");
        assertThat(node.startedIds()).isEmpty();
        assertThat(get("/health/ready").statusCode()).isEqualTo(200);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{                                                         | MALFORMED_JSON   |",
                "{\"flow\": \"Iou\", \"flow\": \"Empty\"}                  | MALFORMED_JSON   |",
                "[]                                                        | INVALID_REQUEST  |",
                "{}                                                        | INVALID_REQUEST  | flow",
                "{\"flow\": 1}                                             | INVALID_REQUEST  | flow",
                "{\"flow\": \"Empty\", \"args\": []}                       | INVALID_REQUEST  | args",
                "{\"flow\": \"Empty\", \"clientId\": \"a b\"}              | INVALID_REQUEST  | clientId",
                "{\"flow\": \"Empty\", \"arguments\": {}}                  | INVALID_REQUEST  | arguments",
                "{\"flow\": \"Payment\"}                                   | UNKNOWN_FLOW     | flow",
                "{\"flow\": \"NotHere\"}                                   | UNKNOWN_FLOW     | flow",
                "{\"flow\": \"Iou\", \"args\": {\"iouValue\": 1}}          | MISSING_ARGUMENT | args.otherParty",
                "{\"flow\": \"Empty\", \"args\": {\"value\": 1}}           | UNKNOWN_ARGUMENT | args.value",
                "{\"flow\": \"Iou\", \"args\": {\"iouValue\": 1.5, \"otherParty\": \"PartyB\"}} | INVALID_ARGUMENT | args.iouValue",
            })
    void answersBadInputBeforeTheNodeSeesIt(String body, ProblemType type, String field) throws Exception {
        HttpResponse<String> refused = post(FLOWS, body).get();
        HttpResponse<String> refusedCheck = post(CHECK, body).get();

        JsonNode problem = problem(refused, type);
        assertThat(problem.path("field").textValue()).isEqualTo(field);
        assertThat(refusedCheck.statusCode()).isEqualTo(refused.statusCode());
        assertThat(refusedCheck.body()).isEqualTo(refused.body());
        assertThat(problem.get("instance").textValue()).isEqualTo(FLOWS);
        assertThat(node.startedIds()).isEmpty();
        assertThat(metrics())
                .contains("bridge_flows_rejected_total{node=\"PartyA\",reason=\"" + type.slug() + "\"} 1.0");
    }

    @Test
    void checksAStartWithoutStartingIt() throws Exception {
        HttpResponse<String> response = post(CHECK, IOU).get();

        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(json(response))
                .isEqualTo(Json.read(("{\"node\": \"PartyA\", \"flow\": \"org.cordalab.bridge.flow.SampleFlows$Iou\","
                                + " \"shortName\": \"SampleFlows$Iou\", \"arguments\": ["
                                + "{\"name\": \"iouValue\", \"type\": \"int\", \"value\": 1},"
                                + "{\"name\": \"otherParty\", \"type\": \"Party\","
                                + " \"value\": \"O=PartyB, L=New York, C=US\"}]}")
                        .getBytes(StandardCharsets.UTF_8)));
        assertThat(node.startedIds()).isEmpty();
        assertThat(json(get("/v1/nodes")).at("/nodes/0/outstandingFlows").intValue())
                .isZero();
        assertThat(metrics()).contains("bridge_flows_started_total{flow=\"SampleFlows$Iou\",node=\"PartyA\"} 0.0");
    }

    @Test
    void describesTheFieldsOfArguments() throws Exception {
        JsonNode flows = json(get(FLOWS)).get("flows");

        JsonNode policy = StreamSupport.stream(flows.spliterator(), false)
                .filter(flow -> flow.get("flow").textValue().endsWith("$Insure"))
                .map(flow -> flow.at("/parameters/0/0"))
                .findFirst()
                .orElseThrow();
        assertThat(policy.get("type").textValue()).isEqualTo("Policy");
        assertThat(policy.get("fields").get(0)).hasToString("{\"name\":\"number\",\"type\":\"String\"}");
        assertThat(policy.at("/fields/2/fields/1"))
                .hasToString("{\"name\":\"colour\",\"type\":\"Colour\",\"values\":[\"RED\",\"GREEN\"]}");
    }

    @Test
    void takesStatesByTheirReferences() throws Exception {
        var ref = new StateRef(SecureHash.randomSHA256(), 0);
        String start = "{\"flow\": \"WithState\", \"args\": {\"state\": \"%s\", \"others\": []}}".formatted(ref);

        JsonNode problem = problem(post(CHECK, start).get(), ProblemType.INVALID_ARGUMENT);
        assertThat(problem.get("detail").textValue()).contains("it is not in the vault of PartyA");

        node.keeps(new VaultState(SampleClasses.State.at(ref), false));
        JsonNode checked = json(post(CHECK, start).get());
        assertThat(checked.at("/arguments/0/value").textValue()).isEqualTo(ref.toString());
    }

    @Test
    void startsWhenTheCheckIsNotWanted() throws Exception {
        var answer = post(FLOWS + "?check=false", start("c1", IOU));
        node.awaitStarted("c1");
        node.complete("c1", null);

        assertThat(answer.get().statusCode()).isEqualTo(200);
        JsonNode problem = problem(post(FLOWS + "?check=yes", IOU).get(), ProblemType.INVALID_REQUEST);
        assertThat(problem.path("field").textValue()).isEqualTo("check");
        assertThat(node.startedIds()).containsExactly("c1");
    }

    @Test
    void checksTheClientIdToo() throws Exception {
        var answer = post(FLOWS, start("c1", IOU));
        node.awaitStarted("c1");

        assertThat(post(CHECK, start("c1", IOU)).get().statusCode()).isEqualTo(200);
        problem(post(CHECK, start("c1", IOU.replace("1", "2"))).get(), ProblemType.INVALID_REQUEST);
        node.complete("c1", null);
        assertThat(answer.get().statusCode()).isEqualTo(200);
    }

    @Test
    void answers404ForUnknownNodesPathsAndIds() throws Exception {
        problem(get("/v1/nodes/PartyX/flows"), ProblemType.UNKNOWN_NODE);
        problem(post("/v1/nodes/PartyX/flows", IOU).get(), ProblemType.UNKNOWN_NODE);
        problem(post("/v1/nodes/PartyX/flows?check=true", IOU).get(), ProblemType.UNKNOWN_NODE);
        problem(get("/v2"), ProblemType.NOT_FOUND);
        problem(get(FLOWS + "/never-heard-of"), ProblemType.NOT_FOUND);
        problem(get(FLOWS + "/no%20id"), ProblemType.INVALID_REQUEST);
        problem(get("/v1/nodes/PartyA/vault/count?stateType=com.example.Nothing"), ProblemType.NOT_FOUND);
        problem(get("/v1/nodes/PartyA/vault/count"), ProblemType.INVALID_REQUEST);
    }

    @Test
    void answers405WithTheMethodsThereAre() throws Exception {
        HttpResponse<String> response =
                send("PUT", FLOWS, BodyPublishers.noBody()).get();

        problem(response, ProblemType.METHOD_NOT_ALLOWED);
        assertThat(response.headers().firstValue("Allow")).contains("GET, POST, DELETE");
    }

    @Test
    void answers413ToBodiesThatAreSentToTheEnd() throws Exception {
        byte[] large = new byte[20_000_000];

        problem(send("POST", FLOWS, BodyPublishers.ofByteArray(large)).get(), ProblemType.BODY_TOO_LARGE);
        problem(send("POST", FLOWS, chunked(large)).get(), ProblemType.BODY_TOO_LARGE);
        problem(post(FLOWS, " ".repeat(TestBridge.MAX_BODY_BYTES + 1)).get(), ProblemType.BODY_TOO_LARGE);
        problem(post(FLOWS, "{" + " ".repeat(TestBridge.MAX_BODY_BYTES - 1)).get(), ProblemType.MALFORMED_JSON);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"text/plain", "application/x-www-form-urlencoded", "application/jsonx", "json", "application/zip"
            })
    void answers415ToStartsThatDoNotSayTheyAreJson(String mediaType) throws Exception {
        var answer =
                send("POST", FLOWS, mediaType, BodyPublishers.ofString(IOU)).get();

        JsonNode problem = problem(answer, ProblemType.UNSUPPORTED_MEDIA_TYPE);
        assertThat(problem.path("field").textValue()).isEqualTo("Content-Type");
        assertThat(problem.path("detail").textValue()).contains(JSON, mediaType);
        assertThat(node.startedIds()).isEmpty();
    }

    @Test
    void takesParametersOfTheMediaType() throws Exception {
        var answer = send("POST", FLOWS, "Application/JSON; charset=utf-8", BodyPublishers.ofString(start("c1", IOU)));
        node.awaitStarted("c1");
        node.complete("c1", null);

        assertThat(answer.get().statusCode()).isEqualTo(200);
    }

    @Test
    void answers415WithoutAMediaType() throws Exception {
        assertThat(bridge.sendRaw("POST " + FLOWS + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                        + "Content-Length: 2\r\n\r\n{}"))
                .startsWith("HTTP/1.1 415 ")
                .contains("urn:corda-lab:problem:unsupported-media-type");
    }

    @Test
    void answers415ToAttachmentsThatDoNotSayTheyAreZip() throws Exception {
        byte[] zip = "PK\3\4".getBytes(StandardCharsets.ISO_8859_1);

        var answer = send("POST", ATTACHMENTS + "?name=a.zip", "text/plain", BodyPublishers.ofByteArray(zip));

        problem(answer.get(), ProblemType.UNSUPPORTED_MEDIA_TYPE);
    }

    @Test
    void answers415ToALargeBodyThatIsSentToTheEnd() throws Exception {
        var answer = send("POST", FLOWS, "text/plain", BodyPublishers.ofByteArray(new byte[20_000_000]));

        problem(answer.get(), ProblemType.UNSUPPORTED_MEDIA_TYPE);
    }

    @Test
    void answers413BeforeTheBodyWhenTheSenderWaitsForIt() throws Exception {
        String answer = bridge.sendRaw("POST " + FLOWS + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + JSON
                + "\r\nContent-Length: 20000000\r\nExpect: 100-continue\r\n\r\n");

        assertThat(answer).startsWith("HTTP/1.1 413 ").contains("urn:corda-lab:problem:body-too-large");
    }

    @Test
    void answersBrokenHttpWithAProblem() throws Exception {
        assertThat(bridge.sendRaw("GET / HTTP/1.1\r\nHost: a b\r\nContent-Length: x\r\n\r\n"))
                .startsWith("HTTP/1.1 400 ")
                .contains("application/problem+json")
                .contains("urn:corda-lab:problem:invalid-request");
    }

    @Test
    void describesNodesFlowsAndParties() throws Exception {
        JsonNode about = json(get("/v1/nodes")).get("nodes").get(0);
        assertThat(about.get("x500Name").textValue()).isEqualTo("O=PartyA, L=London, C=GB");
        assertThat(about.get("notary").booleanValue()).isFalse();
        assertThat(about.get("notaries").get(0).textValue()).isEqualTo("O=Notary, L=London, C=GB");
        assertThat(about.get("cordapps").get(0).get("name").textValue()).isEqualTo("samples");

        JsonNode iou = json(get("/v1/nodes/partya/flows")).get("flows").get(3);
        assertThat(iou.get("shortName").textValue()).isEqualTo("SampleFlows$Iou");
        assertThat(iou.get("parameters").toString())
                .isEqualTo("[[{\"name\":\"iouValue\",\"type\":\"int\"},{\"name\":\"otherParty\",\"type\":\"Party\"}]]");

        JsonNode parties = json(get("/v1/nodes/PARTYA/parties")).get("parties");
        assertThat(parties.get(0).get("name").textValue()).isEqualTo("Notary");
        assertThat(parties.get(0).get("notary").booleanValue()).isTrue();
        assertThat(parties.get(2).get("notary").booleanValue()).isFalse();
    }

    @Test
    void countsStates() throws Exception {
        JsonNode count = json(get("/v1/nodes/PartyA/vault/count?stateType=net.corda.core.contracts.ContractState"));

        assertThat(count.get("unconsumed").intValue()).isEqualTo(3);
        assertThat(count.get("consumed").intValue()).isEqualTo(2);
        assertThat(count.get("total").intValue()).isEqualTo(5);
    }

    @Test
    void countsRequestsByRouteAndNotByPath() throws Exception {
        get("/v1/nodes/PartyX/flows");
        get("/v1/nodes/PartyY/flows");
        get("/anything");

        assertThat(metrics())
                .contains("bridge_http_requests_total{route=\"/v1/nodes/{node}/flows\",status=\"404\"} 2.0")
                .contains("bridge_http_requests_total{route=\"unmatched\",status=\"404\"} 1.0")
                .contains("bridge_flows_in_flight{node=\"PartyA\"} 0.0")
                .contains("bridge_flows_started_total{flow=\"SampleFlows$Iou\",node=\"PartyA\"} 0.0")
                .contains("bridge_node_ready{node=\"PartyA\"} 1.0")
                .contains("jvm_memory_used_bytes{area=\"heap\"}")
                .contains("process_cpu_seconds_total")
                .contains("process_start_time_seconds");
    }

    @Test
    void servesADescriptionOfExactlyWhatThereIs() throws Exception {
        JsonNode description = json(get("/openapi.json"));

        Set<String> described = new TreeSet<>();
        description
                .get("paths")
                .fields()
                .forEachRemaining(path -> path.getValue().fieldNames().forEachRemaining(method -> {
                    if (!method.equals("parameters")) {
                        String operation = method.toUpperCase(Locale.ROOT) + " " + path.getKey();
                        described.add(operation + queryParameters(path.getValue(), method));
                    }
                }));
        assertThat(described).isEqualTo(bridge.routes());
        JsonNode types = description.at("/components/schemas/Problem/properties/type/enum");
        assertThat(StreamSupport.stream(types.spliterator(), false).map(JsonNode::textValue))
                .containsExactlyInAnyOrderElementsOf(List.of(ProblemType.values()).stream()
                        .map(ProblemType::urn)
                        .toList());
    }

    /** Returns the query parameters of an operation as described, in the order of their names. */
    private static Set<String> queryParameters(JsonNode path, String method) {
        return Stream.of(path.path("parameters"), path.path(method).path("parameters"))
                .flatMap(parameters -> StreamSupport.stream(parameters.spliterator(), false))
                .filter(parameter -> parameter.path("in").asText().equals("query"))
                .map(parameter -> parameter.get("name").textValue())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @ParameterizedTest
    @CsvSource({
        "?chekc=true, 'There is no query parameter chekc; this request has check.'",
        "?check=true&check=false, The query parameter check must be given once.",
        "?check=true&=1, 'There is no query parameter ; this request has check.'",
    })
    void aMisspeltQueryParameterStartsNothing(String query, String detail) throws Exception {
        HttpResponse<String> response =
                post("/v1/nodes/PartyA/flows" + query, "{\"flow\": \"Empty\"}").get();

        assertThat(problem(response, ProblemType.INVALID_REQUEST).get("detail").textValue())
                .isEqualTo(detail);
    }

    private static String start(String clientId, String body) {
        return body.replaceFirst("}$", ", \"clientId\": \"" + clientId + "\"}");
    }

    private JsonNode problem(HttpResponse<String> response, ProblemType type) {
        assertThat(response.body()).contains("\"" + type.urn() + "\"");
        assertThat(response.statusCode()).isEqualTo(type.status());
        assertThat(response.headers().firstValue("Content-Type")).contains("application/problem+json");
        return json(response);
    }

    private static JsonNode json(HttpResponse<String> response) {
        return Json.read(response.body().getBytes(StandardCharsets.UTF_8));
    }

    private String metrics() throws Exception {
        return get("/metrics").body();
    }

    private HttpResponse<String> get(String path) throws Exception {
        return send("GET", path, BodyPublishers.noBody()).get();
    }

    private CompletableFuture<HttpResponse<String>> post(String path, String body) {
        return send("POST", path, BodyPublishers.ofString(body));
    }

    private CompletableFuture<HttpResponse<String>> send(String method, String path, BodyPublisher body) {
        return send(method, path, JSON, body);
    }

    private CompletableFuture<HttpResponse<String>> send(
            String method, String path, String mediaType, BodyPublisher body) {
        URI uri = URI.create("http://localhost:" + bridge.port() + path);
        HttpRequest request = HttpRequest.newBuilder(uri)
                .header("Content-Type", mediaType)
                .method(method, body)
                .build();
        return client.sendAsync(request, BodyHandlers.ofString());
    }

    /** Creates a body without a length, which the client sends in chunks. */
    private static BodyPublisher chunked(byte[] body) {
        return BodyPublishers.fromPublisher(BodyPublishers.ofByteArray(body));
    }

    @Test
    void storesAnAttachmentOnce() throws Exception {
        byte[] zip = "PK\3\4 and more".getBytes(StandardCharsets.ISO_8859_1);
        HttpResponse<String> first = upload("?name=a.zip", zip);
        HttpResponse<String> second = upload("?name=b.zip", zip);

        assertThat(first.statusCode()).isEqualTo(201);
        assertThat(second.statusCode()).isEqualTo(200);
        assertThat(second.body()).isEqualTo(first.body());
        String id = Json.read(first.body().getBytes(StandardCharsets.UTF_8))
                .path("attachmentId")
                .asText();
        assertThat(get(ATTACHMENTS + "/" + id).statusCode()).isEqualTo(200);
        problem(get(ATTACHMENTS + "/" + "0".repeat(64)), ProblemType.NOT_FOUND);
        problem(get(ATTACHMENTS + "/x"), ProblemType.INVALID_REQUEST);
    }

    @Test
    void refusesWhatIsNoAttachment() throws Exception {
        problem(upload("?name=a.zip", "text".getBytes(StandardCharsets.UTF_8)), ProblemType.INVALID_REQUEST);
        problem(upload("?name=a.zip", new byte[0]), ProblemType.INVALID_REQUEST);
        problem(upload("?name=a.zip", new byte[TestBridge.MAX_ATTACHMENT_BYTES + 1]), ProblemType.BODY_TOO_LARGE);
        problem(upload("", "PK\3\4".getBytes(StandardCharsets.ISO_8859_1)), ProblemType.INVALID_REQUEST);
    }

    private HttpResponse<String> upload(String query, byte[] body) throws Exception {
        return send("POST", ATTACHMENTS + query, "application/zip", BodyPublishers.ofByteArray(body))
                .get();
    }
}
