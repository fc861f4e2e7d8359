package org.cordalab.bridge.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/** Writes JSON, and reads it strictly. */
public final class Json {

    private static final int MAX_DEPTH = 64;
    /** Far more digits than any number in Corda has. Reading millions of digits takes quadratic time. */
    private static final int MAX_NUMBER_CHARS = 1000;

    private static final JsonMapper MAPPER = JsonMapper.builder(JsonFactory.builder()
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
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

    public static byte[] write(JsonNode json) {
        try {
            return MAPPER.writeValueAsBytes(json);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
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
            if (token.isNumeric() && getTextLength() > MAX_NUMBER_CHARS) {
                throw _constructError("The number has more than %d characters".formatted(MAX_NUMBER_CHARS));
            }
            return token;
        }
    }
}
