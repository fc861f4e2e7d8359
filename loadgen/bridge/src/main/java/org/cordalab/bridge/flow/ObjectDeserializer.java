package org.cordalab.bridge.flow;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.deser.BeanDeserializerBase;
import com.fasterxml.jackson.databind.deser.ResolvableDeserializer;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.jsontype.TypeDeserializer;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.util.List;
import java.util.Optional;
import org.cordalab.bridge.flow.ClassShape.Nulls;
import org.cordalab.bridge.flow.ObjectTypes.ObjectField;
import org.cordalab.bridge.problem.Problem;

/** Builds a value of a class from a JSON object that has a field for each parameter of its constructor. */
final class ObjectDeserializer extends StdDeserializer<Object> implements ResolvableDeserializer {

    private final JavaType type;
    private final ClassShape shape;
    private final List<ObjectField> fields;
    /** Reads the class from a single value; null if it cannot be built from one. */
    private final BeanDeserializerBase single;

    /**
     * @param fields those of the shape, with their types in this type
     * @param single reads the class from a single value, such as a text; null if it cannot be built from one
     */
    ObjectDeserializer(JavaType type, ClassShape shape, List<ObjectField> fields, BeanDeserializerBase single) {
        super(type);
        this.type = type;
        this.shape = shape;
        this.fields = List.copyOf(fields);
        this.single = single;
    }

    @Override
    public boolean isCachable() {
        return true;
    }

    @Override
    public void resolve(DeserializationContext context) throws JsonMappingException {
        if (single != null) {
            single.resolve(context);
        }
    }

    @Override
    public Object deserializeWithType(
            JsonParser parser, DeserializationContext context, TypeDeserializer typeDeserializer) throws IOException {
        return typeDeserializer.deserializeTypedFromObject(parser, context);
    }

    @Override
    public Object deserialize(JsonParser parser, DeserializationContext context) throws IOException {
        if (parser.isExpectedStartObjectToken()) {
            return read(parser.nextFieldName(), parser, context);
        }
        if (parser.hasToken(JsonToken.FIELD_NAME)) {
            // A field before it named the class.
            return read(parser.getCurrentName(), parser, context);
        }
        return single != null
                ? single.deserialize(parser, context)
                : context.handleUnexpectedToken(handledType(), parser);
    }

    /** Reads the fields from the one with this name on. */
    private Object read(String first, JsonParser parser, DeserializationContext context) throws IOException {
        Object[] values = new Object[fields.size()];
        boolean[] given = new boolean[fields.size()];
        for (String name = first; name != null; name = parser.nextFieldName()) {
            parser.nextToken();
            int index = indexOf(name);
            if (index < 0) {
                throw RefusedValueException.saying(parser, "is not a field of " + signature())
                        .in(type, name);
            }
            values[index] = value(fields.get(index), parser, context);
            given[index] = true;
        }
        for (int i = 0; i < given.length; i++) {
            if (!given[i] && !fields.get(i).optional()) {
                throw RefusedValueException.saying(parser, "is missing in " + signature())
                        .in(type, fields.get(i).name());
            }
        }
        return build(values, given, parser);
    }

    private int indexOf(String name) {
        for (int i = 0; i < fields.size(); i++) {
            if (fields.get(i).name().equals(name)) {
                return i;
            }
        }
        return -1;
    }

    private Object value(ObjectField field, JsonParser parser, DeserializationContext context) throws IOException {
        if (parser.hasToken(JsonToken.VALUE_NULL)) {
            if (field.type().hasRawClass(Optional.class)) {
                return Optional.empty();
            }
            if (field.nulls() != Nulls.REFUSED) {
                return null;
            }
            throw RefusedValueException.of(parser, field.type(), "").in(type, field.name());
        }
        try {
            return context.readValue(parser, field.type());
        } catch (Problem e) {
            throw e;
        } catch (JsonMappingException e) {
            if (e instanceof MismatchedInputException && e.getPath().isEmpty()) {
                // Jackson's message is about Jackson. The field's type is explanation enough.
                throw RefusedValueException.of(parser, field.type(), "").in(type, field.name());
            }
            e.prependPath(type.getRawClass(), field.name());
            throw e;
        } catch (JsonProcessingException e) {
            throw RefusedValueException.of(parser, field.type(), e.getOriginalMessage())
                    .in(type, field.name());
        } catch (IllegalArgumentException | IllegalStateException | ArithmeticException e) {
            // Corda's types validate themselves, with exceptions of their own.
            throw RefusedValueException.of(parser, field.type(), String.valueOf(e.getMessage()))
                    .in(type, field.name());
        }
    }

    private Object build(Object[] values, boolean[] given, JsonParser parser) throws IOException {
        try {
            return shape.build(values, given);
        } catch (InvocationTargetException e) {
            // The class validates its values.
            throw RefusedValueException.of(parser, type, e.getTargetException().toString());
        } catch (ReflectiveOperationException | IllegalArgumentException e) {
            throw RefusedValueException.of(parser, type, e.toString());
        }
    }

    private String signature() {
        return "%s(%s)".formatted(TypeNames.of(type), ObjectTypes.signature(fields));
    }
}
