package org.cordalab.bridge.flow;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.util.TokenBuffer;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.util.Optional;
import net.corda.core.serialization.CordaSerializable;

/** Builds a value for an interface or an abstract class from a JSON object that names the value's class. */
final class SubclassDeserializer extends StdDeserializer<Object> {

    /** The field with the name of the class. */
    static final String CLASS = "@class";

    private final JavaType base;

    SubclassDeserializer(JavaType base) {
        super(base);
        this.base = base;
    }

    @Override
    public boolean isCachable() {
        return true;
    }

    @Override
    public Object deserialize(JsonParser parser, DeserializationContext context) throws IOException {
        if (!parser.isExpectedStartObjectToken()) {
            return context.handleUnexpectedToken(handledType(), parser);
        }
        String className = "";
        try (var fields = new TokenBuffer(parser, context)) {
            fields.writeStartObject();
            for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
                parser.nextToken();
                if (name.equals(CLASS)) {
                    className = parser.getText();
                    parser.skipChildren();
                } else {
                    fields.writeFieldName(name);
                    fields.copyCurrentStructure(parser);
                }
            }
            fields.writeEndObject();
            JavaType chosen = context.constructSpecializedType(base, chosen(className, parser));
            JsonParser rest = fields.asParser(parser);
            rest.nextToken();
            return context.readValue(rest, chosen);
        }
    }

    /** Returns the class with a name, if Corda's serialiser would build it for the type. */
    private Class<?> chosen(String className, JsonParser parser) throws RefusedValueException {
        return CordappClasses.find(className)
                .filter(base.getRawClass()::isAssignableFrom)
                .filter(found -> !Modifier.isAbstract(found.getModifiers()) && isSerializable(found))
                .orElseThrow(() -> RefusedValueException.saying(
                                parser,
                                "must be the full name of a class that is a %s and @CordaSerializable, but is \"%s\""
                                        .formatted(TypeNames.of(base), className))
                        .in(base, CLASS));
    }

    /** Returns whether a class, or one of its parents, has the annotation. Java inherits it only from superclasses. */
    private static boolean isSerializable(Class<?> type) {
        if (type.isAnnotationPresent(CordaSerializable.class)) {
            return true;
        }
        for (Class<?> each : type.getInterfaces()) {
            if (isSerializable(each)) {
                return true;
            }
        }
        return Optional.<Class<?>>ofNullable(type.getSuperclass())
                .map(SubclassDeserializer::isSerializable)
                .orElse(false);
    }
}
