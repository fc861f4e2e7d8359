package org.cordalab.bridge.node;

import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;

/**
 * Connections that are opened for one flow start each and stay open until the process ends.
 *
 * <p>They measure what clients cost a node that never close their connections. Their number is limited, because each
 * has threads and memory of its own, here and in the node. Without this mode, there is no object of this class.
 *
 * <p>Connections are opened on platform threads, because the client library blocks inside {@code synchronized} while it
 * connects, which would hold the carriers of virtual threads.
 */
public final class LeftOpenConnections {

    private final int max;
    private final Semaphore free;
    /** Keeps them from being collected as garbage. */
    private final Map<String, Queue<Object>> open = new ConcurrentHashMap<>();

    private final ExecutorService connecting = Executors.newThreadPerTaskExecutor(
            Thread.ofPlatform().daemon().name("left-open-", 0).factory());

    /**
     * @param max maximum number of connections, to all nodes together
     */
    public LeftOpenConnections(int max) {
        this.max = max;
        this.free = new Semaphore(max);
    }

    /**
     * Opens a connection, unless the limit is reached.
     *
     * @param connect opens it; may throw anything
     * @throws NoConnectionException at the limit, or with what {@code connect} threw
     * @throws NodeUnavailableException if the thread is interrupted; the connection may still be opened
     */
    <T> T open(String node, Callable<T> connect) {
        if (!free.tryAcquire()) {
            throw new NoConnectionException(
                    ("%d RPC connections have been left open, which is the limit (BRIDGE_RPC_LEFT_OPEN_MAX)."
                                    + " Restart the bridge to close them.")
                            .formatted(max));
        }
        try {
            return connecting.submit(() -> opened(node, connect)).get();
        } catch (ExecutionException e) {
            throw new NoConnectionException(
                    "No RPC connection to %s could be opened: %s.".formatted(node, e.getCause()), e.getCause());
        } catch (InterruptedException e) {
            throw new NodeUnavailableException("Interrupted while connecting to " + node, e);
        }
    }

    private <T> T opened(String node, Callable<T> connect) throws Exception {
        boolean isOpen = false;
        try {
            T connection = connect.call();
            open.computeIfAbsent(node, name -> new ConcurrentLinkedQueue<>()).add(connection);
            isOpen = true;
            return connection;
        } finally {
            if (!isOpen) {
                free.release();
            }
        }
    }

    /** Forgets a connection that has broken, so that another can take its place. */
    void forget(String node, Object connection) {
        Queue<Object> connections = open.get(node);
        if (connections != null && connections.remove(connection)) {
            free.release();
        }
    }

    /** Returns the number of connections to a node. */
    int count(String node) {
        Queue<Object> connections = open.get(node);
        return connections == null ? 0 : connections.size();
    }
}
