package org.cordalab.nodes.agent;

/** A queue of a message broker. A value that the broker does not tell is null. */
public interface QueueMBean {
    /** Returns the messages in the queue, including those being delivered. */
    Long getMessages();

    /** Returns the messages that were put into the queue since its broker started. */
    Long getMessagesAdded();

    /** Returns the messages that were delivered to a consumer, but not acknowledged. */
    Long getMessagesDelivering();

    /** Returns the consumers of the queue. */
    Long getConsumers();
}
