package org.cordalab.bridge.run;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A flow start that did not complete.
 *
 * @param flow short name of the flow
 * @param reason the same word as in the metric of failed flows
 * @param detail what went wrong, in at most {@link #MAX_DETAIL_CHARS} characters
 * @param at when the bridge learned of it
 */
public record FailedFlow(String flow, String reason, String detail, Instant at) {

    private static final String FLOW_EXCEPTION = "flow_exception";
    private static final String REJECTED = "rejected";
    private static final String NEVER_STARTED = "never_started";
    private static final String NO_CONNECTION = "no_connection";
    private static final String LOST = "lost";

    public static final List<String> REASONS = List.of(FLOW_EXCEPTION, REJECTED, NEVER_STARTED, NO_CONNECTION, LOST);

    static final int MAX_DETAIL_CHARS = 300;

    private static final String NOT_RECEIVED = "The connection broke before the node received the flow.";

    public FailedFlow {
        detail = detail.substring(0, Math.min(detail.length(), MAX_DETAIL_CHARS));
    }

    /** Describes an outcome; empty if the flow completed. */
    static Optional<FailedFlow> of(String flow, FlowOutcome outcome, Instant at) {
        return switch (outcome) {
            case FlowOutcome.Completed completed -> Optional.empty();
            case FlowOutcome.Failed failed -> Optional.of(new FailedFlow(flow, reason(failed), detail(failed), at));
            case FlowOutcome.NeverStarted never -> Optional.of(new FailedFlow(flow, NEVER_STARTED, NOT_RECEIVED, at));
            case FlowOutcome.NoConnection none -> Optional.of(new FailedFlow(flow, NO_CONNECTION, none.why(), at));
            case FlowOutcome.Lost lost -> Optional.of(new FailedFlow(flow, LOST, lost.why(), at));
        };
    }

    private static String reason(FlowOutcome.Failed failed) {
        return failed.accepted() ? FLOW_EXCEPTION : REJECTED;
    }

    /** Returns the exception without its package, and its message. */
    private static String detail(FlowOutcome.Failed failed) {
        String exception = failed.exception();
        return exception.substring(exception.lastIndexOf('.') + 1) + ": " + failed.message();
    }
}
