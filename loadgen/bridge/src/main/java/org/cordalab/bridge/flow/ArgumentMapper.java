package org.cordalab.bridge.flow;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.deser.std.StdScalarDeserializer;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.type.LogicalType;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.security.PublicKey;
import net.corda.client.jackson.JacksonSupport;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.node.services.IdentityService;

/** Creates the mapper that converts JSON to Corda's types as Corda's shell does, but accepts no doubtful values. */
public final class ArgumentMapper {

    private ArgumentMapper() {}

    /**
     * @param parties used to look up parties by name, without an RPC
     */
    // Deprecated only in Corda 3.
    @SuppressWarnings("deprecation")
    public static ObjectMapper create(PartyDirectory parties) {
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
        mapper.registerModule(new SimpleModule("strict").addDeserializer(String.class, new StrictString()));
        return mapper;
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
