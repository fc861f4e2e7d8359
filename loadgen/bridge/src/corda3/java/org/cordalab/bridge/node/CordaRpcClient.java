package org.cordalab.bridge.node;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import net.corda.client.rpc.CordaRPCClient;
import net.corda.client.rpc.CordaRPCConnection;
import net.corda.core.messaging.CordaRPCOps;
import net.corda.core.messaging.FlowHandle;
import net.corda.core.serialization.SerializationCustomSerializer;
import net.corda.core.utilities.NetworkHostAndPort;
import org.cordalab.bridge.config.NodeAddress;
import org.cordalab.bridge.flow.FlowCall;

/**
 * The RPC client of Corda 3. It supports neither client ids nor a list of installed CorDapps, and uses Kryo, not AMQP.
 *
 * <p>It cannot be configured not to reconnect. This does no harm, because {@link NodeConnection} closes it at the first
 * failure.
 */
final class CordaRpcClient implements RpcClient {

    @Override
    public CordaRPCConnection connect(NodeAddress node, String user, String password) {
        return new CordaRPCClient(new NetworkHostAndPort(node.host(), node.port())).start(user, password);
    }

    /** Returns none, because they are for AMQP. */
    @Override
    public Collection<SerializationCustomSerializer<?, ?>> serializers() {
        return List.of();
    }

    @Override
    public List<NodeProfile.Cordapp> cordapps(CordaRPCOps ops) {
        return List.of();
    }

    @Override
    public FlowHandle<?> start(CordaRPCOps ops, String clientId, FlowCall call) {
        throw noClientIds();
    }

    @Override
    public FlowHandle<?> reattach(CordaRPCOps ops, String clientId) {
        throw noClientIds();
    }

    @Override
    public boolean removeClientId(CordaRPCOps ops, String clientId) {
        throw noClientIds();
    }

    @Override
    public Set<String> endedClientIds(CordaRPCOps ops) {
        throw noClientIds();
    }

    private static UnsupportedOperationException noClientIds() {
        return new UnsupportedOperationException("Corda 3 does not support client ids");
    }
}
