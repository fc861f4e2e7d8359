package org.cordalab.timing;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;

/**
 * A cumulative histogram of the durations of one stage, for JMX. Its attributes are {@code Count}, {@code Sum} in
 * seconds, and for every bound b in seconds {@code le_b}, the number of durations of at most b. The decimal point of b
 * is an underscore.
 */
final class StageHistogram implements DynamicMBean {
    private static final double[] BOUNDS_SECONDS = {
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60
    };
    private static final String[] BUCKET_NAMES = IntStream.rangeClosed(0, BOUNDS_SECONDS.length)
            .mapToObj(index -> index == BOUNDS_SECONDS.length ? "le_Inf" : "le_" + boundName(BOUNDS_SECONDS[index]))
            .toArray(String[]::new);

    private final LongAdder[] buckets =
            Arrays.stream(BUCKET_NAMES).map(name -> new LongAdder()).toArray(LongAdder[]::new);
    private final LongAdder sumMicros = new LongAdder();

    void record(long micros) {
        int index = Arrays.binarySearch(BOUNDS_SECONDS, micros / (double) TimeUnit.SECONDS.toMicros(1));
        buckets[index < 0 ? -index - 1 : index].increment();
        sumMicros.add(micros);
    }

    @Override
    public Object getAttribute(String name) throws AttributeNotFoundException {
        if (name.equals("Sum")) {
            return sumMicros.sum() / (double) TimeUnit.SECONDS.toMicros(1);
        }
        int last = name.equals("Count")
                ? buckets.length - 1
                : Arrays.asList(BUCKET_NAMES).indexOf(name);
        if (last < 0) {
            throw new AttributeNotFoundException(name);
        }
        long count = 0;
        for (int index = 0; index <= last; index++) {
            count += buckets[index].sum();
        }
        return count;
    }

    @Override
    public AttributeList getAttributes(String[] names) {
        AttributeList found = new AttributeList();
        for (String name : names) {
            try {
                found.add(new Attribute(name, getAttribute(name)));
            } catch (AttributeNotFoundException e) {
                // As JMX specifies: the answer leaves out unknown attributes.
                continue;
            }
        }
        return found;
    }

    @Override
    public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
        throw new AttributeNotFoundException(attribute.getName() + " cannot be set");
    }

    @Override
    public AttributeList setAttributes(AttributeList attributes) {
        return new AttributeList();
    }

    @Override
    public Object invoke(String action, Object[] arguments, String[] signature) {
        throw new UnsupportedOperationException(action);
    }

    @Override
    public MBeanInfo getMBeanInfo() {
        MBeanAttributeInfo[] attributes = new MBeanAttributeInfo[buckets.length + 2];
        attributes[0] = readable("Count", "long", "Durations.");
        attributes[1] = readable("Sum", "double", "Their sum in seconds.");
        for (int index = 0; index < buckets.length; index++) {
            attributes[index + 2] = readable(BUCKET_NAMES[index], "long", "Durations up to this bound in seconds.");
        }
        return new MBeanInfo(getClass().getName(), "Durations of a stage of a flow", attributes, null, null, null);
    }

    private static MBeanAttributeInfo readable(String name, String type, String description) {
        return new MBeanAttributeInfo(name, type, description, true, false, false);
    }

    private static String boundName(double bound) {
        return (bound == Math.rint(bound) ? String.valueOf((long) bound) : String.valueOf(bound)).replace('.', '_');
    }
}
