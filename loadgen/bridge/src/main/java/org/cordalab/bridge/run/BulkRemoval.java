package org.cordalab.bridge.run;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.cordalab.bridge.node.NodeSession;

/** Removes many client ids from one node, several at a time. For a node that is at rest, see {@link ClientIdCleaner}. */
final class BulkRemoval {

    /** Leaves one of the node's four RPC threads to others. */
    private static final int THREADS = 3;

    private final NodeSession session;
    private final Queue<String> clientIds;
    private final Consumer<String> onRemoved;
    private final AtomicInteger removed = new AtomicInteger();

    /**
     * @param onRemoved receives each id after the node has forgotten it, on several threads
     */
    BulkRemoval(NodeSession session, List<String> clientIds, Consumer<String> onRemoved) {
        this.session = session;
        this.clientIds = new ConcurrentLinkedQueue<>(clientIds);
        this.onRemoved = onRemoved;
    }

    /**
     * Removes ids until none is left or the time limit has passed. A removal that was begun is finished.
     *
     * @return the number of removed ids
     * @throws org.cordalab.bridge.node.NodeUnavailableException if the connection breaks
     */
    int run(Duration limit) throws InterruptedException {
        long until = System.nanoTime() + limit.toNanos();
        List<Future<?>> threads = new ArrayList<>();
        try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < THREADS; i++) {
                threads.add(executor.submit(() -> work(until)));
            }
        }
        for (Future<?> thread : threads) {
            try {
                thread.get();
            } catch (ExecutionException e) {
                if (e.getCause() instanceof RuntimeException failure) {
                    throw failure;
                }
                throw new IllegalStateException(e.getCause());
            }
        }
        return removed.get();
    }

    private void work(long until) {
        while (System.nanoTime() - until < 0) {
            String clientId = clientIds.poll();
            if (clientId == null) {
                return;
            }
            session.removeClientId(clientId);
            onRemoved.accept(clientId);
            removed.incrementAndGet();
        }
    }
}
