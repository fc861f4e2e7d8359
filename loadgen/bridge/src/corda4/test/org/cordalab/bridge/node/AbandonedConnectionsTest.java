package org.cordalab.bridge.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import net.corda.client.rpc.CordaRPCConnection;
import net.corda.client.rpc.RPCConnection;
import net.corda.core.messaging.CordaRPCOps;
import net.corda.core.messaging.FlowHandle;
import net.corda.core.serialization.SerializationCustomSerializer;
import org.cordalab.bridge.config.NodeAddress;
import org.cordalab.bridge.flow.FlowCall;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An attempt to log in that fails leaves no connection open, however many attempts follow. */
@Timeout(30)
class AbandonedConnectionsTest {

    /** Connections of each login. */
    private static final int CONNECTIONS = 2;

    @Test
    void theFirstConnectionIsClosedIfTheSecondCannotBeOpened() {
        var client = new ScriptedClient(1);

        Throwable refused =
                catchThrowable(() -> connector(client).connect(new NodeAddress("PartyA", "localhost", 10003)));

        assertThat(refused).isSameAs(client.refusal);
        assertThat(client.closed).containsExactly(1);
    }

    @Test
    void connectionsAreClosedIfTheNodeDoesNotAnswerAboutItself() throws Exception {
        var client = new ScriptedClient(Integer.MAX_VALUE);
        try (var port = new ServerSocket(0);
                var connection = new NodeConnection(
                                new NodeAddress("PartyA", "localhost", port.getLocalPort()), connector(client))
                        .start()) {
            List<Integer> closed = new ArrayList<>();
            for (int i = 0; i < 2 * CONNECTIONS; i++) {
                closed.add(client.closed.take());
            }

            assertThat(closed).as("those of two attempts").containsExactly(1, 2, 3, 4);
            assertThat(connection.session()).isEmpty();
            assertThat(connection.ready()).isFalse();
        }
    }

    private static RpcConnector connector(RpcClient client) {
        return new RpcConnector("user", "password", CONNECTIONS, Optional.empty(), client);
    }

    /** Opens connections, numbered from 1, to a node that answers no call, and refuses to open too many. */
    private static final class ScriptedClient implements RpcClient {
        /** The client library also throws checked exceptions that it does not declare. */
        final IOException refusal = new IOException("refused");

        final BlockingQueue<Integer> closed = new LinkedBlockingQueue<>();
        private final AtomicInteger opened = new AtomicInteger();
        private final int most;

        ScriptedClient(int most) {
            this.most = most;
        }

        @Override
        public CordaRPCConnection connect(NodeAddress node, String user, String password) {
            int number = opened.incrementAndGet();
            if (number > most) {
                throw ScriptedClient.<RuntimeException>undeclared(refusal);
            }
            return new CordaRPCConnection(new Connection(number));
        }

        @SuppressWarnings("unchecked")
        private static <E extends Exception> E undeclared(Exception exception) throws E {
            throw (E) exception;
        }

        @Override
        public Collection<SerializationCustomSerializer<?, ?>> serializers() {
            throw new AssertionError();
        }

        @Override
        public List<NodeProfile.Cordapp> cordapps(CordaRPCOps ops) {
            throw new AssertionError();
        }

        @Override
        public FlowHandle<?> start(CordaRPCOps ops, String clientId, FlowCall call) {
            throw new AssertionError();
        }

        @Override
        public FlowHandle<?> reattach(CordaRPCOps ops, String clientId) {
            throw new AssertionError();
        }

        @Override
        public boolean removeClientId(CordaRPCOps ops, String clientId) {
            throw new AssertionError();
        }

        @Override
        public Set<String> endedClientIds(CordaRPCOps ops) {
            throw new AssertionError();
        }

        private final class Connection implements RPCConnection<CordaRPCOps> {
            private final int number;

            Connection(int number) {
                this.number = number;
            }

            @Override
            public CordaRPCOps getProxy() {
                return (CordaRPCOps) Proxy.newProxyInstance(
                        CordaRPCOps.class.getClassLoader(), new Class<?>[] {CordaRPCOps.class}, (ops, call, given) -> {
                            throw new IllegalStateException("The node does not answer " + call.getName());
                        });
            }

            @Override
            public int getServerProtocolVersion() {
                return 12;
            }

            @Override
            public <T> T getTelemetryHandle(Class<T> type) {
                throw new AssertionError();
            }

            @Override
            public void notifyServerAndClose() {
                throw new AssertionError("It would wait for the node.");
            }

            @Override
            public void forceClose() {
                closed.add(number);
            }

            @Override
            public void close() {
                throw new AssertionError("It would wait for the node.");
            }
        }
    }
}
