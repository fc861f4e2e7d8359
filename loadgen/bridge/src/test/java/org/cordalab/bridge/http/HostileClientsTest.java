package org.cordalab.bridge.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.cordalab.bridge.config.HttpLimits;
import org.cordalab.bridge.problem.ProblemType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Sends to the real server what no good client sends, over real sockets. Its limits are low, so that tests are short. */
@Timeout(60)
class HostileClientsTest {

    private static final String FLOWS = "/v1/nodes/PartyA/flows";
    private static final String EMPTY = "{\"flow\": \"Empty\", \"clientId\": \"c1\"}";
    private static final int BODY = TestBridge.MAX_BODY_BYTES;
    private static final int CONNECTIONS = 24;
    private static final int BODIES = 8;
    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final Duration AGAIN = Duration.ofSeconds(5);
    /** Longer than a body waits for memory. */
    private static final Duration BODY_TIMEOUT = Duration.ofSeconds(2);
    /** Longer than a client of these tests pauses. */
    private static final Duration IDLE_TIMEOUT = Duration.ofSeconds(3);

    private static final HttpLimits LOW = new HttpLimits(
            CONNECTIONS, BODIES * BODY + BODY / 2, 1024 * 1024, SECOND, BODY_TIMEOUT, SECOND, IDLE_TIMEOUT, SECOND);

    private final List<Socket> sockets = new ArrayList<>();
    private final TestBridge bridge = new TestBridge(Optional.empty(), LOW);

    @AfterEach
    void stop() throws IOException {
        bridge.node().speak();
        closeSockets();
        bridge.close();
    }

