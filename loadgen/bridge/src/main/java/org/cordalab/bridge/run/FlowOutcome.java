package org.cordalab.bridge.run;

import net.corda.client.rpc.RPCException;

/** How a flow start ended. */
public sealed interface FlowOutcome {

    /** The flow returned. */
    record Completed(ResultSummary result, long flowNanos) implements FlowOutcome {}

    /**
     * The flow threw an exception, or the node rejected the start.
     *
     * @param exception class name
     * @param accepted whether the node started the flow
     */
    record Failed(String exception, String message, boolean accepted) implements FlowOutcome {

        private static final int MAX_MESSAGE_CHARS = 1000;

        /** Describes the exception with which a node answered. */
        public static Failed of(Throwable answer, boolean accepted) {
            // The RPC client wraps checked exceptions, and most of Corda's exceptions are checked.
            Throwable error = answer instanceof RPCException && answer.getCause() != null ? answer.getCause() : answer;
            String message = error.getMessage() == null ? "no message" : error.getMessage();
            return new Failed(
                    error.getClass().getName(),
                    message.substring(0, Math.min(message.length(), MAX_MESSAGE_CHARS)),
                    accepted);
        }
    }

    /** The connection broke before the node received the flow. Nothing has happened there. */
    record NeverStarted() implements FlowOutcome {}

    /**
     * No RPC connection could be opened for the flow. Nothing has happened at the node.
     *
     * @param why a sentence
     */
    record NoConnection(String why) implements FlowOutcome {}

    /**
     * It is unknown whether the flow ran.
     *
     * @param why a sentence
     */
    record Lost(String why) implements FlowOutcome {}
}
