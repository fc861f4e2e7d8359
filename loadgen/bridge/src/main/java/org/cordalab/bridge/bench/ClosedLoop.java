package org.cordalab.bridge.bench;

import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.cordalab.bridge.node.StartedFlow;

/** N workers, each with one flow in flight. A worker starts its next flow when the last one has ended. */
final class ClosedLoop {

    private final Supplier<StartedFlow> start;
    private final int inFlight;

    /**
     * @param start starts a flow
     */
    ClosedLoop(Supplier<StartedFlow> start, int inFlight) {
        this.start = start;
        this.inFlight = inFlight;
    }

    /** Runs until {@code goOn}, which is called before each start, returns false and all flows have ended. */
    Result run(BooleanSupplier goOn) throws InterruptedException {
        var started = new AtomicLong();
        var failed = new AtomicLong();
        var firstError = new AtomicReference<String>();
        var completions = new ConcurrentLinkedQueue<Completion>();
        long beganAt = System.nanoTime();
        Runnable worker = () -> {
            while (goOn.getAsBoolean()) {
                long startedAt = System.nanoTime();
                started.incrementAndGet();
                try {
                    start.get().result().get();
                    long endedAt = System.nanoTime();
                    completions.add(new Completion(endedAt - startedAt, endedAt - beganAt));
                } catch (ExecutionException | RuntimeException e) {
                    failed.incrementAndGet();
                    firstError.compareAndSet(null, String.valueOf(e instanceof ExecutionException ? e.getCause() : e));
                } catch (InterruptedException e) {
                    return;
                }
            }
        };
        List<Thread> workers = Stream.generate(() -> Thread.ofVirtual().start(worker))
                .limit(inFlight)
                .toList();
        for (Thread thread : workers) {
            thread.join();
        }
        return new Result(started.get(), failed.get(), firstError.get(), List.copyOf(completions));
    }

    /**
     * One flow that returned.
     *
     * @param endedAfterNanos time from the beginning of the run to the end of the flow
     */
    record Completion(long latencyNanos, long endedAfterNanos) {}

    /**
     * The result of a run.
     *
     * @param firstError null if no flow failed
     */
    record Result(long started, long failed, String firstError, List<Completion> completions) {}
}
