package org.cordalab.nodes.container;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.nio.file.Paths;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * An agent in the JVM of every node. It lets the JMX exporter read the control group of the node's container, which
 * only a process in the container can see without the socket of the engine.
 *
 * <p>Usage: {@code -javaagent:container-agent.jar=<folder of the database>}
 */
public final class ContainerAgent {
    static final String NAME = "org.cordalab:type=Container";

    private ContainerAgent() {}

    /** Registers the MBean. A failure never ends the node; only the values cannot be read. */
    public static void premain(String data) {
        try {
            Path groups = Paths.get("/sys/fs/cgroup");
            Container container = new Container(groups, Paths.get("/proc/net/dev"), Paths.get(data));
            ManagementFactory.getPlatformMBeanServer().registerMBean(container, new ObjectName(NAME));
        } catch (JMException | RuntimeException e) {
            System.err.println("The use of the container cannot be read: " + e);
        }
    }
}
