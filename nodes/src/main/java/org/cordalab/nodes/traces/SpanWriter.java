package org.cordalab.nodes.traces;

import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Writes spans in batches. What ends a span only puts it into a bounded queue and never waits; a single thread encodes and
 * writes. The SDK's own processor of batches drops spans as well, but does not say how many.
 */
final class SpanWriter implements SpanProcessor, SpanWriterMBean {
    static final int QUEUE_SPANS_MAX = 16_384;
    static final int BATCH_SPANS_MAX = 512;
    static final long BATCH_MILLIS_MAX = 500;

    private final OtlpJson json;
    private final SpanSink sink;
    private final BlockingQueue<ReadableSpan> queue = new ArrayBlockingQueue<>(QUEUE_SPANS_MAX);
    private final LongAdder written = new LongAdder();
    private final LongAdder dropped = new LongAdder();
    private final Thread thread = new Thread(this::run, "spans");
    private final CompletableResultCode ended = new CompletableResultCode();
    private volatile boolean running = true;

    SpanWriter(String serviceName, SpanSink sink) {
        this.json = new OtlpJson(serviceName);
        this.sink = sink;
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void onStart(Context parent, ReadWriteSpan span) {}

    @Override
    public boolean isStartRequired() {
        return false;
    }

    @Override
    public void onEnd(ReadableSpan span) {
        if (span.getSpanContext().isSampled() && !queue.offer(span)) {
            dropped.increment();
        }
    }

    @Override
    public boolean isEndRequired() {
        return true;
    }

    @Override
    public long getWritten() {
        return written.sum();
    }

    @Override
    public long getDropped() {
        return dropped.sum();
    }

    @Override
    public CompletableResultCode shutdown() {
        running = false;
        return ended;
    }

    private void run() {
        List<ReadableSpan> batch = new ArrayList<>(BATCH_SPANS_MAX);
        try {
            while (running || !queue.isEmpty()) {
                collect(batch);
                if (!batch.isEmpty()) {
                    write(batch);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            ended.succeed();
        }
    }

    /** Waits for spans until there are enough of them, or the oldest has waited long enough. */
    private void collect(List<ReadableSpan> batch) throws InterruptedException {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(BATCH_MILLIS_MAX);
        while (batch.size() < BATCH_SPANS_MAX) {
            queue.drainTo(batch, BATCH_SPANS_MAX - batch.size());
            long left = until - System.nanoTime();
            if (left <= 0 || !running || batch.size() == BATCH_SPANS_MAX) {
                return;
            }
            ReadableSpan next = queue.poll(left, TimeUnit.NANOSECONDS);
            if (next != null) {
                batch.add(next);
            }
        }
    }

    private void write(List<ReadableSpan> batch) {
        try {
            sink.write(json.encode(batch));
            written.add(batch.size());
        } catch (IOException | RuntimeException e) {
            dropped.add(batch.size());
        } finally {
            batch.clear();
        }
    }
}
