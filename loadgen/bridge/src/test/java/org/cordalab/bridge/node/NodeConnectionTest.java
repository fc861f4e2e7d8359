package org.cordalab.bridge.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.cordalab.bridge.config.NodeAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class NodeConnectionTest {

    private final RpcConnector connector = new RpcConnector("user", "password", 2);

    @Test
    void isNotReadyAndKnowsNothingWhileTheNodeCannotBeReached() throws Exception {
        try (var connection =
                new NodeConnection(new NodeAddress("PartyA", "localhost", closedPort()), connector).start()) {
            assertThat(connection.ready()).isFalse();
            assertThat(connection.session()).isEmpty();
            assertThat(connection.profile()).isEmpty();
        }
    }

    @Test
    void logsInOnceThePortAcceptsConnections() throws Exception {
        int port = closedPort();
        try (var connection = new NodeConnection(new NodeAddress("PartyA", "localhost", port), connector).start();
                var node = new ServerSocket(port, 1, InetAddress.getByName("localhost"))) {
            assertThat(bytesSent(node)).as("the port check").isZero();
            assertThat(bytesSent(node)).as("the login").isPositive();

            assertThat(connection.ready()).isFalse();
        }
    }

    @Test
    void letsThoseWhoWaitGoWhenItIsClosed() throws Exception {
        var connection = new NodeConnection(new NodeAddress("PartyA", "localhost", closedPort()), connector).start();
        var waiting = new CompletableFuture<Optional<NodeSession>>();
        Thread.ofVirtual().start(() -> {
            try {
                waiting.complete(connection.awaitSession());
            } catch (InterruptedException e) {
                waiting.completeExceptionally(e);
            }
        });

        connection.close();

        assertThat(waiting.get()).isEmpty();
    }

    /** Accepts one connection and returns the number of bytes it sends, at most one. */
    private static int bytesSent(ServerSocket node) throws Exception {
        try (var client = node.accept()) {
            return client.getInputStream().readNBytes(1).length;
        }
    }

    private static int closedPort() throws Exception {
        try (var socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
