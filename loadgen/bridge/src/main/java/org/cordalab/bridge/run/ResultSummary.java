package org.cordalab.bridge.run;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Optional;
import net.corda.core.transactions.SignedTransaction;

/**
 * What the bridge tells of a flow's return value.
 *
 * <p>It is small on purpose: writing out a whole transaction would cost more than some flows do. A transaction gives its
 * id and the number of its signatures, a JSON-like value itself, anything else the beginning of its {@code toString}.
 *
 * @param transactionId of a returned transaction
 */
public record ResultSummary(JsonNode value, Optional<String> transactionId) {

    private static final int MAX_TEXT_CHARS = 1000;

    private static final JsonNodeFactory JSON = JsonNodeFactory.withExactBigDecimals(true);

    /** Summarises a flow's return value, which may be null. */
    public static ResultSummary of(Object value) {
        return switch (value) {
            case SignedTransaction transaction -> of(transaction);
            case null -> plain(JSON.nullNode());
            case Boolean truth -> plain(JSON.booleanNode(truth));
            case Integer number -> plain(JSON.numberNode(number));
            case Long number -> plain(JSON.numberNode(number));
            case Short number -> plain(JSON.numberNode(number));
            case Double number when Double.isFinite(number) -> plain(JSON.numberNode(number));
            case Float number when Float.isFinite(number) -> plain(JSON.numberNode(number));
            case BigInteger number -> plain(JSON.numberNode(number));
            case BigDecimal number -> plain(JSON.numberNode(number));
            default -> plain(JSON.textNode(cut(text(value))));
        };
    }

    private static ResultSummary of(SignedTransaction transaction) {
        String id = transaction.getId().toString();
        JsonNode value = JSON.objectNode()
                .put("txId", id)
                .put("signatures", transaction.getSigs().size());
        return new ResultSummary(value, Optional.of(id));
    }

    private static ResultSummary plain(JsonNode value) {
        return new ResultSummary(value, Optional.empty());
    }

    /** A {@code toString} is code of someone else's CorDapp. */
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
}
