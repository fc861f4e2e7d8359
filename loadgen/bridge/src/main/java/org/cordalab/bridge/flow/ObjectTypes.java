package org.cordalab.bridge.flow;

import com.fasterxml.jackson.databind.JavaType;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.cordalab.bridge.flow.ClassShape.Nulls;

/** The types whose values are JSON objects with fields. {@link ObjectModifier} adds each when it is first needed. */
final class ObjectTypes {

    private final Map<JavaType, ObjectType> byType = new ConcurrentHashMap<>();

    /**
     * A type.
     *
     * @param isAbstract whether the value must name its class, which has further fields
     */
    record ObjectType(List<ObjectField> fields, boolean isAbstract) {

        ObjectType {
            fields = List.copyOf(fields);
        }
    }

    /**
     * A field of a type.
     *
     * @param optional whether the field may be left out
     */
    record ObjectField(String name, JavaType type, Nulls nulls, boolean optional) {

        /** Returns the type as in source code, with a question mark if the class says that it accepts null. */
        String typeName() {
            return nulls == Nulls.ACCEPTED ? TypeNames.of(type) + "?" : TypeNames.of(type);
        }

        /** Returns the field as in a signature: {@code premium: int}. */
        @Override
        public String toString() {
            return name + ": " + typeName();
        }
    }

    void put(JavaType type, List<ObjectField> fields) {
        byType.put(type, new ObjectType(fields, false));
    }

    void putAbstract(JavaType type) {
        byType.put(type, new ObjectType(List.of(), true));
    }

    Optional<ObjectType> find(JavaType type) {
        return Optional.ofNullable(byType.get(type));
    }

    /** Returns the fields as in a signature, for an error message. */
    static String signature(List<ObjectField> fields) {
        return fields.stream().map(ObjectField::toString).collect(Collectors.joining(", "));
    }
}
