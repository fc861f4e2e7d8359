package org.cordalab.bridge.node;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import net.corda.client.rpc.CordaRPCClient;
import net.corda.client.rpc.CordaRPCClientConfiguration;
import net.corda.client.rpc.CordaRPCConnection;
import net.corda.core.messaging.CordaRPCOps;
import net.corda.core.messaging.FlowHandle;
import net.corda.core.serialization.SerializationCustomSerializer;
import net.corda.core.utilities.NetworkHostAndPort;
import org.cordalab.bridge.config.NodeAddress;
import org.cordalab.bridge.flow.FlowCall;

/**
 * The RPC client of Corda 4.
 *
 * <p>Corda's own {@code GracefulReconnect} is not used. While it reconnects, every caller waits without a time limit
 * inside a {@code synchronized} block, which also holds the carriers of virtual threads. It also cannot report to a
 * caller that there is no connection. {@link NodeConnection} reconnects instead.
 */
final class CordaRpcClient implements RpcClient {

    /** Corda 4.0. The default would reject every node older than the client library. */
    private static final int MINIMUM_PLATFORM_VERSION = 4;

    private final Set<SerializationCustomSerializer<?, ?>> serializers =
            CordappSerializers.find(System.getProperty("java.class.path"));

    @Override
    public CordaRPCConnection connect(NodeAddress node, String user, String password) {
        var client = new CordaRPCClient(
                new NetworkHostAndPort(node.host(), node.port()),
                new Configuration(),
                null,
                CordaRpcClient.class.getClassLoader(),
                serializers);
        return client.start(user, password);
    }

    @Override
    public Collection<SerializationCustomSerializer<?, ?>> serializers() {
        return serializers;
    }

    @Override
    public List<NodeProfile.Cordapp> cordapps(CordaRPCOps ops) {
        return ops.nodeDiagnosticInfo().getCordapps().stream()
                .map(cordapp ->
                        new NodeProfile.Cordapp(cordapp.getShortName(), cordapp.getVersion(), cordapp.getType()))
                .toList();
    }

    @Override
    public FlowHandle<?> start(CordaRPCOps ops, String clientId, FlowCall call) {
        return ops.startFlowDynamicWithClientId(clientId, call.flowClass(), call.argumentArray());
    }

    @Override
    public FlowHandle<?> reattach(CordaRPCOps ops, String clientId) {
        return ops.reattachFlowWithClientId(clientId);
    }

    @Override
    public boolean removeClientId(CordaRPCOps ops, String clientId) {
        return ops.removeClientId(clientId);
    }

    @Override
    public Set<String> endedClientIds(CordaRPCOps ops) {
        return ops.finishedFlowsWithClientIds().keySet();
    }

    private static final class Configuration extends CordaRPCClientConfiguration {
        @Override
        public int getMinimumServerProtocolVersion() {
            return MINIMUM_PLATFORM_VERSION;
        }

        /** Returns 0, because a broken connection is replaced as a whole. */
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
