package org.cordalab.bridge.flow;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.BeanDescription;
import com.fasterxml.jackson.databind.DeserializationConfig;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.deser.BeanDeserializerModifier;
import com.fasterxml.jackson.databind.deser.std.DelegatingDeserializer;
import com.fasterxml.jackson.databind.deser.std.NumberDeserializers;
import com.fasterxml.jackson.databind.deser.std.StdScalarDeserializer;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.type.LogicalType;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.security.PublicKey;
import java.util.Collection;
import java.util.List;
import net.corda.client.jackson.JacksonSupport;
import net.corda.core.contracts.Amount;
import net.corda.core.crypto.SecureHash;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.AnonymousParty;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.identity.Party;
import net.corda.core.node.services.IdentityService;
import net.corda.core.serialization.SerializationCustomSerializer;
import net.corda.core.utilities.OpaqueBytes;
import org.cordalab.bridge.json.Json;

/**
 * Creates the mapper that converts JSON to Corda's types as Corda's shell does, but accepts no doubtful values. It also
 * builds every class that Corda's serialiser can build, and takes what flows return.
 */
public final class ArgumentMapper {

    private static final int MAX_DECIMAL_CHARS = 1000;

    private ArgumentMapper() {}

    /** Creates the types of arguments for where there is no vault and no CorDapp. */
    public static ArgumentTypes create(PartyDirectory parties) {
        return create(parties, StateLookup.none(), List.of());
    }

