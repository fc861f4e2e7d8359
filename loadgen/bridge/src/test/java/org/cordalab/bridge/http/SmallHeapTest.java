package org.cordalab.bridge.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.cordalab.bridge.json.Json;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Attacks the memory of the bridge in a process of its own, which ends when its heap is exhausted, as the image's does. */
@Timeout(120)
class SmallHeapTest {

    private static final String HEAP = "-Xmx96m";
    private static final int ATTACKERS = 630;
    private static final int BODY_BYTES = 1024 * 1024;
    private static final int READERS = 20;
    private static final int LONG_RESULTS = 60;
    private static final String FLOWS = "/v1/nodes/PartyA/flows";
    private static final String START = "{\"flow\": \"Iou\", \"args\": {\"iouValue\": 1, \"otherParty\": \"PartyB\"}}";
    private static final double HEAP_GROWTH_MAX = 1.1;
    private static final Duration REFUSAL_LIMIT = Duration.ofSeconds(10);
    private static final Duration READY_AGAIN = Duration.ofSeconds(5);
    private static final Duration FORGOTTEN = Duration.ofSeconds(20);

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final List<Socket> attackers = new ArrayList<>();
    private final Set<Socket> refused = new HashSet<>();

    @TempDir
    private Path folder;

    private Process bridge;
    private double heapBefore;
    private int port;

    @BeforeEach
    void start() throws Exception {
        start(Duration.ofHours(1));
    }

