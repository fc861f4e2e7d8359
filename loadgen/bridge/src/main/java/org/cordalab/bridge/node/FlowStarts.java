package org.cordalab.bridge.node;

import java.util.function.Function;
import net.corda.core.messaging.CordaRPCOps;

/** Chooses the connection on which a flow starts. */
interface FlowStarts {

    /**
     * Makes a start on a connection, and returns what it returns.
     *
     * @throws NoConnectionException if every start has a connection of its own, and none could be opened
     */
    <T> T start(Function<CordaRPCOps, T> start);
}