    /**
     * @param parties used to look up parties by name, without an RPC
     * @param states used to look up states by reference
     * @param serializers the CorDapps' own serialisers
     */
    // Deprecated only in Corda 3.
    @SuppressWarnings("deprecation")
    public static ArgumentTypes create(
            PartyDirectory parties,
            StateLookup states,
            Collection<? extends SerializationCustomSerializer<?, ?>> serializers) {
        ObjectMapper mapper = JacksonSupport.createInMemoryMapper(identityService(parties), new JsonFactory(), true);
        mapper.enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
                .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
                .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
                .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
                .disable(DeserializationFeature.ACCEPT_SINGLE_VALUE_AS_ARRAY)
                .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT);
        mapper.setConfig(mapper.getDeserializationConfig().without(MapperFeature.ALLOW_COERCION_OF_SCALARS));
        forbid(mapper, LogicalType.Integer, CoercionInputShape.String, CoercionInputShape.Float);
        forbid(mapper, LogicalType.Float, CoercionInputShape.String);
        forbid(mapper, LogicalType.Boolean, CoercionInputShape.String, CoercionInputShape.Integer);
        // In JSON, only strings keep decimals exact.
        mapper.coercionConfigFor(BigDecimal.class)
                .setCoercion(CoercionInputShape.String, CoercionAction.TryConvert)
                .setCoercion(CoercionInputShape.EmptyString, CoercionAction.Fail);
        // Corda gives these types annotations, which precede what a module declares.
        mapper.addMixIn(PublicKey.class, ShortKey.class);
        mapper.addMixIn(BigDecimal.class, Modest.class);
        mapper.addMixIn(SecureHash.class, ReturnedValues.Hash.class);
        mapper.addMixIn(SecureHash.SHA256.class, ReturnedValues.Hash.class);
        mapper.addMixIn(OpaqueBytes.class, ReturnedValues.Bytes.class);
        mapper.addMixIn(AbstractParty.class, PartyValues.NamedOrAnonymous.class);
        mapper.addMixIn(AnonymousParty.class, PartyValues.Anonymous.class);
        mapper.addMixIn(Party.class, PartyValues.Named.class);
        mapper.registerModule(new SimpleModule("strict")
                .addDeserializer(String.class, new StrictString())
                .setDeserializerModifier(new ModestAmounts()));
        mapper.registerModule(ReturnedValues.module());
        var objects = new ObjectTypes();
        mapper.registerModule(new SimpleModule("objects")
                .setDeserializerModifier(new ObjectModifier(objects, ProxyDeserializer.byClass(serializers))));
        return new ArgumentTypes(mapper, objects, states);
    }

    private static void forbid(ObjectMapper mapper, LogicalType target, CoercionInputShape... shapes) {
        for (CoercionInputShape shape : shapes) {
            mapper.coercionConfigFor(target).setCoercion(shape, CoercionAction.Fail);
        }
        mapper.coercionConfigFor(target).setCoercion(CoercionInputShape.EmptyString, CoercionAction.Fail);
    }

    /** Corda's mapper needs an {@link IdentityService}, but calls only three of its methods. */
    private static IdentityService identityService(PartyDirectory parties) {
        return (IdentityService) Proxy.newProxyInstance(
                IdentityService.class.getClassLoader(),
                new Class<?>[] {IdentityService.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "wellKnownPartyFromX500Name" -> parties.byName((CordaX500Name) arguments[0]);
                    case "partyFromKey" -> parties.byKey((PublicKey) arguments[0]);
                    case "partiesFromName" -> parties.like((String) arguments[0]);
                    case "toString" -> "IdentityService of " + parties;
                    default ->
                        throw new InvocationTargetException(new UnsupportedOperationException(method.toString()));
                });
    }

    /** The time to decode a key from a text goes with the square of its length. */
    @JsonDeserialize(using = BoundedKey.class)
    private interface ShortKey {}

    /** Public for Jackson only. */
    @SuppressWarnings("deprecation")
    public static final class BoundedKey extends JsonDeserializer<PublicKey> {
        private static final int MAX_CHARS = 4096;

        @Override
        public PublicKey deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            if (parser.getTextLength() > MAX_CHARS) {
                throw context.weirdStringException(
                        "", PublicKey.class, "a name or key has at most %d characters".formatted(MAX_CHARS));
            }
            return JacksonSupport.PublicKeyDeserializer.INSTANCE.deserialize(parser, context);
        }
    }

    @JsonDeserialize(using = ModestDecimal.class)
    private interface Modest {}

    /**
     * Rejects decimals with so many digits or such an exponent that a calculation with them does not end. Public for
     * Jackson only.
     */
    public static final class ModestDecimal extends StdScalarDeserializer<BigDecimal> {
        public ModestDecimal() {
            super(BigDecimal.class);
        }

        @Override
        public LogicalType logicalType() {
            return LogicalType.Float;
        }

        @Override
        public BigDecimal deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            requireModest(parser, context, BigDecimal.class);
            return NumberDeserializers.BigDecimalDeserializer.instance.deserialize(parser, context);
        }
    }

    /** Checks the text of an amount, such as {@code "12.50 USD"}, before Corda calculates with it. */
    private static final class ModestAmounts extends BeanDeserializerModifier {
        @Override
        public JsonDeserializer<?> modifyDeserializer(
                DeserializationConfig config, BeanDescription description, JsonDeserializer<?> deserializer) {
            return Amount.class.isAssignableFrom(description.getBeanClass())
                    ? new ModestAmount(deserializer)
                    : deserializer;
        }
    }

    private static final class ModestAmount extends DelegatingDeserializer {
        ModestAmount(JsonDeserializer<?> corda) {
            super(corda);
        }

        @Override
        protected JsonDeserializer<?> newDelegatingInstance(JsonDeserializer<?> corda) {
            return new ModestAmount(corda);
        }

        @Override
        public Object deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            requireModest(parser, context, Amount.class);
            return super.deserialize(parser, context);
        }
    }

    private static void requireModest(JsonParser parser, DeserializationContext context, Class<?> type)
            throws IOException {
        if (parser.hasToken(JsonToken.VALUE_STRING)
                && (parser.getTextLength() > MAX_DECIMAL_CHARS || !Json.isModest(parser.getText()))) {
            throw context.weirdStringException(
                    "",
                    type,
                    "the number has more than %d characters, or a large exponent".formatted(MAX_DECIMAL_CHARS));
        }
    }

    /** Rejects scalars, which this version of Jackson accepts as strings whatever its coercion settings are. */
    private static final class StrictString extends StdScalarDeserializer<String> {
        StrictString() {
            super(String.class);
        }

        @Override
        public String deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            return parser.hasToken(JsonToken.VALUE_STRING)
                    ? parser.getText()
                    : (String) context.handleUnexpectedToken(String.class, parser);
        }
    }
}
