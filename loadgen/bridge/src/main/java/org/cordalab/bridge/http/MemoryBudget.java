package org.cordalab.bridge.http;

import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/** The memory that all requests together may take. What does not fit is refused, so that the heap never is exhausted. */
final class MemoryBudget {

    private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

    private final long total;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition freed = lock.newCondition();
    private long used;

    /**
     * @param total in bytes
     */
    MemoryBudget(long total) {
        this.total = total;
    }

    /** Returns the number of bytes that are reserved now. */
    long used() {
        lock.lock();
        try {
            return used;
        } finally {
            lock.unlock();
        }
    }

    /** Returns a reservation of no bytes. */
    Reservation reserve() {
        return new Reservation();
    }

    /** What one request takes of the budget. Closing it a second time has no effect. */
    final class Reservation implements AutoCloseable {
        private long bytes;
        private boolean closed;

        /**
         * Makes the reservation at least as large as this.
         *
         * @throws Problem overloaded, if the bytes are not free
         */
        void growTo(long wanted) {
            lock.lock();
            try {
                if (!tryGrow(wanted)) {
                    throw overloaded("Nothing was started.");
                }
            } finally {
                lock.unlock();
            }
        }

        /**
         * The same, but waits for other requests to end. More than the whole budget counts as the whole.
         *
         * @throws Problem overloaded, if the bytes are not free within the time limit
         */
        void growTo(long wanted, Duration patience) throws InterruptedException {
            long fitting = Math.min(wanted, total);
            long nanos = patience.toNanos();
            lock.lock();
            try {
                while (!tryGrow(fitting)) {
                    if (nanos <= 0) {
                        throw overloaded("Nothing was started.");
                    }
                    nanos = freed.awaitNanos(nanos);
                }
            } finally {
                lock.unlock();
            }
        }

        /** The same at once. Returns whether the bytes were free. */
        boolean tryGrowTo(long wanted) {
            lock.lock();
            try {
                return tryGrow(Math.min(wanted, total));
            } finally {
                lock.unlock();
            }
        }

        private boolean tryGrow(long wanted) {
            long more = closed ? 0 : wanted - bytes;
            if (more <= 0) {
                return true;
            }
            if (used + more > total) {
                return false;
            }
            used += more;
            bytes = wanted;
            return true;
        }

        /** Makes the reservation at most as large as this. */
        void shrinkTo(long enough) {
            lock.lock();
            try {
                if (bytes > enough) {
                    used -= bytes - enough;
                    bytes = enough;
                    freed.signalAll();
                }
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void close() {
            lock.lock();
            try {
                closed = true;
                used -= bytes;
                bytes = 0;
                freed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Returns the problem of a request that does not fit.
     *
     * @param consequence a sentence
     */
    static Problem overloaded(String consequence) {
        return new Problem(
                        ProblemType.OVERLOADED,
                        "The bodies and answers of other requests take all the memory that the bridge has for them. "
                                + consequence)
                .retryAfter(RETRY_AFTER);
    }
}
