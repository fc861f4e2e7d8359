package org.cordalab.bridge.node;

import java.util.Optional;
import org.cordalab.bridge.flow.PartyDirectory;

/** One node as the rest of the bridge sees it, connected or not. */
public interface NodeGateway extends AutoCloseable {

    /** Returns the node's name in the API. */
    String name();

    /** Returns whether the node has answered an RPC within the last few seconds. */
    boolean ready();

    /** Returns what the node reported when it was last connected; empty if it was never reached. */
    Optional<NodeProfile> profile();

    /** Returns the number of RPC connections to the node that were opened and not closed again. */
    int rpcConnections();

    /** Returns the parties that the node knows; an empty directory if the node was never reached. */
    PartyDirectory parties();

    /** Returns the current connection, if there is one. */
    Optional<NodeSession> session();

    /** Waits for a connection. Returns empty only if the gateway is closed. */
    Optional<NodeSession> awaitSession() throws InterruptedException;

    @Override
    void close();
}
