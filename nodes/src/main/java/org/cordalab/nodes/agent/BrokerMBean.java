package org.cordalab.nodes.agent;

/** A message broker of the node. A value that it does not tell is null. */
public interface BrokerMBean {
    /** Returns the open connections. */
    Long getConnections();

    /** Returns the longest time that a message waits before the journal is flushed to disk, in nanoseconds. */
    Long getJournalBufferNanos();
}
