package org.cordalab.timing;

import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.ObjectName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The histograms of all stages of all flows in this JVM, as MBeans {@code
 * org.cordalab:type=Stages,flow=…,role=…,stage=…}. The stage {@code total} is the whole flow.
 */
final class StageStatistics {
    private static final Logger LOG = LoggerFactory.getLogger(StageStatistics.class);
    private static final Map<String, StageHistogram> HISTOGRAMS = new ConcurrentHashMap<>();

    private StageStatistics() {}

    static void record(String flow, String role, Timing timing) {
        timing.durations.forEach(
                (stage, micros) -> histogram(flow, role, stage.label()).record(micros));
        histogram(flow, role, "total").record(timing.endedMicros - timing.createdMicros);
    }

    private static StageHistogram histogram(String flow, String role, String stage) {
        return HISTOGRAMS.computeIfAbsent("flow=" + flow + ",role=" + role + ",stage=" + stage, name -> {
            StageHistogram histogram = new StageHistogram();
            Mbeans.register(histogram, "org.cordalab:type=Stages," + name);
            return histogram;
        });
    }

    /** Registers MBeans. A failure never ends a flow; only the values cannot be read. */
    static final class Mbeans {
        private Mbeans() {}

        static void register(Object bean, String name) {
            try {
                ManagementFactory.getPlatformMBeanServer().registerMBean(bean, new ObjectName(name));
            } catch (InstanceAlreadyExistsException e) {
                LOG.debug("{} is already registered by another class loader", name);
            } catch (JMException e) {
                LOG.warn("cannot register {}", name, e);
            }
        }
    }
}
