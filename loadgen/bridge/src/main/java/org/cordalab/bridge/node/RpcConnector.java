package org.cordalab.bridge.node;

import java.util.Collection;
import java.util.Optional;
import java.util.function.Function;
import net.corda.core.messaging.CordaRPCOps;
import net.corda.core.serialization.SerializationCustomSerializer;
import org.cordalab.bridge.config.NodeAddress;

/** Logs in to nodes, for both the bridge and its benchmark. */
public final class RpcConnector {

    private final String user;
    private final String password;
    private final int connections;
    private final Optional<LeftOpenConnections> leftOpen;
    private final RpcClient client;

    /**
     * @param connections number of connections of each login, which all requests share
     */
    public RpcConnector(String user, String password, int connections) {
        this(user, password, connections, Optional.empty());
    }

    /**
     * @param connections number of connections of each login
     * @param leftOpen holds the connections of flow starts; empty: flow starts share those of the login
     */
    public RpcConnector(String user, String password, int connections, Optional<LeftOpenConnections> leftOpen) {
        this(user, password, connections, leftOpen, new CordaRpcClient());
    }

    RpcConnector(
            String user, String password, int connections, Optional<LeftOpenConnections> leftOpen, RpcClient client) {
        this.user = user;
        this.password = password;
        this.connections = connections;
        this.leftOpen = leftOpen;
        this.client = client;
    }

    /**
     * Connects and logs in. Blocks while the node is starting.
     *
     * <p>Throws whatever the client library throws, including undeclared checked exceptions: connection refused, wrong
     * password …
     */
    RpcSession connect(NodeAddress node) {
        var opened = RpcConnections.open(connections, () -> client.connect(node, user, password));
        return new RpcSession(node.name(), client, opened, forStarts(node, opened));
    }

    private FlowStarts forStarts(NodeAddress node, RpcConnections shared) {
        return leftOpen.<FlowStarts>map(each -> new OneEach(each, node)).orElse(new FlowStarts() {
            @Override
            public <T> T start(Function<CordaRPCOps, T> start) {
                return start.apply(shared.next());
            }
        });
    }

    /** Opens a connection for each start. It stays open, unless it breaks during the start, which is then retried. */
    private final class OneEach implements FlowStarts {
        private final LeftOpenConnections connections;
        private final NodeAddress node;

        OneEach(LeftOpenConnections connections, NodeAddress node) {
            this.connections = connections;
            this.node = node;
        }

        @Override
        public <T> T start(Function<CordaRPCOps, T> start) {
            var connection = connections.open(node.name(), () -> client.connect(node, user, password));
            try {
                return start.apply(connection.getProxy());
            } catch (RuntimeException e) {
                if (RpcSession.isConnectionFailure(e)) {
                    connections.forget(node.name(), connection);
                    RpcConnections.close(connection);
                }
                throw e;
            }
        }
    }

    /** Returns the serialisers that CorDapps provide for their own types. */
    public Collection<SerializationCustomSerializer<?, ?>> serializers() {
        return client.serializers();
    }

    /** Returns the number of connections to a node that were left open. */
    int leftOpen(NodeAddress node) {
        return leftOpen.map(each -> each.count(node.name())).orElse(0);
    }
}