    private void closeSockets() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
        sockets.clear();
    }

    // --- memory
    // -------------------------------------------------------------------------------------------------------

    @Test
    void answers503ToBodiesForWhichThereIsNoMemory() throws Exception {
        String start = head(BODY) + " ".repeat(BODY - 1);
        for (int i = 0; i < 2 * BODIES; i++) {
            open(start);
        }
        List<String> answers = new ArrayList<>();
        for (Socket socket : sockets) {
            answers.add(readUntil(socket, "}"));
        }

        assertThat(answers)
                .filteredOn(answer -> answer.startsWith("HTTP/1.1 503 "))
                .hasSizeGreaterThanOrEqualTo(BODIES);
        assertThat(answers)
                .allMatch(answer -> answer.startsWith("HTTP/1.1 503 ") || answer.startsWith("HTTP/1.1 408 "));
        assertThat(answers).anyMatch(answer -> answer.contains("urn:corda-lab:problem:overloaded"));
        assertIsUsableAgain();
    }

    @Test
    void countsAChunkThatIsNotCompleteYet() throws Exception {
        String start = "POST " + FLOWS + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n" + Integer.toHexString(1024 * 1024) + "\r\n"
                + " ".repeat(32 * 1024);
        Socket socket = open(start);

        assertThat(readUntil(socket, "}")).matches("(?s)HTTP/1.1 (413|503) .*");
        assertIsUsableAgain();
    }

    @Test
    void endsALengthOfAChunkThatDoesNotEnd() throws Exception {
        Socket socket = open("POST " + FLOWS + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n1;" + "x".repeat(64 * 1024));

        assertThat(readUntil(socket, "}")).matches("(?s)HTTP/1.1 (413|503) .*");
    }

    @Test
    void endsHeadersThatDoNotEnd() throws Exception {
        Socket socket = open("GET /v1/nodes HTTP/1.1\r\nHost: localhost\r\n");
        String answer = "";
        try {
            for (int i = 0; i < 10_000; i++) {
                write(socket, "X-" + i + ": y\r\n");
            }
            answer = readUntil(socket, "}");
        } catch (IOException e) {
            // The connection was closed while this client was writing.
        }

        assertThat(answer).matches("(?s)|HTTP/1.1 4.*");
        assertIsUsableAgain();
    }

    @Test
    void keepsMemoryForTheArgumentsOfAFlowAsLongAsItRuns() throws Exception {
        open(head(EMPTY.length()) + EMPTY);
        bridge.node().awaitStarted("c1");
        assertThat(gauge("bridge_request_memory_bytes")).isPositive();

        bridge.node().complete("c1", null);
        await(() -> gauge("bridge_request_memory_bytes") == 0);
    }

    @Test
    void keepsMemoryForTheFirstOfManyStartsOfAFlowOnly() throws Exception {
        try (var impatient = new TestBridge(SECOND.dividedBy(4))) {
            assertThat(impatient.send("POST", FLOWS, EMPTY).get().statusCode()).isEqualTo(504);
            double once = gauge(impatient, "bridge_request_memory_bytes");
            assertThat(once).isPositive();
            for (int i = 0; i < 3; i++) {
                assertThat(impatient.send("POST", FLOWS, EMPTY).get().statusCode())
                        .isEqualTo(504);
            }

            await(() -> gauge(impatient, "bridge_request_memory_bytes") == once);
            impatient.node().complete("c1", null);
            await(() -> gauge(impatient, "bridge_request_memory_bytes") == 0);
        }
    }

    // --- slow clients
    // -------------------------------------------------------------------------------------------------

    @Test
    void answers408ToHeadersThatDoNotCome() throws Exception {
        assertThat(readAll(open("GET /v1/no"))).startsWith("HTTP/1.1 408 ").contains("request-timeout");
    }

    @Test
    void answers408ToABodyThatDoesNotCome() throws Exception {
        assertThat(readAll(open(head(EMPTY.length()) + EMPTY.substring(1))))
                .startsWith("HTTP/1.1 408 ")
                .contains("urn:corda-lab:problem:request-timeout", "Nothing was started.");
        assertThat(bridge.node().startedIds()).isEmpty();
    }

    @Test
    void closesAConnectionThatSendsNothing() throws Exception {
        assertThat(readAll(open(""))).isEmpty();
    }

    @Test
    void closesAConnectionThatSendsNothingAfterAnAnswer() throws Exception {
        long began = System.nanoTime();
        Socket socket = open("GET /v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n");

        assertThat(readAll(socket)).startsWith("HTTP/1.1 200 ");
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(IDLE_TIMEOUT.minus(SECOND));
    }

    @Test
    void closesTheConnectionOfAClientThatDripsItsBody() throws Exception {
        Socket socket = open(head(BODY));
        boolean open = true;
        for (int i = 0; i < 100 && open; i++) {
            Thread.sleep(50);
            try {
                write(socket, " ");
            } catch (IOException e) {
                open = false;
            }
        }
        assertThat(open).isFalse();
    }

    @Test
    void aSlowUploadGivesWayToTheNextLongBeforeItsTimeIsOver() throws Exception {
        var patient = new HttpLimits(
                CONNECTIONS, 1 << 20, 1 << 20, SECOND, Duration.ofSeconds(12), SECOND, IDLE_TIMEOUT, SECOND);
        String upload = "POST /v1/nodes/PartyA/attachments?name=a.zip HTTP/1.1\r\nHost: localhost\r\n"
                + "Content-Type: application/zip\r\nContent-Length: 1000\r\n\r\nPK\3\4";
        try (var other = new TestBridge(Optional.empty(), patient);
                var slow = new Socket(InetAddress.getLoopbackAddress(), other.port());
                var next = new Socket(InetAddress.getLoopbackAddress(), other.port())) {
            write(slow, upload);
            var dripping = Thread.ofVirtual().start(() -> drip(slow));
            await(() -> gauge(other, "bridge_request_memory_bytes") > 0);
            long began = System.nanoTime();
            write(next, upload + "x".repeat(996));

            assertThat(readUntil(next, "}")).startsWith("HTTP/1.1 201 ");
            assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(8));
            assertThat(readAll(slow)).startsWith("HTTP/1.1 408 ");
            dripping.join();
        }
    }

    /** Sends a byte at a time until the connection is closed. */
    private static void drip(Socket socket) {
        try {
            while (true) {
                write(socket, "x");
                Thread.sleep(50);
            }
        } catch (IOException | InterruptedException e) {
            // The connection is closed.
        }
    }

    @Test
    void closesTheConnectionOfAClientThatDoesNotReadTheAnswer() throws Exception {
        open(head(EMPTY.length()) + EMPTY);
        bridge.node().awaitStarted("c1");
        bridge.node().complete("c1", Collections.nCopies(50_000, "x".repeat(200)));
        closeSockets();
        await(() -> gauge("bridge_connections") == 0);

        Socket socket = new Socket();
        sockets.add(socket);
        socket.setReceiveBufferSize(4096);
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), bridge.port()));
        write(socket, "GET " + FLOWS + "/c1 HTTP/1.1\r\nHost: localhost\r\n\r\n");

        byte[] status = socket.getInputStream().readNBytes("HTTP/1.1 200".length());
        assertThat(new String(status, StandardCharsets.US_ASCII)).isEqualTo("HTTP/1.1 200");
        await(() -> gauge("bridge_connections") == 0);
        await(() -> gauge("bridge_request_memory_bytes") == 0);
    }

    // --- sockets
    // ------------------------------------------------------------------------------------------------------

    @Test
    void answersAClientThatHasClosedItsHalf() throws Exception {
        Socket socket = open("GET /v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n");
        socket.shutdownOutput();

        assertThat(readAll(socket)).startsWith("HTTP/1.1 200 ");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"Content-Length: 100\r\n\r\n{\"flow\"", "Transfer-Encoding: chunked\r\n\r\n20\r\n{\"flow\""})
    void answers400ToABodyThatEndsEarly(String rest) throws Exception {
        Socket socket =
                open("POST " + FLOWS + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + rest);
        socket.shutdownOutput();

        assertThat(readAll(socket)).startsWith("HTTP/1.1 400 ").contains("urn:corda-lab:problem:invalid-request");
        assertThat(bridge.node().startedIds()).isEmpty();
    }

    @Test
    void forgetsConnectionsThatAreReset() throws Exception {
        for (int i = 0; i < CONNECTIONS / 2; i++) {
            Socket socket = open(head(BODY) + "{");
            socket.setSoLinger(true, 0);
        }
        closeSockets();

        await(() -> gauge("bridge_connections") == 0 && gauge("bridge_request_memory_bytes") == 0);
        assertIsUsableAgain();
    }

    @Test
    void answersBeyondTheLimitOfConnectionsOnlyHealthChecks() throws Exception {
        for (int i = 0; i < CONNECTIONS; i++) {
            readUntil(open("GET /v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n"), "]}]}");
        }

        assertThat(readAll(open("GET /v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n")))
                .startsWith("HTTP/1.1 503 ")
                .contains("urn:corda-lab:problem:overloaded", "BRIDGE_MAX_CONNECTIONS", "Retry-After: 1");
        assertThat(readAll(open("GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")))
                .startsWith("HTTP/1.1 200 ");
        closeSockets();
        assertIsUsableAgain();
    }

    @Test
    void answersHealthChecksHoweverManyConnectionsSendNothing() throws Exception {
        for (int i = 0; i < CONNECTIONS + ClientConnections.SPARE; i++) {
            open("");
        }

        assertIsUsableAgain();
    }

    // --- content
    // ------------------------------------------------------------------------------------------------------

    static List<String> hostileBodies() {
        String deep = "[".repeat(1000);
        return List.of(
                "{\"flow\": \"Empty\", \"args\": " + deep,
                "{\"a\":".repeat(300),
                "{\"flow\": \"\\ud800\"}",
                "{\"\\udc00\": 1}",
                "{\"flow\": \"" + "😀".repeat(500) + "\"}",
                "{\"flow\": \"a\\u0000b\\r\\nX: y\"}",
                "{\"flow\": \"java.lang.Runtime\"}",
                "{\"flow\": \"net.corda.core.flows.FlowLogic\"}",
                "{\"flow\": \"[Ljava.lang.String;\"}",
                "{\"flow\": \"../../etc/passwd\"}",
                "{\"flow\": \"${jndi:ldap://127.0.0.1/a}\"}",
                "{\"flow\": \"Iou\", \"args\": {\"iouValue\": 1e1000000000, \"otherParty\": \"PartyB\"}}",
                "{\"flow\": \"Iou\", \"args\": {\"iouValue\": 1, \"otherParty\": \"\\udfff\"}}",
                "{\"flow\": \"Iou\", \"args\": {\"iouValue\": 1, \"otherParty\": \"" + "1".repeat(1900) + "\"}}",
                "{\"flow\": \"Iou\", \"args\": {\"iouValue\": 1, \"otherParty\": {\"name\": \"O=a\"}}}",
                "{\"flow\": \"Empty\", \"args\": {\"\\ud83d\": 1}}",
                "{\"flow\": \"Empty\", \"clientId\": \"\\n\"}",
                "\"\\ud800\"",
                "\u0000",
                "nul",
                "{\"flow\": 1" + "0".repeat(1500) + "}");
    }

    @ParameterizedTest
    @MethodSource("hostileBodies")
    void answersHostileBodiesWith4xx(String body) throws Exception {
        for (String query : List.of("", "?check=true")) {
            var answer = bridge.send("POST", FLOWS + query, body).get();
            assertThat(answer.statusCode()).as(answer.body()).isBetween(400, 499);
            assertThat(answer.headers().firstValue("Content-Type")).contains("application/problem+json");
        }
        assertThat(bridge.node().startedIds()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "java.lang.String",
                "%5B%5B%5BI",
                "%5BLnet.corda.core.contracts.ContractState;",
                "..%2F..%2Fetc%2Fpasswd",
                "net/corda/core/contracts/ContractState",
                "NET.corda.core.contracts.ContractState",
                "a%00b",
                "%F0%9F%98%80",
                "net.corda.core.contracts.ContractState.class",
            })
    void answers404ToClassesThatAreNoStates(String name) throws Exception {
        var answer = bridge.send("GET", "/v1/nodes/PartyA/vault/count?stateType=" + name, "")
                .get();

        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(404);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GET /v1/nodes/%ff/flows HTTP/1.1",
                "GET /v1/nodes/%zz/flows HTTP/1.1",
                "GET /v1/nodes/PartyA/vault/count?stateType=%zz HTTP/1.1",
                "GET /v1/nodes/PartyA/vault/count?stateType=%ED%A0%80 HTTP/1.1",
                "GET /v1/nodes/PartyA/vault/count?&&&=&stateType HTTP/1.1",
                "GET /v1/nodes/../nodes HTTP/1.1",
                "GET //v1//nodes HTTP/1.1",
                "GET http://localhost/v1/nodes HTTP/1.1",
                "GET * HTTP/1.1",
                "OPTIONS * HTTP/1.1",
                "CONNECT localhost:80 HTTP/1.1",
                "TRACE /v1/nodes HTTP/1.1",
                "get /v1/nodes HTTP/1.1",
                "HEAD /v1/nodes HTTP/1.1",
                "\u0001\u0002 / HTTP/1.1",
                "GET /v1/nodes HTTP/1.0",
                "GET /v1/nodes HTTP/9.9",
                "GET /v1/nodes",
                "PRI * HTTP/2.0",
            })
    void answersHostileRequestLinesWithoutAFailure(String line) throws Exception {
        String answer = bridge.sendRaw(line + "\r\nHost: localhost\r\nConnection: close\r\n\r\n");

        assertThat(answer).doesNotContain("HTTP/1.1 5");
        assertIsUsableAgain();
    }

    // --- nodes that never answer
    // --------------------------------------------------------------------------------------

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/vault/count?stateType=net.corda.core.contracts.ContractState",
                "/vault/transactions?stateType=net.corda.core.contracts.ContractState&since=0",
                "/flows/c1",
                "/attachments/0000000000000000000000000000000000000000000000000000000000000000",
            })
    void answers503IfTheNodeDoesNotAnswer(String path) throws Exception {
        bridge.node().fallSilent();

        var answer = bridge.send("GET", "/v1/nodes/PartyA" + path, "").get();

        assertThat(answer.statusCode()).isEqualTo(ProblemType.NODE_UNAVAILABLE.status());
        assertThat(answer.body()).contains("PartyA has not answered within 1 s.");
    }

    @Test
    void limitsTheCallsThatHaveNoAnswerYet() throws Exception {
        bridge.node().fallSilent();
        for (int i = 0; i < 20; i++) {
            open("GET " + FLOWS + "/c" + i + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        }
        List<String> answers = new ArrayList<>();
        for (Socket socket : sockets) {
            answers.add(readUntil(socket, "}"));
        }

        assertThat(answers).allMatch(answer -> answer.startsWith("HTTP/1.1 503 "));
        assertThat(answers)
                .filteredOn(answer -> answer.contains("has not answered 16 earlier requests"))
                .hasSize(4);
        bridge.node().speak();
        await(() -> bridge.send("GET", FLOWS + "/c1", "").get().statusCode() == 404);
    }

    @Test
    void isNotReadyWhileItStops() throws Exception {
        bridge.drain();

        var ready = bridge.send("GET", "/health/ready", "").get();
        assertThat(ready.statusCode()).isEqualTo(503);
        assertThat(ready.body()).contains("\"status\":\"stopping\"");
        assertThat(bridge.send("GET", "/health/live", "").get().statusCode()).isEqualTo(200);
    }

    // --- helpers
    // ------------------------------------------------------------------------------------------------------

    private static String head(int length) {
        return "POST " + FLOWS + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
                + length + "\r\n\r\n";
    }

    private Socket open(String request) throws IOException {
        var socket = new Socket(InetAddress.getLoopbackAddress(), bridge.port());
        sockets.add(socket);
        write(socket, request);
        return socket;
    }

    private static void write(Socket socket, String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    /** Reads until the end of the connection, in whatever way it ends. */
    private static String readAll(Socket socket) {
        return readUntil(socket, "\u0000");
    }

    private static String readUntil(Socket socket, String end) {
        var answer = new ByteArrayOutputStream();
        try {
            int next = socket.getInputStream().read();
            while (next >= 0) {
                answer.write(next);
                if (answer.toString(StandardCharsets.UTF_8).endsWith(end)) {
                    break;
                }
                next = socket.getInputStream().read();
            }
        } catch (IOException e) {
            // The connection was reset.
        }
        return answer.toString(StandardCharsets.UTF_8);
    }

    /** The bridge is ready, and can start a flow. */
    private void assertIsUsableAgain() throws Exception {
        await(() -> bridge.send("GET", "/health/ready", "").get().statusCode() == 200);
        await(() -> bridge.send("POST", FLOWS + "?check=true", EMPTY).get().statusCode() == 200);
    }

    private double gauge(String name) throws IOException {
        return gauge(bridge, name);
    }

    /** Reads the metrics as Prometheus does: what clients take of the bridge does not hide them on their own port. */
    private static double gauge(TestBridge bridge, String name) throws IOException {
        String page = TestBridge.sendRaw(
                bridge.metricsPort(), "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        return page.lines()
                .filter(line -> line.startsWith(name + " "))
                .mapToDouble(line -> Double.parseDouble(line.substring(name.length() + 1)))
                .findFirst()
                .orElse(-1);
    }

    private static void await(Callable<Boolean> condition) throws Exception {
        long until = System.nanoTime() + AGAIN.toNanos();
        while (System.nanoTime() - until < 0) {
            try {
                if (condition.call()) {
                    return;
                }
            } catch (java.util.concurrent.ExecutionException e) {
                // No connection could be made yet.
            }
            Thread.sleep(20);
        }
        throw new AssertionError("The bridge was not usable again within " + AGAIN);
    }
}
