package org.cordalab.bridge.node;

import java.util.List;
import java.util.Set;
import net.corda.client.rpc.CordaRPCConnection;
import net.corda.core.messaging.CordaRPCOps;
import net.corda.core.messaging.FlowHandle;
import org.cordalab.bridge.config.NodeAddress;
import org.cordalab.bridge.flow.FlowCall;

/**
 * What the RPC clients of Corda 3 and Corda 4 do each in their own way. {@code CordaRpcClient} is the one that the bridge is
 * built with: {@code src/corda3} or {@code src/corda4}.
 */
interface RpcClient {

    /** Connects and logs in; throws whatever the client library throws. */
    CordaRPCConnection connect(NodeAddress node, String user, String password);

    /** The CorDapps that the node says it has. */
    List<NodeProfile.Cordapp> cordapps(CordaRPCOps ops);

    /** Starts a flow, or attaches to the one that was started under this client id before. */
    FlowHandle<?> start(CordaRPCOps ops, String clientId, FlowCall call);

    /** The flow of this client id, or null. */
    FlowHandle<?> reattach(CordaRPCOps ops, String clientId);

    /** Lets the node forget a flow that has ended; whether it knew it. */
    boolean removeClientId(CordaRPCOps ops, String clientId);

    /** Client ids of the ended flows that the node still knows. */
    Set<String> endedClientIds(CordaRPCOps ops);
}
