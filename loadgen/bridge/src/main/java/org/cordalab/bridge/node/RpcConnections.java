package org.cordalab.bridge.node;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import net.corda.client.rpc.CordaRPCConnection;
import net.corda.core.messaging.CordaRPCOps;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections of one login to a node. Calls take turns over them.
 *
 * <p>They live and end together: if one breaks, all are replaced. A client id belongs to the RPC user and not to a
 * connection, so any of them can attach to a flow that another one started.
 */
final class RpcConnections {

    private static final Logger LOG = LoggerFactory.getLogger(RpcConnections.class);

    private final List<CordaRPCConnection> all;
    private final List<CordaRPCOps> ops;
    private final AtomicInteger turn = new AtomicInteger();

    private RpcConnections(List<CordaRPCConnection> all) {
        this.all = List.copyOf(all);
        this.ops = all.stream().map(CordaRPCConnection::getProxy).toList();
    }

    /** Opens a number of connections. If one of them cannot be opened, closes the others and throws what it threw. */
    static RpcConnections open(int count, Supplier<CordaRPCConnection> connect) {
        List<CordaRPCConnection> opened = new ArrayList<>();
        try {
            for (int i = 0; i < count; i++) {
                opened.add(connect.get());
            }
            return new RpcConnections(opened);
        } catch (Throwable e) {
            // The client library is written in Kotlin and throws checked exceptions that it does not declare.
            opened.forEach(RpcConnections::close);
            throw e;
        }
    }

    /** Returns the RPC operations of the connection whose turn it is. */
    CordaRPCOps next() {
        return ops.get(Math.floorMod(turn.getAndIncrement(), ops.size()));
    }

    /** Returns the RPC operations of one connection, always the same. */
    CordaRPCOps first() {
        return ops.getFirst();
    }

    /** Returns the number of connections. */
    int count() {
        return all.size();
    }

    /** Returns the platform version of the node. */
    int platformVersion() {
        return all.getFirst().getServerProtocolVersion();
    }

    /** Releases all threads and sockets without waiting for the node. */
    void close() {
        all.forEach(RpcConnections::close);
    }

    /** Releases the threads and the socket of one connection without waiting for the node. */
    static void close(CordaRPCConnection connection) {
        try {
            connection.forceClose();
        } catch (RuntimeException e) {
            LOG.debug("Failed to close a connection cleanly", e);
        }
    }
}
