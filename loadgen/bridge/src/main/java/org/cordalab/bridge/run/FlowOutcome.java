package org.cordalab.bridge.run;

/** How a flow start ended. */
public sealed interface FlowOutcome {

    /** The flow returned. */
    record Completed(ResultSummary result, long flowNanos) implements FlowOutcome {}

    /**
     * The flow threw an exception, or the node rejected the start.
     *
     * @param exception class name
     */
    record Failed(String exception, String message, boolean accepted) implements FlowOutcome {}

    /** The connection broke before the node received the flow. Nothing has happened there. */
    record NeverStarted() implements FlowOutcome {}

    /**
     * It is unknown whether the flow ran.
     *
     * @param why a sentence
     */
    record Lost(String why) implements FlowOutcome {}
}
