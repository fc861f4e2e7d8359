package org.cordalab.bridge.config;

import java.time.Duration;

/**
 * What clients may take of the bridge, whatever they send. Every other limit of the HTTP server is a constant.
 *
 * @param maxConnections maximum number of connections. A further one may only ask for the health; anything else is
 *     answered with 503
 * @param requestBudgetBytes memory of all bodies that are being read, converted or needed by a flow, and of all long
 *     answers. A request that does not fit is answered with 503, a completed start whose result does not with 504
 * @param outcomeBudgetBytes memory of the outcomes that are kept, of all nodes together, and as much again for the
 *     client ids that the nodes keep
 * @param headTimeout longest time from the first byte of a request, or from the connection, to the end of its headers
 * @param bodyTimeout longest time to send a body, plus a second for each MiB of its length
 * @param answerTimeout longest time to take an answer
 * @param idleTimeout longest time between an answer and the next request of a connection
 * @param rpcTimeout longest time to wait for a node's answer to anything but a flow
 */
public record HttpLimits(
        int maxConnections,
        long requestBudgetBytes,
        long outcomeBudgetBytes,
        Duration headTimeout,
        Duration bodyTimeout,
        Duration answerTimeout,
        Duration idleTimeout,
        Duration rpcTimeout) {

    /** The part of the heap that is each of: requests, outcomes, kept client ids, connections. */
    private static final int HEAP_PARTS = 8;

    /** A connection whose headers are being read: 16 KiB of them, two buffers of 8 KiB, and a stack. */
    private static final int CONNECTION_BYTES = 32 * 1024;

    private static final int LEAST_CONNECTIONS = 64;
    private static final int MOST_CONNECTIONS = 8192;
    /** For everyone who does not wait for a flow. */
    private static final int OTHER_CONNECTIONS = 512;

    /**
     * Returns the limits that fit into a heap.
     *
     * @param maxOutstandingFlows flows of a node for which clients may wait, each on a connection of its own
     * @param maxAttachmentBytes largest attachment, which must leave room for other requests
     */
    public static HttpLimits of(long heapBytes, int maxOutstandingFlows, int maxAttachmentBytes) {
        long part = heapBytes / HEAP_PARTS;
        return new HttpLimits(
                standardConnections(heapBytes, maxOutstandingFlows),
                Math.max(part, maxAttachmentBytes + maxAttachmentBytes / 4L),
                part,
                Duration.ofSeconds(10),
                Duration.ofSeconds(30),
                Duration.ofSeconds(30),
                Duration.ofSeconds(60),
                Duration.ofSeconds(25));
    }

    private static int standardConnections(long heapBytes, int maxOutstandingFlows) {
        long fitting = heapBytes / HEAP_PARTS / CONNECTION_BYTES;
        long wanted = maxOutstandingFlows + (long) OTHER_CONNECTIONS;
        return (int) Math.min(MOST_CONNECTIONS, Math.max(LEAST_CONNECTIONS, Math.max(fitting, wanted)));
    }
}
