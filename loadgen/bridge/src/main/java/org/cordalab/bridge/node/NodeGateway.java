package org.cordalab.bridge.node;

import java.util.Optional;
import org.cordalab.bridge.flow.PartyDirectory;

/** One node as the rest of the bridge sees it, connected or not. */
public interface NodeGateway extends AutoCloseable {

    /** The node's name in the API. */
    String name();

    /** Whether the node has answered an RPC within the last few seconds. */
    boolean ready();

    /** What the node said at the last connection; nothing until it was reached once. */
    Optional<NodeProfile> profile();

    /** The parties that the node knows; empty until it was reached once. */
    PartyDirectory parties();

    /** The connection, if there is one now. */
    Optional<NodeSession> session();

    /** Waits for a connection; nothing only when the gateway is closed. */
    Optional<NodeSession> awaitSession() throws InterruptedException;

    @Override
    void close();
}
