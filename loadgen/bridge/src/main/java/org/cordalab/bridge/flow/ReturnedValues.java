package org.cordalab.bridge.flow;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.BeanProperty;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.KeyDeserializer;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import com.fasterxml.jackson.databind.deser.ContextualDeserializer;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.TextNode;
import java.io.IOException;
import java.security.PublicKey;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import net.corda.client.jackson.JacksonSupport;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import net.corda.core.contracts.UniqueIdentifier;
import net.corda.core.crypto.SecureHash;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.AnonymousParty;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.identity.Party;
import net.corda.core.utilities.OpaqueBytes;

/**
 * Reads Corda's own values in the form in which the bridge returns them as results, in addition to the form that
 * Corda's shell takes. So the result of one flow can be the argument of the next.
 */
final class ReturnedValues {

    /** Maximum number of states in one argument. The node is asked for each. */
    static final int MAX_STATES = 100;

    private static final int UUID_CHARS = 36;
    private static final Pattern UUID_TEXT =
            Pattern.compile("[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}");
    private static final Pattern STATE_REF = Pattern.compile("(.+)\\(([0-9]{1,9})\\)");

    private ReturnedValues() {}

    /** Returns a module with the deserialisers of the types that have no annotation. */
    static SimpleModule module() {
        var module = new SimpleModule("returned-values")
                .addDeserializer(UniqueIdentifier.class, new ReturnedId())
                .addDeserializer(StateRef.class, new ReturnedRef())
                .addDeserializer(StateAndRef.class, new StateByReference())
                .addDeserializer(Optional.class, new PresentOrNull(null));
        for (Class<?> key : List.of(
                Party.class,
                AbstractParty.class,
                AnonymousParty.class,
                CordaX500Name.class,
                SecureHash.class,
                SecureHash.SHA256.class,
                UniqueIdentifier.class,
                StateRef.class,
                PublicKey.class)) {
            module.addKeyDeserializer(key, new TextKey(key));
        }
        return module;
    }

    /** Reads a value from a text in place of what the parser has. */
    static <T> T fromText(String text, Class<T> type, JsonParser parser, DeserializationContext context)
            throws IOException {
        JsonParser again = new TextNode(text).traverse(parser.getCodec());
        again.nextToken();
        return context.readValue(again, type);
    }

    /**
     * Returns the text that the parser has, or null.
     *
     * @param type what the text stands for
     */
    private static String textOrNull(JsonParser parser, DeserializationContext context, Class<?> type)
            throws IOException {
        if (parser.hasToken(JsonToken.VALUE_NULL)) {
            return null;
        }
        return parser.hasToken(JsonToken.VALUE_STRING)
                ? parser.getText()
                : (String) context.handleUnexpectedToken(type, parser);
    }