    private void start(Duration retention) throws Exception {
        port = freePort();
        List<String> command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElseThrow(),
                HEAP,
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                // The JDK keeps the names of resources until memory is short. Here, it always is.
                "-XX:SoftRefLRUPolicyMSPerMB=0",
                "-XX:+ExitOnOutOfMemoryError"));
        // Corda's serialisation needs the same packages as in this process.
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(argument -> argument.startsWith("--add-opens"))
                .forEach(command::add);
        command.addAll(List.of("--class-path", System.getProperty("java.class.path"), "org.cordalab.bridge.Main"));
        var process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("bridge.log").toFile());
        process.environment().put("BRIDGE_STUB", plan().toString());
        process.environment().put("BRIDGE_PORT", Integer.toString(port));
        process.environment().put("BRIDGE_MAX_CONNECTIONS", "700");
        process.environment().put("BRIDGE_OUTCOME_RETENTION_SECONDS", Long.toString(retention.toSeconds()));
        // An eighth of the heap must be enough for one.
        process.environment().put("BRIDGE_MAX_ATTACHMENT_BYTES", "8388608");
        bridge = process.start();
        awaitReady(Duration.ofSeconds(60));
        assertThat(startFlow()).isEqualTo(200);
        // The first look-up of a class opens every jar, and they stay open.
        assertThat(statusOfCount("com.example.Nothing")).isEqualTo(404);
        heapBefore = heapInUse();
    }

    @AfterEach
    void stop() throws Exception {
        closeAttackers();
        bridge.destroy();
        assertThat(bridge.waitFor(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void survivesBodiesWhoseLastByteIsHeldBack() throws Exception {
        attack("Content-Length: " + BODY_BYTES + "\r\n\r\n", BODY_BYTES - 1);
    }

    @Test
    void survivesChunksWhoseLastByteIsHeldBack() throws Exception {
        attack("Transfer-Encoding: chunked\r\n\r\n" + Integer.toHexString(BODY_BYTES) + "\r\n", BODY_BYTES - 1);
    }

    @Test
    void survivesBodiesOfManyValues() throws Exception {
        String values = "[" + "[],".repeat(90_000) + "[]]";
        String body = "{\"flow\": \"Iou\", \"args\": {\"iouValue\": " + values + ", \"otherParty\": \"PartyB\"}}";
        var answers = Collections.nCopies(40, body).stream()
                .map(each -> client.sendAsync(post(each), BodyHandlers.ofString()))
                .toList();

        for (var answer : answers) {
            assertThat(answer.get().statusCode()).isIn(400, 503);
        }
        assertThat(startFlow()).isEqualTo(200);
        assertThat(heapInUse()).isLessThan(HEAP_GROWTH_MAX * heapBefore);
    }

    /** An eighth of the heap holds one long result. */
    @Test
    void survivesSlowReadersOfALongResult() throws Exception {
        // The third flow has the first long result, see the plan.
        assertThat(startFlow()).isEqualTo(200);
        String start = START.replaceFirst("}$", ", \"clientId\": \"long\"}");
        assertThat(client.send(post(start), BodyHandlers.discarding()).statusCode())
                .isEqualTo(200);

        List<String> answers = new ArrayList<>();
        for (int i = 0; i < READERS; i++) {
            answers.add(beginningOfAnswer(FLOWS + "/long"));
        }
        awaitReady(READY_AGAIN);
        HttpResponse<String> unknown = client.send(post(START), BodyHandlers.ofString());

        assertThat(answers).contains("HTTP/1.1 200");
        assertThat(answers)
                .filteredOn(answer -> answer.startsWith("HTTP/1.1 503"))
                .hasSizeGreaterThan(READERS / 2)
                .allSatisfy(answer -> assertThat(answer)
                        .contains("Retry-After: 1", "urn:corda-lab:problem:overloaded", "Nothing was changed."));
        assertThat(unknown.statusCode()).as(unknown.body()).isEqualTo(504);
        assertThat(unknown.body())
                .contains("urn:corda-lab:problem:outcome-unknown", "clientId")
                .doesNotContain("Nothing was started");
        closeAttackers();
        String clientId = Json.read(unknown.body().getBytes(StandardCharsets.UTF_8))
                .get("clientId")
                .textValue();
        assertThat(awaitRoom(FLOWS + "/" + clientId)).isEqualTo(200);
        assertThat(heapInUse()).isLessThan(HEAP_GROWTH_MAX * heapBefore);
    }

    /** All of them together are six times the heap. The bridge keeps one or two, and forgets those in the end. */
    @Test
    void survivesManyLongResultsThatItShouldKeep() throws Exception {
        stop();
        start(Duration.ofSeconds(5));
        assertThat(startFlow()).isEqualTo(200);

        for (int i = 0; i < LONG_RESULTS; i++) {
            String start = START.replaceFirst("}$", ", \"clientId\": \"kept-" + i + "\"}");
            assertThat(client.send(post(start), BodyHandlers.discarding()).statusCode())
                    .isEqualTo(200);
        }

        awaitReady(READY_AGAIN);
        assertThat(awaitRoom(FLOWS + "/kept-" + (LONG_RESULTS - 1))).isEqualTo(200);
        long until = System.nanoTime() + FORGOTTEN.toNanos();
        double inUse = heapInUse();
        while (inUse > HEAP_GROWTH_MAX * heapBefore) {
            assertThat(System.nanoTime() - until)
                    .as("%.0f bytes in use, %.0f before", inUse, heapBefore)
                    .isNegative();
            inUse = heapInUse();
        }
    }

    @Test
    void keepsNothingOfNamesThatClientsMakeUp() throws Exception {
        for (int i = 0; i < 10_000; i++) {
            assertThat(statusOfCount("x".repeat(400) + i)).isEqualTo(404);
        }

        assertThat(heapInUse()).isLessThan(HEAP_GROWTH_MAX * heapBefore);
    }

    /** Sends a request and reads the status of its answer, and the rest only if that is a problem. */
    private String beginningOfAnswer(String path) throws IOException {
        var socket = new Socket();
        attackers.add(socket);
        // Hardly any of the answer fits into the sockets.
        socket.setReceiveBufferSize(4096);
        socket.setSoTimeout(20_000);
        String get = "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".formatted(path);
        try {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            socket.getOutputStream().write(get.getBytes(StandardCharsets.US_ASCII));
            InputStream in = socket.getInputStream();
            String status = new String(in.readNBytes("HTTP/1.1 200".length()), StandardCharsets.US_ASCII);
            return status.endsWith("200") ? status : status + new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (SocketException e) {
            return "no connection";
        }
    }

    /** Asks until there is memory for the answer, and returns its status. */
    private int awaitRoom(String path) throws Exception {
        long until = System.nanoTime() + READY_AGAIN.toNanos();
        int status = 503;
        while (status == 503) {
            assertThat(System.nanoTime() - until)
                    .as("room within " + READY_AGAIN)
                    .isNegative();
            status = client.send(request(path).GET().build(), BodyHandlers.discarding())
                    .statusCode();
        }
        return status;
    }

    private void attack(String headers, int bytes) throws Exception {
        byte[] head = ("POST " + FLOWS + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + headers)
                .getBytes(StandardCharsets.US_ASCII);
        byte[] body = " ".repeat(bytes).getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i < ATTACKERS; i++) {
            var socket = new Socket(InetAddress.getLoopbackAddress(), port);
            attackers.add(socket);
            try {
                socket.getOutputStream().write(head);
                socket.getOutputStream().write(body);
            } catch (IOException e) {
                // Refused and closed by the bridge while this client was writing.
            }
        }
        assertThat(bridge.isAlive()).isTrue();
        awaitReady(READY_AGAIN);
        // An eighth of the heap holds 12 of them.
        long until = System.nanoTime() + REFUSAL_LIMIT.toNanos();
        while (refused() < ATTACKERS - 50) {
            assertThat(System.nanoTime() - until)
                    .as(refused() + " were refused")
                    .isNegative();
            Thread.sleep(50);
        }
        closeAttackers();
        awaitReady(READY_AGAIN);
        assertThat(startFlow()).isEqualTo(200);
        assertThat(heapInUse()).isLessThan(HEAP_GROWTH_MAX * heapBefore);
    }

    /** Returns the heap in use after a collection, in bytes. */
    private double heapInUse() throws Exception {
        // What was used since the last collection survives one more if it is softly referenced.
        collectGarbage();
        collectGarbage();
        String page = client.send(request("/metrics").GET().build(), BodyHandlers.ofString())
                .body();
        String series = "jvm_memory_used_bytes{area=\"heap\"} ";
        return page.lines()
                .filter(line -> line.startsWith(series))
                .mapToDouble(line -> Double.parseDouble(line.substring(series.length())))
                .findFirst()
                .orElseThrow();
    }

    private void collectGarbage() throws Exception {
        Path jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd");
        Process collection = new ProcessBuilder(jcmd.toString(), Long.toString(bridge.pid()), "GC.run")
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("jcmd.log").toFile())
                .start();
        assertThat(collection.waitFor()).isZero();
    }

    /** Returns the number of attackers that have got an answer, or have lost their connection. */
    private int refused() throws IOException {
        for (Socket socket : attackers) {
            if (refused.contains(socket)) {
                continue;
            }
            socket.setSoTimeout(1);
            try {
                socket.getInputStream().read();
                refused.add(socket);
            } catch (SocketTimeoutException e) {
                // No answer yet.
            } catch (IOException e) {
                refused.add(socket);
            }
        }
        return refused.size();
    }

    private void closeAttackers() throws IOException {
        for (Socket socket : attackers) {
            socket.close();
        }
        attackers.clear();
    }

    private void awaitReady(Duration limit) throws Exception {
        long until = System.nanoTime() + limit.toNanos();
        while (true) {
            assertThat(bridge.isAlive())
                    .as(Files.readString(folder.resolve("bridge.log")))
                    .isTrue();
            try {
                if (client.send(request("/health/ready").GET().build(), BodyHandlers.discarding())
                                .statusCode()
                        == 200) {
                    return;
                }
            } catch (IOException e) {
                // Not listening yet.
            }
            assertThat(System.nanoTime() - until).as("ready within " + limit).isNegative();
            Thread.sleep(50);
        }
    }

    private int statusOfCount(String stateType) throws Exception {
        HttpRequest count = request("/v1/nodes/PartyA/vault/count?stateType=" + stateType)
                .GET()
                .build();
        return client.send(count, BodyHandlers.discarding()).statusCode();
    }

    private int startFlow() throws Exception {
        HttpResponse<String> answer = client.send(post(START), BodyHandlers.ofString());
        return answer.statusCode();
    }

    private HttpRequest post(String body) {
        return request(FLOWS)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(body))
                .build();
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
                .timeout(Duration.ofSeconds(20));
    }

    private Path plan() throws IOException {
        return Files.writeString(folder.resolve("plan.json"), """
                {"nodes": {"PartyA": "O=PartyA,L=London,C=GB", "PartyB": "O=PartyB,L=New York,C=US"},
                 "flow": "org.cordalab.bridge.flow.SampleFlows$Iou",
                 "stateType": "net.corda.core.contracts.ContractState",
                 "longResults": %s, "delaysMs": %s}""".formatted(
                        IntStream.range(2, 2 + LONG_RESULTS).boxed().toList(), Collections.nCopies(100, 1)));
    }

    private static int freePort() throws IOException {
        try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
