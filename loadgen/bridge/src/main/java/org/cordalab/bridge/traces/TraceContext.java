package org.cordalab.bridge.traces;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** The W3C trace context of a request: its trace, the caller's span, and whether the caller wants it traced. */
public final class TraceContext {

    public static final String HEADER = "traceparent";

    private TraceContext() {}

    /**
     * Returns the context of a request.
     *
     * @param header its header {@value #HEADER}. Without one, or with one that is not valid, it is not traced. A flow
     *     still needs a context then: Corda gives a flow without one that of an earlier flow on the same thread
     */
    public static Context of(Optional<String> header) {
        Context found = W3CTraceContextPropagator.getInstance().extract(Context.root(), header.orElse(""), Header.ONLY);
        return Span.fromContext(found).getSpanContext().isValid()
                ? found
                : Context.root().with(untraced());
    }

    private static Span untraced() {
        String trace = UUID.randomUUID().toString().replace("-", "");
        return Span.wrap(
                SpanContext.create(trace, trace.substring(16), TraceFlags.getDefault(), TraceState.getDefault()));
    }

    private enum Header implements TextMapGetter<String> {
        ONLY;

        @Override
        public Iterable<String> keys(String header) {
            return List.of(HEADER);
        }

        @Override
        public String get(String header, String key) {
            return HEADER.equals(key) ? header : null;
        }
    }
}
