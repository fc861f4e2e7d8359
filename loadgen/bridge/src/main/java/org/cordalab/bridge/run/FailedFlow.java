package org.cordalab.bridge.run;

import java.time.Instant;
import java.util.Optional;
import org.cordalab.bridge.metrics.BridgeMetrics.Failure;

/**
 * A flow start that did not complete.
 *
 * @param flow short name of the flow
 * @param reason the same word as in the metric of failed flows
 * @param detail what went wrong, in at most {@link #MAX_DETAIL_CHARS} characters
 * @param at when the bridge learned of it
 */
public record FailedFlow(String flow, String reason, String detail, Instant at) {

    static final int MAX_DETAIL_CHARS = 300;

    private static final String NOT_RECEIVED = "The connection broke before the node received the flow.";

    public FailedFlow {
        detail = detail.substring(0, Math.min(detail.length(), MAX_DETAIL_CHARS));
    }

    /** Describes an outcome; empty if the flow completed. */
    static Optional<FailedFlow> of(String flow, FlowOutcome outcome, Instant at) {
        return switch (outcome) {
            case FlowOutcome.Completed completed -> Optional.empty();
            case FlowOutcome.Failed failed -> Optional.of(failed(flow, reason(failed), detail(failed), at));
            case FlowOutcome.NeverStarted never -> Optional.of(failed(flow, Failure.NEVER_STARTED, NOT_RECEIVED, at));
            case FlowOutcome.NoConnection none -> Optional.of(failed(flow, Failure.NO_CONNECTION, none.why(), at));
            case FlowOutcome.Lost lost -> Optional.of(failed(flow, Failure.LOST, lost.why(), at));
        };
    }

    private static FailedFlow failed(String flow, Failure failure, String detail, Instant at) {
        return new FailedFlow(flow, failure.label(), detail, at);
    }

    private static Failure reason(FlowOutcome.Failed failed) {
        return failed.accepted() ? Failure.FLOW_EXCEPTION : Failure.REJECTED;
    }

    /** Returns the exception without its package, and its message. */
    private static String detail(FlowOutcome.Failed failed) {
        String exception = failed.exception();
        return exception.substring(exception.lastIndexOf('.') + 1) + ": " + failed.message();
    }
}
