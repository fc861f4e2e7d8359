package org.cordalab.bridge.http;

import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.cordalab.bridge.BridgedNode;
import org.cordalab.bridge.BridgedNodes;
import org.cordalab.bridge.config.BridgeConfig;
import org.cordalab.bridge.config.NodeAddress;
import org.cordalab.bridge.metrics.BridgeMetrics;
import org.cordalab.bridge.run.FakeNode;

/** The real server on its own port, with PartyA behind it. Only the node is fake. */
final class TestBridge implements AutoCloseable {

    static final int MAX_BODY_BYTES = 2048;
    static final int MAX_ATTACHMENT_BYTES = 4096;
    static final int MAX_OUTSTANDING = 2;
    /** A host that the configuration allows in addition to the loopback hosts. */
    static final String ALLOWED_HOST = "bridge";

    private final FakeNode node = new FakeNode().connect();
    private final BridgedNodes nodes;
    private final BridgeServer server;

    TestBridge(Duration flowTimeout) {
        var config = new BridgeConfig(
                List.of(new NodeAddress("PartyA", "partya", 10003)),
                "user",
                "password",
                0,
                Set.of(ALLOWED_HOST),
                MAX_OUTSTANDING,
                MAX_BODY_BYTES,
                MAX_ATTACHMENT_BYTES,
                flowTimeout);
        var metrics = new BridgeMetrics();
        nodes = new BridgedNodes(List.of(BridgedNode.of(node, config, metrics)));
        server = new BridgeServer(config, nodes, metrics).start();
    }

    FakeNode node() {
        return node;
    }

    int port() {
        return server.port();
    }

    /** Sends the exact bytes of a request, even if HTTP clients would not allow them, and reads the whole answer. */
    String sendRaw(String request) throws IOException {
        try (var socket = new Socket("localhost", port())) {
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Override
    public void close() {
        server.close();
        nodes.all().forEach(BridgedNode::close);
    }
}