    /** A unique identifier: {@code "externalId_uuid"}, {@code "uuid"}, or an object with both. */
    private static final class ReturnedId extends CachedDeserializer<UniqueIdentifier> {
        @Override
        public UniqueIdentifier deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            if (!parser.isExpectedStartObjectToken()) {
                return ofText(textOrNull(parser, context, UniqueIdentifier.class), context);
            }
            String externalId = null;
            String id = null;
            for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
                parser.nextToken();
                switch (name) {
                    case "externalId" -> externalId = textOrNull(parser, context, String.class);
                    case "id" -> id = textOrNull(parser, context, UUID.class);
                    default -> context.handleUnknownProperty(parser, this, UniqueIdentifier.class, name);
                }
            }
            return id != null && UUID_TEXT.matcher(id).matches()
                    ? new UniqueIdentifier(externalId, UUID.fromString(id))
                    : refuse(id, context);
        }

        private static UniqueIdentifier ofText(String text, DeserializationContext context) throws IOException {
            int start = text == null ? -1 : text.length() - UUID_CHARS;
            boolean isSeparated = start == 0 || start > 0 && text.charAt(start - 1) == '_';
            if (!isSeparated || !UUID_TEXT.matcher(text.substring(start)).matches()) {
                return refuse(text, context);
            }
            String externalId = start == 0 ? null : text.substring(0, start - 1);
            return new UniqueIdentifier(externalId, UUID.fromString(text.substring(start)));
        }

        private static UniqueIdentifier refuse(String text, DeserializationContext context) throws IOException {
            return (UniqueIdentifier)
                    context.handleWeirdStringValue(UniqueIdentifier.class, String.valueOf(text), "no UUID");
        }
    }

    /** A state reference: {@code "hash(index)"}, or an object with {@code txhash} and {@code index}. */
    private static final class ReturnedRef extends CachedDeserializer<StateRef> {
        @Override
        public StateRef deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            if (!parser.isExpectedStartObjectToken()) {
                String text = textOrNull(parser, context, StateRef.class);
                Matcher parts = STATE_REF.matcher(text == null ? "" : text);
                if (!parts.matches()) {
                    return refuse(text, context);
                }
                SecureHash hash = fromText(parts.group(1), SecureHash.class, parser, context);
                return new StateRef(hash, Integer.parseInt(parts.group(2)));
            }
            SecureHash hash = null;
            Integer index = null;
            for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
                parser.nextToken();
                switch (name) {
                    case "txhash" -> hash = context.readValue(parser, SecureHash.class);
                    case "index" -> index = context.readValue(parser, Integer.class);
                    default -> context.handleUnknownProperty(parser, this, StateRef.class, name);
                }
            }
            return hash == null || index == null ? refuse("", context) : new StateRef(hash, index);
        }

        private static StateRef refuse(String text, DeserializationContext context) throws IOException {
            return (StateRef) context.handleWeirdStringValue(StateRef.class, String.valueOf(text), "no reference");
        }
    }

    /**
     * A state with its reference, which the node's vault must have. The value is the reference alone. The attribute
     * {@code StateLookup.class} of the context finds it.
     */
    private static final class StateByReference extends CachedDeserializer<StateAndRef<?>> {
        @Override
        public StateAndRef<?> deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            int before = context.getAttribute(this) instanceof Integer count ? count : 0;
            if (before == MAX_STATES) {
                throw RefusedValueException.saying(
                        parser, "is beyond the %d states that an argument may have".formatted(MAX_STATES));
            }
            context.setAttribute(this, before + 1);
            var states = (StateLookup) context.getAttribute(StateLookup.class);
            return states.unconsumed(context.readValue(parser, StateRef.class));
        }
    }

    /** An {@link Optional}, which is empty for null. */
    private static final class PresentOrNull extends CachedDeserializer<Optional<?>> implements ContextualDeserializer {
        private final JavaType content;

        PresentOrNull(JavaType content) {
            this.content = content;
        }

        @Override
        public JsonDeserializer<?> createContextual(DeserializationContext context, BeanProperty property) {
            return new PresentOrNull(context.getContextualType().containedTypeOrUnknown(0));
        }

        @Override
        public Optional<?> deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            return Optional.of(context.readValue(parser, content));
        }

        @Override
        public Optional<?> getNullValue(DeserializationContext context) {
            return Optional.empty();
        }
    }

    /** The key of a map, read like a value of its type. */
    private static final class TextKey extends KeyDeserializer {
        private final Class<?> type;

        TextKey(Class<?> type) {
            this.type = type;
        }

        @Override
        public Object deserializeKey(String key, DeserializationContext context) throws IOException {
            return fromText(key, type, context.getParser(), context);
        }
    }

    /** Takes the place of an annotation of Corda. */
    @JsonDeserialize(using = HashOrTransaction.class)
    interface Hash {}

    /** A hash, or what the bridge returns for a transaction: its id is taken. Public for Jackson only. */
    @SuppressWarnings("deprecation")
    public static final class HashOrTransaction extends CachedDeserializer<SecureHash> {
        @Override
        public SecureHash deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            if (!parser.isExpectedStartObjectToken()) {
                if (!parser.hasToken(JsonToken.VALUE_STRING)) {
                    return (SecureHash) context.handleUnexpectedToken(SecureHash.class, parser);
                }
                return new JacksonSupport.SecureHashDeserializer<SecureHash>().deserialize(parser, context);
            }
            String id = null;
            for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
                parser.nextToken();
                switch (name) {
                    case "txId" -> id = textOrNull(parser, context, SecureHash.class);
                    case "signatures" -> parser.skipChildren();
                    default -> context.handleUnknownProperty(parser, this, SecureHash.class, name);
                }
            }
            return id == null
                    ? (SecureHash) context.handleWeirdStringValue(SecureHash.class, "", "no txId")
                    : fromText(id, SecureHash.class, parser, context);
        }
    }

    /** Takes the place of an annotation of Corda. */
    @JsonDeserialize(using = TextOrHexadecimal.class)
    interface Bytes {}

    /** Bytes: a text as its UTF-8 bytes, or hexadecimal digits in brackets. Public for Jackson only. */
    @SuppressWarnings("deprecation")
    public static final class TextOrHexadecimal extends CachedDeserializer<OpaqueBytes> {
        @Override
        public OpaqueBytes deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            String text = parser.hasToken(JsonToken.VALUE_STRING) ? parser.getText() : "";
            if (text.length() > 2 && text.startsWith("[") && text.endsWith("]")) {
                try {
                    return new OpaqueBytes(HexFormat.of().parseHex(text.substring(1, text.length() - 1)));
                } catch (IllegalArgumentException e) {
                    // Any other text.
                }
            }
            return JacksonSupport.OpaqueBytesDeserializer.INSTANCE.deserialize(parser, context);
        }
    }
}
