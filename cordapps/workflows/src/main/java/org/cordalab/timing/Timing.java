package org.cordalab.timing;

import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import java.util.stream.Collectors;

/** The measurements of one flow that has ended. Times are in microseconds since 1970, durations in microseconds. */
final class Timing {
    final String outcome;
    final String transactionId;
    final long createdMicros;
    final long startedMicros;
    final long endedMicros;
    final Long notarisedMicros;
    final Long recordedMicros;
    final Map<Stage, Long> durations;
    /** The stages in the order in which they were entered, see {@link StageEntries}. */
    final long[] entries;

    Timing(
            String outcome,
            String transactionId,
            long createdMicros,
            long startedMicros,
            long endedMicros,
            Long notarisedMicros,
            Long recordedMicros,
            Map<Stage, Long> durations,
            long[] entries) {
        this.outcome = outcome;
        this.transactionId = transactionId;
        this.createdMicros = createdMicros;
        this.startedMicros = startedMicros;
        this.endedMicros = endedMicros;
        this.notarisedMicros = notarisedMicros;
        this.recordedMicros = recordedMicros;
        this.durations = durations;
        this.entries = entries;
    }

    /**
     * Returns one line of JSON, with times in Unix seconds and durations in milliseconds. {@code entries} has the
     * stages in order, each with the milliseconds from the creation of the flow until it was entered. Only {@code node}
     * may need escaping.
     */
    String toJson(String flowId, String flow, String role, String node) {
        String stages = durations.entrySet().stream()
                .map(entry -> quoted(entry.getKey().label()) + ":" + milliseconds(entry.getValue()))
                .collect(Collectors.joining(","));
        return "{\"flow_id\":" + quoted(flowId) + ",\"flow\":" + quoted(flow) + ",\"role\":" + quoted(role)
                + ",\"node\":" + quoted(node) + ",\"tx_id\":" + (transactionId == null ? "null" : quoted(transactionId))
                + ",\"outcome\":" + quoted(outcome) + ",\"created_at\":" + seconds(createdMicros) + ",\"started_at\":"
                + seconds(startedMicros) + ",\"ended_at\":" + seconds(endedMicros) + ",\"notarised_at\":"
                + seconds(notarisedMicros) + ",\"recorded_at\":" + seconds(recordedMicros) + ",\"stages\":{" + stages
                + "},\"entries\":" + listed() + "}";
    }

    private String listed() {
        StringJoiner list = new StringJoiner(",", "[", "]");
        for (long entry : entries) {
            String stage = StageEntries.label(entry).map(Timing::quoted).orElse("null");
            list.add("[" + stage + "," + milliseconds(StageEntries.micros(entry)) + "]");
        }
        return list.toString();
    }

    private static String seconds(Long micros) {
        return micros == null ? "null" : String.format(Locale.ROOT, "%d.%06d", micros / 1_000_000, micros % 1_000_000);
    }

    private static String milliseconds(long micros) {
        return String.format(Locale.ROOT, "%d.%03d", micros / 1_000, micros % 1_000);
    }

    private static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }
}
