package org.cordalab.bridge.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class FailedFlowTest {

    private static final Instant AT = Instant.parse("2026-11-20T12:00:00Z");

    record Sample(FlowOutcome outcome, String reason, String detail) {}

    static List<Sample> failures() {
        return List.of(
                new Sample(new FlowOutcome.Failed("a.b.Broken", "no", true), "flow_exception", "Broken: no"),
                new Sample(new FlowOutcome.Failed("Refused", "no", false), "rejected", "Refused: no"),
                new Sample(new FlowOutcome.NoConnection("no place"), "no_connection", "no place"),
                new Sample(new FlowOutcome.Lost("gone"), "lost", "gone"));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void tellsWhatWentWrong(Sample sample) {
        assertThat(FailedFlow.of("Iou", sample.outcome(), AT))
                .contains(new FailedFlow("Iou", sample.reason(), sample.detail(), AT));
    }

    @Test
    void tellsThatNothingWasStarted() {
        FailedFlow failure =
                FailedFlow.of("Iou", new FlowOutcome.NeverStarted(), AT).orElseThrow();

        assertThat(failure.reason()).isEqualTo("never_started");
        assertThat(failure.detail()).contains("before the node received the flow");
    }

    @Test
    void aCompletedFlowIsNoFailure() {
        assertThat(FailedFlow.of("Iou", new FlowOutcome.Completed(ResultSummary.of(1), 1), AT))
                .isEmpty();
    }

    @Test
    void cutsALongText() {
        FailedFlow failure =
                FailedFlow.of("Iou", new FlowOutcome.Lost("x".repeat(1000)), AT).orElseThrow();

        assertThat(failure.detail()).hasSize(FailedFlow.MAX_DETAIL_CHARS);
    }
}
