package org.cordalab.bridge.run;

/** How a flow start ended. */
public sealed interface FlowOutcome {

    /** The flow returned. */
    record Completed(ResultSummary result, long flowNanos) implements FlowOutcome {}

    /**
     * The flow threw, or the node refused to start it.
     *
     * @param exception class name
     */
    record Failed(String exception, String message, boolean accepted) implements FlowOutcome {}

    /** The connection broke before the node had the flow: nothing has happened there. */
    record NeverStarted() implements FlowOutcome {}

    /**
     * Nobody can say whether the flow ran.
     *
     * @param why a sentence
     */
    record Lost(String why) implements FlowOutcome {}
}
