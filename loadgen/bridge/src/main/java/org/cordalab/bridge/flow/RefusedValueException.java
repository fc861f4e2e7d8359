package org.cordalab.bridge.flow;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonMappingException;
import java.util.Optional;

/**
 * Thrown for a value that cannot be converted. Its path leads from the argument to the value.
 *
 * <p>The message is the reason, and may be empty if the expected type explains enough. Without an expected type, it is
 * a sentence about the value: {@code is missing}.
 */
final class RefusedValueException extends JsonMappingException {

    private final transient JavaType expected;

    private RefusedValueException(JsonParser parser, JavaType expected, String message) {
        super(parser, message);
        this.expected = expected;
    }

    /**
     * @param reason why the value is not one of the type, or empty
     */
    static RefusedValueException of(JsonParser parser, JavaType expected, String reason) {
        return new RefusedValueException(parser, expected, reason);
    }

    /**
     * @param sentence what is wrong with the value, without a subject and a full stop
     */
    static RefusedValueException saying(JsonParser parser, String sentence) {
        return new RefusedValueException(parser, null, sentence);
    }

    /** Puts a field in front of the path. */
    RefusedValueException in(JavaType type, String field) {
        prependPath(type.getRawClass(), field);
        return this;
    }

    Optional<JavaType> expected() {
        return Optional.ofNullable(expected);
    }
}
