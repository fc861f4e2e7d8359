package org.cordalab.nodes.traces;

import java.util.concurrent.atomic.LongAdder;

final class SpanTime implements SpanTimeMBean {
    private static final double NANOS_PER_SECOND = 1e9;

    private final LongAdder count = new LongAdder();
    private final LongAdder nanos = new LongAdder();
    private final LongAdder selfNanos = new LongAdder();

    void add(long length, long self) {
        count.increment();
        nanos.add(length);
        selfNanos.add(self);
    }

    @Override
    public long getCount() {
        return count.sum();
    }

    @Override
    public double getSeconds() {
        return nanos.sum() / NANOS_PER_SECOND;
    }

    @Override
    public double getSelfSeconds() {
        return selfNanos.sum() / NANOS_PER_SECOND;
    }
}
