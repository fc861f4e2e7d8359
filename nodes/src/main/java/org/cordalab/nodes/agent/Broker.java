package org.cordalab.nodes.agent;

/** Reads a message broker by its MBean of Artemis. */
final class Broker implements BrokerMBean {
    private final Attributes artemis;

    Broker(Attributes artemis) {
        this.artemis = artemis;
    }

    @Override
    public Long getConnections() {
        return artemis.read("ConnectionCount");
    }

    @Override
    public Long getJournalBufferNanos() {
        return artemis.read("JournalBufferTimeout");
    }
}
