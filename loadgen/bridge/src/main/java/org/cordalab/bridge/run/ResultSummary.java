package org.cordalab.bridge.run;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.security.PublicKey;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongConsumer;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.crypto.SecureHash;
import net.corda.core.identity.AnonymousParty;
import net.corda.core.transactions.SignedTransaction;
import net.corda.core.utilities.EncodingUtils;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.node.RecordedTransaction;

/**
 * The summary of a flow's return value.
 *
 * <p>It is small on purpose: serialising a whole transaction would cost more than some flows do. A transaction is
 * summarised as its id and the number of its signatures, and a state as its reference. Nulls, booleans, numbers,
 * strings, and lists, sets, arrays and maps of these are kept as they are. Any other value is summarised as the beginning
 * of its {@code toString}, unless an argument has another form. So a result can be the argument of another flow.
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
    /** A longer summary needs memory of the budget for answers, and its answer may find none. */
    public static final int SHORT_BYTES = 16 * 1024;
    /** How much a summary may grow before its memory is asked for. */
    private static final int STEP_BYTES = 64 * 1024;
    /** What a value takes in addition to the characters of its text. */
    private static final int VALUE_BYTES = 64;

    private static final int TRANSACTION_BYTES = 512;
    private static final int MAX_DEPTH = 20;

    private static final JsonNodeFactory JSON = JsonNodeFactory.withExactBigDecimals(true);

    /** Summarises a flow's return value, which may be null. */
    public static ResultSummary of(Object value) {
        return of(value, bytes -> {});
    }

    /**
     * The same, but asks for memory while the summary grows.
     *
     * @param memory is called with the bytes that the summary will soon take, unless they are few; an exception ends it
     */
    public static ResultSummary of(Object value, LongConsumer memory) {
        return switch (value) {
            case SignedTransaction signed ->
                transaction(signed.getId(), signed.getSigs().size());
            case RecordedTransaction recorded -> transaction(recorded.id(), recorded.signatures());
            case null, default -> Tree.summary(value, memory);
        };
    }

    /** Returns whether there may be no memory to answer with it, see {@link #SHORT_BYTES}. */
    boolean isLong() {
        return bytes > SHORT_BYTES;
    }

    private static ResultSummary transaction(SecureHash id, int signatures) {
        return new ResultSummary(transactionJson(id, signatures), Optional.of(id.toString()), TRANSACTION_BYTES);
    }

    private static JsonNode transactionJson(SecureHash id, int signatures) {
        return JSON.objectNode().put("txId", id.toString()).put("signatures", signatures);
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
        private final LongConsumer memory;
        private int values;
        private long bytes;
        /** What needs no further memory. */
        private long granted = STEP_BYTES;

        private Tree(LongConsumer memory) {
            this.memory = memory;
        }

        static ResultSummary summary(Object value, LongConsumer memory) {
            var tree = new Tree(memory);
            JsonNode json = tree.of(value, 0);
            return new ResultSummary(json, Optional.empty(), tree.bytes);
        }

        private boolean isFull() {
            return values >= MAX_VALUES || bytes >= MAX_BYTES;
        }

        /** Cuts a text and counts its memory. */
        private String counted(String text) {
            String cut = Json.clean(cut(text));
            count(cut.length());
            return cut;
        }

        private BigInteger counted(BigInteger number) {
            count(number.bitLength() / Byte.SIZE);
            return number;
        }

        private BigDecimal counted(BigDecimal number) {
            counted(number.unscaledValue());
            return number;
        }

        private void count(long more) {
            bytes += more;
            if (bytes > granted) {
                granted = bytes + STEP_BYTES;
                memory.accept(granted);
            }
        }

        JsonNode of(Object value, int depth) {
            values++;
            count(VALUE_BYTES);
            return switch (value) {
                case null -> JSON.nullNode();
                case Boolean truth -> JSON.booleanNode(truth);
                case Integer number -> JSON.numberNode(number);
                case Long number -> JSON.numberNode(number);
                case Short number -> JSON.numberNode(number);
                case Double number when Double.isFinite(number) -> JSON.numberNode(number);
                case Float number when Float.isFinite(number) -> JSON.numberNode(number);
                case BigInteger number -> JSON.numberNode(counted(number));
                case BigDecimal number -> JSON.numberNode(counted(number));
                case Collection<?> list when depth < MAX_DEPTH -> array(list, depth);
                case Object[] list when depth < MAX_DEPTH -> array(Arrays.asList(list), depth);
                case Map<?, ?> map when depth < MAX_DEPTH -> object(map, depth);
                case SignedTransaction signed -> {
                    count(TRANSACTION_BYTES);
                    yield transactionJson(signed.getId(), signed.getSigs().size());
                }
                case StateAndRef<?> state -> JSON.textNode(counted(text(state.getRef())));
                case AnonymousParty party -> JSON.textNode(counted(EncodingUtils.toBase58String(party.getOwningKey())));
                case PublicKey key -> JSON.textNode(counted(EncodingUtils.toBase58String(key)));
                case byte[] binary -> JSON.textNode(counted(Base64.getEncoder().encodeToString(binary)));
                case Optional<?> optional when depth < MAX_DEPTH -> of(optional.orElse(null), depth + 1);
                default -> JSON.textNode(counted(text(value)));
            };
        }

        private JsonNode array(Collection<?> list, int depth) {
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
