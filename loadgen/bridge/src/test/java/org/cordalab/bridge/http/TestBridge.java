package org.cordalab.bridge.http;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.cordalab.bridge.BridgedNode;
import org.cordalab.bridge.BridgedNodes;
import org.cordalab.bridge.config.BridgeConfig;
import org.cordalab.bridge.config.HttpLimits;
import org.cordalab.bridge.config.NodeAddress;
import org.cordalab.bridge.metrics.BridgeMetrics;
import org.cordalab.bridge.node.NodeGateway;
import org.cordalab.bridge.run.FakeNode;
import org.cordalab.bridge.run.NodeFlows;
import org.cordalab.bridge.stub.StubNetwork;

/** The real server on its own port, with PartyA behind it. Only the node is fake. */
final class TestBridge implements AutoCloseable {

    static final int MAX_BODY_BYTES = 2048;
    static final int MAX_ATTACHMENT_BYTES = 4096;
    static final int MAX_OUTSTANDING = 2;
    /** A host that the configuration allows in addition to the loopback hosts. */
    static final String ALLOWED_HOST = "bridge";

    /** Longer than any flow of a test takes. */
    static final Duration FLOW_TIMEOUT = Duration.ofSeconds(30);

    private static final Duration RETENTION = Duration.ofHours(1);

    /** The standard limits. */
    static final HttpLimits LIMITS =
            HttpLimits.of(Runtime.getRuntime().maxMemory(), MAX_OUTSTANDING, MAX_ATTACHMENT_BYTES);

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final FakeNode node;
    private final BridgedNodes nodes;
    private final BridgeServer server;

    TestBridge(Duration flowTimeout) {
        this(new FakeNode().connect(), flowTimeout);
    }

    /** Starts a bridge on a node that may have served another bridge before. */
    TestBridge(FakeNode node, Duration flowTimeout) {
        this(node, List.of(node), Optional.empty(), MAX_OUTSTANDING, flowTimeout, Optional.empty(), LIMITS);
    }

    /** Starts a bridge with other limits, and a token if there is one. */
    TestBridge(Optional<String> token, HttpLimits limits) {
        this(new FakeNode().connect(), token, limits);
    }

    private TestBridge(FakeNode node, Optional<String> token, HttpLimits limits) {
        this(node, List.of(node), Optional.empty(), MAX_OUTSTANDING, FLOW_TIMEOUT, token, limits);
    }

    private TestBridge(
            FakeNode node,
            List<? extends NodeGateway> gateways,
            Optional<StubNetwork> stub,
            int maxOutstanding,
            Duration flowTimeout,
            Optional<String> token,
            HttpLimits limits) {
        this.node = node;
        var config = new BridgeConfig(
                List.of(new NodeAddress("PartyA", "partya", 10003)),
                Optional.empty(),
                "user",
                "password",
                1,
                OptionalInt.empty(),
                0,
                OptionalInt.of(0),
                Set.of(ALLOWED_HOST),
                maxOutstanding,
                MAX_BODY_BYTES,
                MAX_ATTACHMENT_BYTES,
                flowTimeout,
                RETENTION,
                InetAddress.getLoopbackAddress(),
                token,
                limits);
        var metrics = new BridgeMetrics();
        nodes = new BridgedNodes(gateways.stream()
                .map(gateway -> BridgedNode.of(gateway, config, gateways.size(), metrics))
                .toList());
        server = new BridgeServer(config, nodes, metrics, stub).start();
    }

    /** Starts a bridge with the stub nodes of a plan. It has no {@link #node}. */
    static TestBridge ofStub(Path plan) {
        return ofStub(plan, MAX_OUTSTANDING, FLOW_TIMEOUT);
    }

    /** Starts a bridge with the stub nodes of a plan, a limit of outstanding flows, and a time limit of flows. */
    static TestBridge ofStub(Path plan, int maxOutstanding, Duration flowTimeout) {
        StubNetwork stub = StubNetwork.of(plan, TestBridge.class.getClassLoader());
        return new TestBridge(
                null, stub.gateways(), Optional.of(stub), maxOutstanding, flowTimeout, Optional.empty(), LIMITS);
    }

    FakeNode node() {
        return node;
    }

    NodeFlows flows() {
        return nodes.get(node.name()).flows();
    }

    /** Declares that the bridge is about to stop. */
    void drain() {
        server.drain();
    }

    Set<String> routes() {
        return server.routes();
    }

    int metricsPort() {
        return server.metricsPort();
    }

    int port() {
        return server.port();
    }

    /** Sends the exact bytes of a request, even if HTTP clients would not allow them, and reads the whole answer. */
    String sendRaw(String request) throws IOException {
        return sendRaw(port(), request);
    }

    /** The same, at one of the bridge's ports. */
    static String sendRaw(int port, String request) throws IOException {
        try (var socket = new Socket("localhost", port)) {
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** Sends a request with a JSON body, or with none if it is empty. */
    CompletableFuture<HttpResponse<String>> send(String method, String path, String body) {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port() + path))
                .header("Content-Type", "application/json")
                .method(method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
                .build();
        return client.sendAsync(request, BodyHandlers.ofString());
    }

    /** Stops the bridge without letting flows end. The node keeps running. */
    void kill() {
        client.shutdownNow();
        server.close();
        nodes.all().forEach(each -> each.flows().close());
    }

    @Override
    public void close() {
        client.shutdownNow();
        server.close();
        nodes.all().forEach(BridgedNode::close);
    }
}
