package org.cordalab.bridge.flow;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import java.io.IOException;
import java.security.PublicKey;
import java.util.Optional;
import net.corda.client.jackson.JacksonSupport;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.AnonymousParty;
import net.corda.core.identity.Party;

/** Reads parties: those of the network by their names, and anonymous ones by their keys. */
final class PartyValues {

    /** A key in Base58 is longer, and a name that is so long has commas. */
    private static final int MIN_KEY_CHARS = 40;

    private PartyValues() {}

    /** Takes the place of an annotation of Corda. A {@link Party} would otherwise inherit the one of its parent. */
    @JsonDeserialize(using = NamedParty.class)
    interface Named {}

    /** A party of the network. Public for Jackson only. */
    @SuppressWarnings("deprecation")
    public static final class NamedParty extends CachedDeserializer<Party> {
        @Override
        public Party deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            return JacksonSupport.PartyDeserializer.INSTANCE.deserialize(parser, context);
        }
    }

    /** Takes the place of an annotation of Corda. */
    @JsonDeserialize(using = NamedOrAnonymousParty.class)
    interface NamedOrAnonymous {}

    /** A party of the network, or an anonymous one by its key. Public for Jackson only. */
    public static final class NamedOrAnonymousParty extends CachedDeserializer<AbstractParty> {
        @Override
        public AbstractParty deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            String text = parser.hasToken(JsonToken.VALUE_STRING) ? parser.getText() : "";
            try {
                return new NamedParty().deserialize(parser, context);
            } catch (JsonProcessingException e) {
                Optional<PublicKey> key = key(text, parser, context);
                if (key.isEmpty()) {
                    throw e;
                }
                return new AnonymousParty(key.get());
            }
        }
    }

    /** Takes the place of an annotation of Corda. */
    @JsonDeserialize(using = AnyAnonymousParty.class)
    interface Anonymous {}

    /** An anonymous party by its key, or the anonymous form of a party of the network. Public for Jackson only. */
    public static final class AnyAnonymousParty extends CachedDeserializer<AnonymousParty> {
        @Override
        public AnonymousParty deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            String text = parser.hasToken(JsonToken.VALUE_STRING) ? parser.getText() : "";
            Optional<PublicKey> key = key(text, parser, context);
            return key.isPresent()
                    ? new AnonymousParty(key.get())
                    : new NamedParty().deserialize(parser, context).anonymise();
        }
    }

    /** Returns the key that a text is in Base58; empty if it is none. */
    private static Optional<PublicKey> key(String text, JsonParser parser, DeserializationContext context)
            throws IOException {
        if (text.length() < MIN_KEY_CHARS || text.contains(",")) {
            return Optional.empty();
        }
        try {
            return Optional.of(ReturnedValues.fromText(text, PublicKey.class, parser, context));
        } catch (JsonProcessingException e) {
            return Optional.empty();
        }
    }
}
