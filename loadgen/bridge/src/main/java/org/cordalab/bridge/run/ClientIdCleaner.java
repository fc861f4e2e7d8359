package org.cordalab.bridge.run;

import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.cordalab.bridge.node.NodeGateway;
import org.cordalab.bridge.node.NodeSession;
import org.cordalab.bridge.node.NodeUnavailableException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets one node forget the outcomes that nobody will ask it for, one at a time, so that its database does not grow.
 *
 * <p>One removal is under way at most: it takes one of the node's four RPC threads and a database transaction, and no
 * flow waits for it. What does not fit the queue, or was left by a bridge that was killed, is found and removed at the
 * next connection.
 */
final class ClientIdCleaner implements AutoCloseable {

    private static final int MAX_QUEUED = 20_000;
    private static final long NEW_SESSION_CHECK_SECONDS = 5;

    private static final Logger LOG = LoggerFactory.getLogger(ClientIdCleaner.class);

    private final NodeGateway gateway;
    private final Predicate<String> leftOver;
    private final BlockingQueue<String> queue = new LinkedBlockingQueue<>(MAX_QUEUED);
    private final Thread worker;

    /**
     * @param leftOver whether an id that the node still has is one that no run of this bridge needs
     */
    ClientIdCleaner(NodeGateway gateway, Predicate<String> leftOver) {
        this.gateway = gateway;
        this.leftOver = leftOver;
        this.worker =
                Thread.ofVirtual().name("client-id-cleaner-" + gateway.name()).unstarted(this::work);
    }

    void start() {
        worker.start();
    }

    void add(String clientId) {
        if (!queue.offer(clientId)) {
            LOG.debug("{}: client id {} is left for the next connection", gateway.name(), clientId);
        }
    }

    int queued() {
        return queue.size();
    }

    @Override
    public void close() {
        worker.interrupt();
    }

    private void work() {
        NodeSession swept = null;
        try {
            while (true) {
                NodeSession session = gateway.awaitSession().orElse(null);
                if (session == null) {
                    return;
                }
                try {
                    if (session != swept) {
                        sweep(session);
                        swept = session;
                    }
                    String clientId = queue.poll(NEW_SESSION_CHECK_SECONDS, TimeUnit.SECONDS);
                    if (clientId != null) {
                        session.removeClientId(clientId);
                    }
                } catch (NodeUnavailableException e) {
                    session.discard(e);
                } catch (RuntimeException e) {
                    LOG.warn("{}: the node did not remove a client id", gateway.name(), e);
                    swept = session;
                }
            }
        } catch (InterruptedException e) {
            // Closed.
        }
    }

    private void sweep(NodeSession session) {
        Set<String> ended = session.endedClientIds();
        ended.stream().filter(leftOver).forEach(this::add);
    }
}
