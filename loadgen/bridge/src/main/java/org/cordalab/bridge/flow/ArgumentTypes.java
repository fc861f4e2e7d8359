package org.cordalab.bridge.flow;

import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Type;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.cordalab.bridge.flow.ObjectTypes.ObjectField;
import org.cordalab.bridge.flow.ObjectTypes.ObjectType;

/** The types of arguments: how JSON is converted to them, and what they consist of. */
public final class ArgumentTypes {

    /** Maximum depth of described fields. */
    private static final int MAX_DEPTH = 5;
    /** Maximum number of described fields of one parameter, and of constants of one enum. */
    private static final int MAX_FIELDS = 200;

    private final ObjectMapper mapper;
    private final ObjectTypes objects;
    private final StateLookup states;

    ArgumentTypes(ObjectMapper mapper, ObjectTypes objects, StateLookup states) {
        this.mapper = mapper;
        this.objects = objects;
        this.states = states;
    }

    StateLookup states() {
        return states;
    }

    ObjectMapper mapper() {
        return mapper;
    }

    JavaType of(Type type) {
        return mapper.constructType(type);
    }

    /** Returns the type if its values are objects with fields. */
    Optional<ObjectType> object(JavaType type) {
        if (type.isPrimitive()
                || type.isEnumType()
                || type.getRawClass().getName().startsWith("java.")) {
            return Optional.empty();
        }
        // Whether values of a type are objects is decided when Jackson creates its deserialiser.
        mapper.canDeserialize(type, new AtomicReference<>());
        return objects.find(type);
    }

    /** Describes a parameter and the fields of its values. */
    FieldDescription describe(FlowParameter parameter) {
        try {
            return new Description().of(parameter.name(), parameter.typeName(), of(parameter.type()), false);
        } catch (RuntimeException | LinkageError e) {
            // A CorDapp may refer to classes that the bridge lacks, and Kotlin's reflection does not know every class.
            return new FieldDescription(parameter.name(), parameter.typeName(), false, false, List.of(), List.of());
        }
    }

    /** Returns the type of the elements of lists and maps, and of what an {@link Optional} has. */
    private static JavaType innermost(JavaType type) {
        JavaType inner = type;
        while (inner.isContainerType() || inner.hasRawClass(Optional.class)) {
            inner = inner.isContainerType() ? inner.getContentType() : inner.containedTypeOrUnknown(0);
        }
        return inner;
    }

    private static List<String> constants(JavaType type) {
        return type.isEnumType()
                ? Arrays.stream(type.getRawClass().getEnumConstants())
                        .limit(MAX_FIELDS)
                        .map(constant -> ((Enum<?>) constant).name())
                        .toList()
                : List.of();
    }

    /** The description of one parameter. */
    private final class Description {
        /** The types around the current field. */
        private final Deque<JavaType> around = new ArrayDeque<>();

        private int left = MAX_FIELDS;

        FieldDescription of(String name, String typeName, JavaType type, boolean optional) {
            JavaType inner = innermost(type);
            Optional<ObjectType> object = object(inner);
            List<ObjectField> all = object.map(ObjectType::fields).orElse(List.of());
            List<FieldDescription> fields = new ArrayList<>();
            // All fields of a class are described, or none, so that others can be recognised as wrong.
            if (around.size() < MAX_DEPTH && !around.contains(inner) && all.size() <= left) {
                left -= all.size();
                around.push(inner);
                for (ObjectField field : all) {
                    fields.add(of(field.name(), field.typeName(), field.type(), field.optional()));
                }
                around.pop();
            }
            boolean isAbstract = object.map(ObjectType::isAbstract).orElse(false);
            return new FieldDescription(name, typeName, optional, isAbstract, constants(inner), fields);
        }
    }
}
