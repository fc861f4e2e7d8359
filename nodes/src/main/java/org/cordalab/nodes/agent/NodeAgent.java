package org.cordalab.nodes.agent;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.nio.file.Paths;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * An agent in the JVM of every node. It gives the JMX exporter what only a process in the container can see without the
 * socket of the engine, and what would be expensive for the exporter to read itself.
 *
 * <p>Usage: {@code -javaagent:node-agent.jar=<folder of the database>}
 */
public final class NodeAgent {
    static final String CONTAINER = "org.cordalab:type=Container";

    private NodeAgent() {}

    /** Registers the MBeans. A failure never ends the node; only the values cannot be read. */
    public static void premain(String data) {
        try {
            MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
            Path groups = Paths.get("/sys/fs/cgroup");
            Container container = new Container(groups, Paths.get("/proc/net/dev"), Paths.get(data));
            beans.registerMBean(container, new ObjectName(CONTAINER));
            MessageBrokers.watch(beans);
        } catch (JMException | RuntimeException e) {
            System.err.println("The use of the container and the message brokers cannot be read: " + e);
        }
    }
}
