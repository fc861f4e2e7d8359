package org.cordalab.bridge.flow;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.stream.Collectors;
import net.corda.core.contracts.Amount;
import net.corda.core.contracts.UniqueIdentifier;
import net.corda.core.crypto.SecureHash;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.utilities.OpaqueBytes;

/** Describes the JSON value that a parameter expects. */
final class ExpectedValue {

    private static final Map<Class<?>, String> WORDS = Map.ofEntries(
            Map.entry(int.class, "a whole number from -2147483648 to 2147483647"),
            Map.entry(Integer.class, "a whole number from -2147483648 to 2147483647"),
            Map.entry(long.class, "a whole number"),
            Map.entry(Long.class, "a whole number"),
            Map.entry(short.class, "a whole number from -32768 to 32767"),
            Map.entry(Short.class, "a whole number from -32768 to 32767"),
            Map.entry(BigInteger.class, "a whole number"),
            Map.entry(double.class, "a number"),
            Map.entry(Double.class, "a number"),
            Map.entry(float.class, "a number"),
            Map.entry(Float.class, "a number"),
            Map.entry(BigDecimal.class, "a number"),
            Map.entry(boolean.class, "true or false"),
            Map.entry(Boolean.class, "true or false"),
            Map.entry(String.class, "a string"),
            Map.entry(Instant.class, "a time such as \"2024-01-31T12:00:00Z\""),
            Map.entry(Duration.class, "a duration such as \"PT30S\""),
            Map.entry(OpaqueBytes.class, "a string, taken as its UTF-8 bytes"),
            Map.entry(UniqueIdentifier.class, "an object such as {\"externalId\": null, \"id\": \"<UUID>\"}"),
            Map.entry(CordaX500Name.class, "an X.500 name such as \"O=PartyB,L=New York,C=US\""));

    private ExpectedValue() {}

    static String of(FlowParameter parameter) {
        String words = of(parameter.type());
        return parameter.nullable() ? words + ", or null" : words;
    }

    private static String of(Type type) {
        Class<?> raw = raw(type);
        if (WORDS.containsKey(raw)) {
            return WORDS.get(raw);
        }
        if (raw.isEnum()) {
            return Arrays.stream(raw.getEnumConstants())
                    .map(constant -> "\"" + ((Enum<?>) constant).name() + "\"")
                    .collect(Collectors.joining(", ", "one of ", ""));
        }
        if (AbstractParty.class.isAssignableFrom(raw)) {
            return "a party of the network by its X.500 name, such as \"O=PartyB,L=New York,C=US\"";
        }
        if (SecureHash.class.isAssignableFrom(raw)) {
            return "a hash of 64 hexadecimal digits";
        }
        if (Amount.class.isAssignableFrom(raw)) {
            return "an amount that is not negative, such as \"100 GBP\"";
        }
        if (raw.isArray()) {
            return "a list, each " + of(raw.getComponentType());
        }
        if (Collection.class.isAssignableFrom(raw) && type instanceof ParameterizedType parameterized) {
            return "a list, each " + of(parameterized.getActualTypeArguments()[0]);
        }
        return "a " + new FlowParameter("", type, false).typeName();
    }

    private static Class<?> raw(Type type) {
        return switch (type) {
            case Class<?> classType -> classType;
            case ParameterizedType parameterized -> raw(parameterized.getRawType());
            case WildcardType wildcard -> raw(wildcard.getUpperBounds()[0]);
            default -> Object.class;
        };
    }
}
