package org.cordalab.nodes.agent;

/** What the container of this JVM uses, as the kernel counts it. A value that the kernel does not tell is null. */
public interface ContainerMBean {
    /** Returns the CPU time of all processes of the container since its start. */
    Double getCpuSeconds();

    /** Returns the time for which the container wanted the CPU, but had used up its share of it. */
    Double getCpuThrottledSeconds();

    /** Returns the memory that the processes of the container have allocated, without the page cache. */
    Long getMemoryBytes();

    /** Returns the memory that the container may use; null if there is no limit. */
    Long getMemoryLimitBytes();

    /** Returns the bytes received from other containers. */
    Long getNetworkReceivedBytes();

    /** Returns the bytes sent to other containers. */
    Long getNetworkSentBytes();

    /** Returns the bytes that may still be written to the disk with the database. */
    Long getDiskFreeBytes();

    /** Returns the size of the file of the H2 database; null with another database. */
    Long getDatabaseFileBytes();
}
