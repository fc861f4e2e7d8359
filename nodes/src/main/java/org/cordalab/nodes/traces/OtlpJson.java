package org.cordalab.nodes.traces;

import io.opentelemetry.api.common.AttributeType;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.nio.charset.StandardCharsets;
import java.util.Collection;

/**
 * Spans as an {@code ExportTraceServiceRequest} in OTLP's JSON.
 *
 * <p>A span of which the parent is in the same process has only the id of its flow, which may be another than that of its
 * parent: Corda gives the other attributes of a flow to all spans in it.
 */
final class OtlpJson {
    /** Attributes that are left out: the first is the name of the span, the others begin the names of its thread. */
    private static final String CLASS = "class.name";

    private static final String THREAD = "thread.";

    private static final String FLOW = "flow.id";

    private final String begin;

    OtlpJson(String serviceName) {
        StringBuilder out = new StringBuilder("{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
        attribute(out, "service.name", "stringValue", serviceName);
        begin = out.append("]},\"scopeSpans\":[{\"spans\":[").toString();
    }

    byte[] encode(Collection<ReadableSpan> spans) {
        StringBuilder out = new StringBuilder(begin);
        String separator = "";
        for (ReadableSpan span : spans) {
            out.append(separator);
            span(out, span.toSpanData());
            separator = ",";
        }
        return out.append("]}]}]}").toString().getBytes(StandardCharsets.UTF_8);
    }

    private static void span(StringBuilder out, SpanData span) {
        SpanContext parent = span.getParentSpanContext();
        out.append("{\"traceId\":\"").append(span.getTraceId());
        out.append("\",\"spanId\":\"").append(span.getSpanId());
        if (parent.isValid()) {
            out.append("\",\"parentSpanId\":\"").append(parent.getSpanId());
        }
        out.append("\",\"name\":");
        text(out, span.getName());
        out.append(",\"kind\":").append(kind(span.getKind()));
        out.append(",\"startTimeUnixNano\":\"").append(span.getStartEpochNanos());
        out.append("\",\"endTimeUnixNano\":\"").append(span.getEndEpochNanos()).append('"');
        attributes(out, span.getAttributes(), parent.isValid() && !parent.isRemote());
        if (span.getStatus().getStatusCode() == StatusCode.ERROR) {
            out.append(",\"status\":{\"code\":2,\"message\":");
            text(out, span.getStatus().getDescription());
            out.append('}');
        }
        out.append('}');
    }

    private static int kind(SpanKind kind) {
        // The values of OTLP begin with one for spans within a process; zero is none.
        return kind.ordinal() + 1;
    }

    private static void attributes(StringBuilder out, Attributes attributes, boolean isWithin) {
        int before = out.length();
        attributes.forEach((key, value) -> {
            String name = key.getKey();
            if (isWithin ? name.equals(FLOW) : !name.startsWith(THREAD) && !name.equals(CLASS)) {
                out.append(out.length() == before ? ",\"attributes\":[" : ",");
                attribute(
                        out, name, key.getType() == AttributeType.LONG ? "intValue" : "stringValue", value.toString());
            }
        });
        if (out.length() > before) {
            out.append(']');
        }
    }

    private static void attribute(StringBuilder out, String key, String type, String value) {
        out.append("{\"key\":");
        text(out, key);
        out.append(",\"value\":{\"").append(type).append("\":");
        text(out, value);
        out.append("}}");
    }

    private static void text(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
