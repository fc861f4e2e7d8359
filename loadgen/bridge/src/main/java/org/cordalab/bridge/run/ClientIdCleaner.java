package org.cordalab.bridge.run;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.cordalab.bridge.node.NodeGateway;
import org.cordalab.bridge.node.NodeSession;
import org.cordalab.bridge.node.NodeUnavailableException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes one node forget the outcomes that no one will ask for, one at a time, so that its database does not grow: those
 * that were delivered, and those whose retention has ended.
 *
 * <p>At most one removal is in progress, because it takes one of the node's four RPC threads and a database
 * transaction. While flows are outstanding, a pause follows each removal, which is the shorter the more ids wait: so a
 * load of hours has as many ids removed as it adds. Removal at full speed lowered the rate of flows that do nothing
 * (about 150/s on two cores) by 20 %. The cleaner asks the node for all its client ids when a connection is new,
 * because an earlier bridge may have been killed, and after an overflow.
 */
final class ClientIdCleaner implements AutoCloseable {

    private static final int MAX_QUEUED = 20_000;
    /** Time between two checks for a new connection and for expired ids. */
    private static final long CHECK_SECONDS = 1;
    /** The pause if no ids wait. It keeps up with 10 flows per second, at a few percent of one core. */
    private static final Duration PAUSE_UNDER_LOAD = Duration.ofMillis(100);
    /** If so many ids wait, the pause is half as long; if twice as many, a third. */
    private static final int WAITING_AT_HALF_PAUSE = 50;
    /** More ids are not counted: the pause is then two milliseconds. */
    private static final int WAITING_COUNTED_MAX = 2500;

    private static final Logger LOG = LoggerFactory.getLogger(ClientIdCleaner.class);

    private final NodeGateway gateway;
    private final BooleanSupplier nodeIsBusy;
    private final KeptIds kept;
    private final Consumer<Set<String>> onSweep;
    private final BlockingQueue<String> queue = new LinkedBlockingQueue<>(MAX_QUEUED);
    private final Thread worker;
    private volatile boolean overflowed;

    /**
     * @param nodeIsBusy whether flows are outstanding
     * @param kept ids that are removed when their retention ends
     * @param onSweep receives the ids of all ended flows that the node still has; adds those that it does not need, and
     *     keeps the others
     */
    ClientIdCleaner(NodeGateway gateway, BooleanSupplier nodeIsBusy, KeptIds kept, Consumer<Set<String>> onSweep) {
        this.gateway = gateway;
        this.nodeIsBusy = nodeIsBusy;
        this.kept = kept;
        this.onSweep = onSweep;
        this.worker =
                Thread.ofVirtual().name("client-id-cleaner-" + gateway.name()).unstarted(this::work);
    }

    void start() {
        worker.start();
    }

    void add(String clientId) {
        if (!queue.offer(clientId)) {
            overflowed = true;
        }
    }

    /** Returns the number of ended flows whose outcome the node keeps until this cleaner removes it. */
    int toRemove() {
        return queue.size() + kept.size();
    }

    /** Returns the pause after a removal while flows are outstanding, if so many ids wait to be removed. */
    static Duration pauseUnderLoad(int waiting) {
        return PAUSE_UNDER_LOAD.multipliedBy(WAITING_AT_HALF_PAUSE).dividedBy(WAITING_AT_HALF_PAUSE + waiting);
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
                    if (session != swept || overflowed && queue.isEmpty() || kept.hasRoomAgain()) {
                        swept = session;
                        sweep(session);
                    }
                    String clientId = next();
                    if (clientId != null) {
                        session.removeClientId(clientId);
                    }
                    if (nodeIsBusy.getAsBoolean()) {
                        int expired = kept.expired(WAITING_COUNTED_MAX);
                        Thread.sleep(pauseUnderLoad(Math.min(WAITING_COUNTED_MAX, queue.size() + expired)));
                    }
                } catch (NodeUnavailableException e) {
                    session.discard(e);
                } catch (RuntimeException e) {
                    LOG.warn("{}: the node did not remove a client id", gateway.name(), e);
                    Thread.sleep(PAUSE_UNDER_LOAD);
                }
            }
        } catch (InterruptedException e) {
            // Closed.
        }
    }

    /** Returns the next id to remove, or null if there is none for a while. */
    private String next() throws InterruptedException {
        String delivered = queue.poll();
        if (delivered != null) {
            return delivered;
        }
        String expired = kept.takeExpired().orElse(null);
        return expired != null ? expired : queue.poll(CHECK_SECONDS, TimeUnit.SECONDS);
    }

    private void sweep(NodeSession session) {
        // The node reports every id that is in the queue, so none of them is lost.
        queue.clear();
        overflowed = false;
        kept.expectAll();
        onSweep.accept(session.endedClientIds());
    }
}
