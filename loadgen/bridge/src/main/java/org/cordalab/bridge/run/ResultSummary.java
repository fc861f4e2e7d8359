package org.cordalab.bridge.run;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import net.corda.core.crypto.SecureHash;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.node.RecordedTransaction;

/**
 * The summary of a flow's return value.
 *
 * <p>It is small on purpose: serialising a whole transaction would cost more than some flows do. A transaction is
 * summarised as its id and the number of its signatures. Nulls, booleans, numbers, strings, and lists and maps of these
 * are kept as they are. Any other value is summarised as the beginning of its {@code toString}.
 *
 * @param transactionId the id of a returned transaction
 * @param bytes about how much memory the summary takes
 */
public record ResultSummary(JsonNode value, Optional<String> transactionId, long bytes) {

    private static final int MAX_TEXT_CHARS = 1000;
    /** Maximum number of values in a list or map, including nested values. A longer one ends with an ellipsis. */
    static final int MAX_VALUES = 100_000;

    /** Maximum memory of a summary. A list of 100,000 state references takes half of it. */
    static final int MAX_BYTES = 32 * 1024 * 1024;
    /** What a value takes in addition to the characters of its text. */
    private static final int VALUE_BYTES = 64;

    private static final int TRANSACTION_BYTES = 512;
    private static final int MAX_DEPTH = 20;

    private static final JsonNodeFactory JSON = JsonNodeFactory.withExactBigDecimals(true);

    /** Summarises a flow's return value, which may be null. */
    public static ResultSummary of(Object value) {
        return switch (value) {
            case SignedTransaction signed ->
                transaction(signed.getId(), signed.getSigs().size());
            case RecordedTransaction recorded -> transaction(recorded.id(), recorded.signatures());
            case null, default -> Tree.summary(value);
        };
    }

    private static ResultSummary transaction(SecureHash id, int signatures) {
        JsonNode value = JSON.objectNode().put("txId", id.toString()).put("signatures", signatures);
        return new ResultSummary(value, Optional.of(id.toString()), TRANSACTION_BYTES);
    }

    /** Returns the value's {@code toString}, which is CorDapp code, or its class name if that throws. */
    private static String text(Object value) {
        try {
            return String.valueOf(value.toString());
        } catch (RuntimeException e) {
            return value.getClass().getName();
        }
    }

    private static String cut(String text) {
        return text.length() <= MAX_TEXT_CHARS ? text : text.substring(0, MAX_TEXT_CHARS) + "…";
    }

    /** Converts one value to JSON and counts the values in it. */
    private static final class Tree {
        private int values;
        private long bytes;

        static ResultSummary summary(Object value) {
            var tree = new Tree();
            JsonNode json = tree.of(value, 0);
            return new ResultSummary(json, Optional.empty(), tree.bytes);
        }

        private boolean isFull() {
            return values >= MAX_VALUES || bytes >= MAX_BYTES;
        }

        /** Cuts a text and counts its memory. */
        private String counted(String text) {
            String cut = Json.clean(cut(text));
            bytes += cut.length();
            return cut;
        }

        JsonNode of(Object value, int depth) {
            values++;
            bytes += VALUE_BYTES;
            return switch (value) {
                case null -> JSON.nullNode();
                case Boolean truth -> JSON.booleanNode(truth);
                case Integer number -> JSON.numberNode(number);
                case Long number -> JSON.numberNode(number);
                case Short number -> JSON.numberNode(number);
                case Double number when Double.isFinite(number) -> JSON.numberNode(number);
                case Float number when Float.isFinite(number) -> JSON.numberNode(number);
                case BigInteger number -> JSON.numberNode(number);
                case BigDecimal number -> JSON.numberNode(number);
                case List<?> list when depth < MAX_DEPTH -> array(list, depth);
                case Map<?, ?> map when depth < MAX_DEPTH -> object(map, depth);
                default -> JSON.textNode(counted(text(value)));
            };
        }

        private JsonNode array(List<?> list, int depth) {
            ArrayNode array = JSON.arrayNode();
            for (Object each : list) {
                if (isFull()) {
                    return array.add("…");
                }
                array.add(of(each, depth + 1));
            }
            return array;
        }

        private JsonNode object(Map<?, ?> map, int depth) {
            ObjectNode object = JSON.objectNode();
            for (Map.Entry<?, ?> each : map.entrySet()) {
                if (isFull()) {
                    return object.put("…", "…");
                }
                object.set(counted(String.valueOf(each.getKey())), of(each.getValue(), depth + 1));
            }
            return object;
        }
    }
}
