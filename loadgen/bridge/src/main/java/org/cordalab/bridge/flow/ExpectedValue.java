package org.cordalab.bridge.flow;

import com.fasterxml.jackson.databind.JavaType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.security.PublicKey;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.Currency;
import java.util.Date;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;
import net.corda.core.contracts.Amount;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import net.corda.core.contracts.UniqueIdentifier;
import net.corda.core.crypto.SecureHash;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.AnonymousParty;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.identity.Party;
import net.corda.core.utilities.OpaqueBytes;
import org.cordalab.bridge.flow.ObjectTypes.ObjectType;

/** Describes the JSON value that a type expects. */
final class ExpectedValue {

    private static final String PARTY =
            "a party of the network by its X.500 name, such as \"O=PartyB,L=New York,C=US\"";
    private static final String STATE =
            "an unconsumed state of the node's vault by its reference, such as \"<hash>(0)\"";
    private static final String ID =
            "\"<UUID>\", \"<externalId>_<UUID>\" or an object such as {\"externalId\": null, \"id\": \"<UUID>\"}";

    private static final Map<Class<?>, String> WORDS = Map.ofEntries(
            Map.entry(int.class, "a whole number from -2147483648 to 2147483647"),
            Map.entry(Integer.class, "a whole number from -2147483648 to 2147483647"),
            Map.entry(long.class, "a whole number"),
            Map.entry(Long.class, "a whole number"),
            Map.entry(short.class, "a whole number from -32768 to 32767"),
            Map.entry(Short.class, "a whole number from -32768 to 32767"),
            Map.entry(byte.class, "a whole number from -128 to 255"),
            Map.entry(Byte.class, "a whole number from -128 to 255"),
            Map.entry(BigInteger.class, "a whole number"),
            Map.entry(double.class, "a number"),
            Map.entry(Double.class, "a number"),
            Map.entry(float.class, "a number"),
            Map.entry(Float.class, "a number"),
            Map.entry(BigDecimal.class, "a number"),
            Map.entry(boolean.class, "true or false"),
            Map.entry(Boolean.class, "true or false"),
            Map.entry(String.class, "a string"),
            Map.entry(byte[].class, "a string of bytes in Base64"),
            Map.entry(Instant.class, "a time such as \"2024-01-31T12:00:00Z\""),
            Map.entry(Date.class, "a time such as \"2024-01-31T12:00:00Z\""),
            Map.entry(LocalDate.class, "a date such as \"2024-01-31\""),
            Map.entry(LocalDateTime.class, "a time such as \"2024-01-31T12:00:00\""),
            Map.entry(Duration.class, "a duration such as \"PT30S\""),
            Map.entry(Currency.class, "a currency such as \"GBP\""),
            Map.entry(UUID.class, "a UUID"),
            Map.entry(PublicKey.class, "a public key in Base58"),
            Map.entry(Party.class, PARTY),
            Map.entry(AbstractParty.class, PARTY + ", or an anonymous one by its key in Base58"),
            Map.entry(AnonymousParty.class, "an anonymous party by its key in Base58"),
            Map.entry(StateRef.class, "a state reference such as \"<hash>(0)\""),
            Map.entry(StateAndRef.class, STATE),
            Map.entry(OpaqueBytes.class, "a string, taken as its UTF-8 bytes"),
            Map.entry(UniqueIdentifier.class, ID),
            Map.entry(CordaX500Name.class, "an X.500 name such as \"O=PartyB,L=New York,C=US\""));

    private final ArgumentTypes types;

    ExpectedValue(ArgumentTypes types) {
        this.types = types;
    }

    String of(FlowParameter parameter) {
        String words = of(types.of(parameter.type()));
        return parameter.nullable() ? words + ", or null" : words;
    }

    /**
     * Returns words for a class alone; empty if there are none but its name.
     *
     * @param type may be null, which has none
     */
    static Optional<String> ofSimple(Class<?> type) {
        return Optional.ofNullable(type).map(WORDS::get);
    }

    String of(JavaType type) {
        Class<?> raw = type.getRawClass();
        if (WORDS.containsKey(raw)) {
            return WORDS.get(raw);
        }
        if (raw.isEnum()) {
            return Arrays.stream(raw.getEnumConstants())
                    .map(constant -> "\"" + ((Enum<?>) constant).name() + "\"")
                    .collect(Collectors.joining(", ", "one of ", ""));
        }
        if (SecureHash.class.isAssignableFrom(raw)) {
            return "a hash of 64 hexadecimal digits";
        }
        if (type.isMapLikeType()) {
            return "an object, each value " + of(type.getContentType());
        }
        if (type.isContainerType()) {
            return "a list, each " + of(type.getContentType());
        }
        if (type.hasRawClass(Optional.class)) {
            return of(type.containedTypeOrUnknown(0)) + ", or null";
        }
        Optional<ObjectType> object = types.object(type);
        if (object.isPresent()) {
            String name = TypeNames.of(type);
            String fields = ObjectTypes.signature(object.get().fields());
            return object.get().isAbstract()
                    ? "an object with the class of a %s in @class, and the fields of that class".formatted(name)
                    : "an object with the fields of %s(%s)".formatted(name, fields);
        }
        return raw == Amount.class ? "an amount that is not negative, such as \"100 GBP\"" : "a " + TypeNames.of(type);
    }
}
