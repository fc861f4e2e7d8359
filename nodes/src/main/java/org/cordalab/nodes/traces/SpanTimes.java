package org.cordalab.nodes.traces;

import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import javax.management.JMException;
import javax.management.ObjectName;

/** Adds up the times of spans by their names, as MBeans {@code org.cordalab:type=Span,name=…}. */
final class SpanTimes implements SpanProcessor {
    /** A CorDapp may give its spans any names. */
    static final int NAMES_MAX = 200;
    /** Spans of flows that never end stay open. */
    static final int OPEN_MAX = 100_000;

    private static final String OTHERS = "others";

    private final Map<String, SpanTime> times = new ConcurrentHashMap<>();
    /** What the spans within an open one took, in nanoseconds, by its id. */
    private final Map<String, LongAdder> within = new ConcurrentHashMap<>();

    @Override
    public void onStart(Context parent, ReadWriteSpan span) {
        if (within.size() < OPEN_MAX) {
            within.put(span.getSpanContext().getSpanId(), new LongAdder());
        }
    }

    @Override
    public boolean isStartRequired() {
        return true;
    }

    @Override
    public void onEnd(ReadableSpan span) {
        long nanos = span.getLatencyNanos();
        LongAdder around = within.get(span.getParentSpanContext().getSpanId());
        if (around != null) {
            around.add(nanos);
        }
        LongAdder inside = within.remove(span.getSpanContext().getSpanId());
        of(span.getName()).add(nanos, Math.max(0, nanos - (inside == null ? 0 : inside.sum())));
    }

    @Override
    public boolean isEndRequired() {
        return true;
    }

    private SpanTime of(String name) {
        return times.computeIfAbsent(times.size() < NAMES_MAX || times.containsKey(name) ? name : OTHERS, key -> {
            SpanTime time = new SpanTime();
            try {
                ObjectName bean = new ObjectName(Traces.BEANS + ",name=" + ObjectName.quote(key));
                ManagementFactory.getPlatformMBeanServer().registerMBean(time, bean);
            } catch (JMException e) {
                System.err.println("The times of the span " + key + " cannot be read: " + e);
            }
            return time;
        });
    }
}
