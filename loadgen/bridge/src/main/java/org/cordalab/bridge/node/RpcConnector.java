package org.cordalab.bridge.node;

import java.time.Duration;
import java.util.Set;
import net.corda.client.rpc.CordaRPCClient;
import net.corda.client.rpc.CordaRPCClientConfiguration;
import net.corda.client.rpc.CordaRPCConnection;
import net.corda.core.serialization.SerializationCustomSerializer;
import net.corda.core.utilities.NetworkHostAndPort;
import org.cordalab.bridge.config.NodeAddress;

/**
 * Logs in to nodes; the one place where the RPC client is configured, for the bridge and for its benchmark alike.
 *
 * <p>Corda's own {@code GracefulReconnect} is not used: while it reconnects it holds every caller inside a
 * {@code synchronized} block without a time limit, which with virtual threads also holds their carriers, and it cannot
 * tell a caller that there is no connection. {@link NodeConnection} reconnects instead.
 */
public final class RpcConnector {

    /** Corda 4.0; the default would refuse every node older than the client library. */
    private static final int MINIMUM_PLATFORM_VERSION = 4;

    private final String user;
    private final String password;
    private final Set<SerializationCustomSerializer<?, ?>> serializers =
            CordappSerializers.find(System.getProperty("java.class.path"));

    public RpcConnector(String user, String password) {
        this.user = user;
        this.password = password;
    }

    /**
     * Connects and logs in. Blocks while the node is starting.
     *
     * Throws whatever the client library throws, undeclared checked exceptions too: connection refused, wrong password …
     */
    CordaRPCConnection connect(NodeAddress node) {
        var client = new CordaRPCClient(
                new NetworkHostAndPort(node.host(), node.port()),
                new Configuration(),
                null,
                RpcConnector.class.getClassLoader(),
                serializers);
        return client.start(user, password);
    }

    private static final class Configuration extends CordaRPCClientConfiguration {
        @Override
        public int getMinimumServerProtocolVersion() {
            return MINIMUM_PLATFORM_VERSION;
        }

        /** None: a broken connection is replaced as a whole. */
        @Override
        public int getMaxReconnectAttempts() {
            return 0;
        }

        @Override
        public Duration getConnectionRetryInterval() {
            return Duration.ofSeconds(1);
        }
    }
}
