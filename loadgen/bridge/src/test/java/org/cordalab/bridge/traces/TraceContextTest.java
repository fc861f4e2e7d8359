package org.cordalab.bridge.traces;

import static org.assertj.core.api.Assertions.assertThat;

import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.context.Context;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import net.corda.opentelemetrydriver.OpenTelemetryDriver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TraceContextTest {

    private static final String SAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    private static SpanContext spanOf(Context context) {
        return Span.fromContext(context).getSpanContext();
    }

    @Test
    void theTraceOfTheCallerReachesTheNodeThroughTheSpanThatTheClientMakes() {
        OpenTelemetry telemetry = new OpenTelemetryDriver("rpc").getOpenTelemetry();
        Map<String, String> sent = new HashMap<>();
        TraceContext.of(Optional.of(SAMPLED))
                .wrap(() -> {
                    Span ofClient = telemetry
                            .getTracer("corda")
                            .spanBuilder("client-startFlow")
                            .startSpan();
                    Context current = Context.current().with(ofClient);
                    telemetry.getPropagators().getTextMapPropagator().inject(current, sent, Map::put);
                    ofClient.end();
                })
                .run();
        assertThat(sent).isEqualTo(Map.of("traceparent", SAMPLED));
        assertThat(telemetry.getTracer("corda").getClass().getName()).doesNotEndWith("DefaultTracer");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "nonsense"})
    void aRequestWithoutAValidTraceHasOneOfItsOwnThatNobodyKeeps(String header) {
        SpanContext first = spanOf(TraceContext.of(Optional.of(header)));
        SpanContext second = spanOf(TraceContext.of(Optional.empty()));
        assertThat(first.isValid() && second.isValid()).isTrue();
        assertThat(first.isSampled() || second.isSampled()).isFalse();
        assertThat(first.getTraceId()).isNotEqualTo(second.getTraceId());
    }
}
