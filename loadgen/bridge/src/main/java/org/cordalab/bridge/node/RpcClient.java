package org.cordalab.bridge.node;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import net.corda.client.rpc.CordaRPCConnection;
import net.corda.core.messaging.CordaRPCOps;
import net.corda.core.messaging.FlowHandle;
import net.corda.core.serialization.SerializationCustomSerializer;
import org.cordalab.bridge.config.NodeAddress;
import org.cordalab.bridge.flow.FlowCall;

/**
 * The operations that differ between the RPC clients of Corda 3 and Corda 4. {@code CordaRpcClient} implements them.
 * The build takes it from {@code src/corda3} or {@code src/corda4}.
 */
interface RpcClient {

    /** Connects and logs in. Throws whatever the client library throws. */
    CordaRPCConnection connect(NodeAddress node, String user, String password);

    /** Returns the serialisers that CorDapps provide for their own types. */
    Collection<SerializationCustomSerializer<?, ?>> serializers();

    /** Returns the CorDapps that the node reports. */
    List<NodeProfile.Cordapp> cordapps(CordaRPCOps ops);

    /** Starts a flow, or attaches to the flow that was started earlier with this client id. */
    FlowHandle<?> start(CordaRPCOps ops, String clientId, FlowCall call);

    /** Returns the flow with this client id, or null. */
    FlowHandle<?> reattach(CordaRPCOps ops, String clientId);

    /** Removes an ended flow from the node. Returns whether the node knew the flow. */
    boolean removeClientId(CordaRPCOps ops, String clientId);

    /** Returns the client ids of the ended flows that the node still knows. */
    Set<String> endedClientIds(CordaRPCOps ops);
}
