package org.cordalab.bridge.node;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/**
 * The calls of one node on behalf of requests that wait for no flow, with a time limit.
 *
 * <p>A call that the node never answers goes on until its connection is given up, so the number of calls is limited
 * too. A node has four RPC threads.
 */
public final class TimedCalls {

    static final int MAX_CALLS = 16;

    private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

    private final String node;
    private final Duration limit;
    private final int max;
    private final Semaphore free;

    public TimedCalls(String node, Duration limit) {
        this(node, limit, MAX_CALLS);
    }

    /**
     * @param max maximum number of calls that the node has not answered yet
     */
    public TimedCalls(String node, Duration limit, int max) {
        this.node = node;
        this.limit = limit;
        this.max = max;
        this.free = new Semaphore(max);
    }

    /** Returns the time limit of a call. */
    Duration limit() {
        return limit;
    }

    /**
     * Calls the node and returns its answer.
     *
     * @throws Problem node-unavailable if there is no answer within the limit, or too many calls have none yet
     */
    public <T> T call(Callable<T> rpc) throws InterruptedException {
        return call(rpc, Duration.ZERO, () -> {});
    }

    /**
     * The same.
     *
     * @param more time that the call may take in addition to the limit
     * @param afterwards runs once, when the call has truly ended, or was not made at all
     */
    public <T> T call(Callable<T> rpc, Duration more, Runnable afterwards) throws InterruptedException {
        if (!free.tryAcquire()) {
            afterwards.run();
            throw unavailable("%s has not answered %d earlier requests yet.".formatted(node, max));
        }
        var answer = new CompletableFuture<T>();
        Thread.ofVirtual().name("call-" + node).start(() -> {
            try {
                answer.complete(rpc.call());
            } catch (Throwable e) {
                answer.completeExceptionally(e);
            } finally {
                afterwards.run();
                free.release();
            }
        });
        try {
            return answer.get(limit.plus(more).toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw unavailable("%s has not answered within %d s."
                    .formatted(node, limit.plus(more).toSeconds()));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw new IllegalStateException(e.getCause());
        }
    }

    private static Problem unavailable(String why) {
        return new Problem(ProblemType.NODE_UNAVAILABLE, why).retryAfter(RETRY_AFTER);
    }
}
