package org.cordalab.bridge.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/** Writes JSON, and reads it strictly. */
public final class Json {

    private static final int MAX_DEPTH = 64;
    /** Far more digits than any number in Corda has. Reading millions of digits takes quadratic time. */
    private static final int MAX_NUMBER_CHARS = 1000;

    /** Maximum number of values in a body. Each takes many times its characters. */
    private static final int MAX_VALUES = 100_000;
    /** Corda's decimals have a few digits after the point. A calculation with 10^1000000000 would end the bridge. */
    private static final int MAX_EXPONENT = 1000;

    private static final int MAX_EXPONENT_DIGITS = 9;
    private static final Pattern EXPONENT = Pattern.compile("[0-9.][eE][+-]?0*([0-9]+)");
    private static final int REPLACEMENT = 0xFFFD;

    /** What a value takes while it is read and converted, and what is left of it. */
    private static final int READING_VALUE_BYTES = 240;

    private static final int VALUE_BYTES = 200;
    /** Characters of the shortest value, with its comma. */
    private static final int SHORTEST_VALUE_CHARS = 2;

    private static final JsonMapper MAPPER = JsonMapper.builder(JsonFactory.builder()
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                    // The names come from clients. A table of them grows, and refuses names that collide in it.
                    .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                    // A connection has a thread of its own, and would hold buffers for itself as long as it is open.
                    .disable(JsonFactory.Feature.USE_THREAD_LOCAL_FOR_BUFFER_RECYCLING)
                    .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
                    .build())
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .nodeFactory(JsonNodeFactory.withExactBigDecimals(true))
            .build();

    private Json() {}

    public static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    /**
     * Reads the whole body as one JSON value.
     *
     * @throws Problem malformed-json, with line and column
     */
    public static JsonNode read(byte[] body) {
        if (body.length == 0) {
            throw new Problem(ProblemType.MALFORMED_JSON, "The body is empty.");
        }
        try (JsonParser parser = new BoundedParser(MAPPER.createParser(body))) {
            return MAPPER.readerFor(JsonNode.class).readValue(parser);
        } catch (JsonProcessingException e) {
            throw malformed(e);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns how much memory it takes at most to read a body and to convert its values. */
    public static long readingBytes(int bodyBytes) {
        long values = Math.min(MAX_VALUES, bodyBytes / SHORTEST_VALUE_CHARS);
        return 2L * bodyBytes + READING_VALUE_BYTES * values;
    }

    /** Returns about how much memory the values of a body and what they are converted to take. */
    public static long bytes(JsonNode json, int bodyBytes) {
        return 2L * bodyBytes + VALUE_BYTES * (long) values(json);
    }

    private static int values(JsonNode json) {
        int values = 1;
        for (JsonNode each : json) {
            values += values(each);
        }
        return values;
    }

    public static byte[] write(JsonNode json) {
        try {
            return MAPPER.writeValueAsBytes(json);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns JSON that is equal for equal values: the keys of every object are sorted. */
    public static byte[] canonical(JsonNode json) {
        try {
            return MAPPER.writer(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
                    .writeValueAsBytes(MAPPER.treeToValue(json, Object.class));
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes without a copy in memory, and leaves the stream open. */
    public static void write(JsonNode json, OutputStream out) throws IOException {
        MAPPER.writer()
                .without(JsonGenerator.Feature.AUTO_CLOSE_TARGET)
                .without(SerializationFeature.FLUSH_AFTER_WRITE_VALUE)
                .writeValue(out, json);
    }

    /**
     * Returns whether a text, if it has a number, has none with a large exponent. Calculations with such a decimal may
     * take all memory.
     */
    public static boolean isModest(String text) {
        Matcher exponent = EXPONENT.matcher(text);
        while (exponent.find()) {
            String digits = exponent.group(1);
            if (digits.length() > MAX_EXPONENT_DIGITS || Integer.parseInt(digits) > MAX_EXPONENT) {
                return false;
            }
        }
        return true;
    }

    /** Replaces halves of surrogate pairs, which no UTF-8 can express, by the replacement character. */
    public static String clean(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i))) {
                return text.codePoints()
                        .map(each ->
                                each >= Character.MIN_SURROGATE && each <= Character.MAX_SURROGATE ? REPLACEMENT : each)
                        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                        .toString();
            }
        }
        return text;
    }

    private static Problem malformed(JsonProcessingException e) {
        String where = e.getLocation() == null
                ? ""
                : "Line %d, column %d: "
                        .formatted(e.getLocation().getLineNr(), e.getLocation().getColumnNr());
        // The lines after the first repeat the location in the parser's own words.
        String what = e.getOriginalMessage().lines().findFirst().orElse("not JSON");
        return new Problem(ProblemType.MALFORMED_JSON, where + what);
    }

    private static final class BoundedParser extends JsonParserDelegate {
        private int depth;
        private int values;

        BoundedParser(JsonParser delegate) {
            super(delegate);
        }

        @Override
        public JsonToken nextToken() throws IOException {
            return checked(super.nextToken());
        }

        private JsonToken checked(JsonToken token) throws IOException {
            if (token == null) {
                return null;
            }
            if (token.isStructStart() && ++depth > MAX_DEPTH) {
                throw _constructError("The nesting is deeper than %d levels".formatted(MAX_DEPTH));
            }
            if (token.isStructEnd()) {
                depth--;
            }
            if ((token.isStructStart() || token.isScalarValue()) && ++values > MAX_VALUES) {
                throw _constructError("There are more than %d values".formatted(MAX_VALUES));
            }
            if (token.isNumeric()) {
                checkNumber();
            }
            return token;
        }

        private void checkNumber() throws IOException {
            if (getTextLength() > MAX_NUMBER_CHARS) {
                throw _constructError("The number has more than %d characters".formatted(MAX_NUMBER_CHARS));
            }
            if (!isModest(getText())) {
                throw _constructError("The number has an exponent beyond %d".formatted(MAX_EXPONENT));
            }
        }
    }
}
