package org.cordalab.nodes.agent;

/** Reads a queue by its MBean of Artemis. */
final class Queue implements QueueMBean {
    private final Attributes artemis;

    Queue(Attributes artemis) {
        this.artemis = artemis;
    }

    @Override
    public Long getMessages() {
        return artemis.read("MessageCount");
    }

    @Override
    public Long getMessagesAdded() {
        return artemis.read("MessagesAdded");
    }

    @Override
    public Long getMessagesDelivering() {
        return artemis.read("DeliveringCount");
    }

    @Override
    public Long getConsumers() {
        return artemis.read("ConsumerCount");
    }
}
