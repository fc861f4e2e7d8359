package org.cordalab.bridge.flow;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.BeanDescription;
import com.fasterxml.jackson.databind.DeserializationConfig;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.deser.AbstractDeserializer;
import com.fasterxml.jackson.databind.deser.BeanDeserializerBase;
import com.fasterxml.jackson.databind.deser.BeanDeserializerModifier;
import com.fasterxml.jackson.databind.deser.SettableBeanProperty;
import com.fasterxml.jackson.databind.deser.ValueInstantiator;
import com.fasterxml.jackson.databind.introspect.BeanPropertyDefinition;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Currency;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import net.corda.core.contracts.Amount;
import net.corda.core.utilities.ProgressTracker;
import org.cordalab.bridge.flow.ClassShape.Nulls;
import org.cordalab.bridge.flow.ObjectTypes.ObjectField;

/**
 * Builds objects as Corda's serialiser does, where Corda's mapper has no deserialiser of its own.
 *
 * <p>Jackson alone builds a class only if it is Kotlin's or a record, or if it has setters or annotations of Jackson.
 * The classes of most CorDapps in Java are none of these.
 */
final class ObjectModifier extends BeanDeserializerModifier {

    private final ObjectTypes types;
    private final Map<Class<?>, ProxyDeserializer.Serializer> serializers;

    /**
     * @param types takes every type that is met
     * @param serializers the CorDapps' own serialisers by the class that each is for
     */
    ObjectModifier(ObjectTypes types, Map<Class<?>, ProxyDeserializer.Serializer> serializers) {
        this.types = types;
        this.serializers = serializers;
    }

    /** Omits the properties of a class that is built by its constructor. Setters may contradict each other. */
    @Override
    public List<BeanPropertyDefinition> updateProperties(
            DeserializationConfig config, BeanDescription description, List<BeanPropertyDefinition> properties) {
        return shape(description).isPresent() ? new ArrayList<>() : properties;
    }

    @Override
    public JsonDeserializer<?> modifyDeserializer(
            DeserializationConfig config, BeanDescription description, JsonDeserializer<?> deserializer) {
        JavaType type = description.getType();
        ProxyDeserializer.Serializer serializer = serializers.get(type.getRawClass());
        if (serializer != null) {
            return new ProxyDeserializer(type, serializer, config.getTypeFactory());
        }
        if (type.hasRawClass(Amount.class)) {
            describeAmount(type, config);
            return deserializer;
        }
        if (isForeign(type.getRawClass())) {
            return deserializer;
        }
        if (deserializer instanceof AbstractDeserializer) {
            types.putAbstract(type);
            return new SubclassDeserializer(type);
        }
        // Corda's mapper, or an annotation, has another deserialiser.
        return deserializer instanceof BeanDeserializerBase bean ? modify(config, description, bean) : deserializer;
    }

    private JsonDeserializer<?> modify(
            DeserializationConfig config, BeanDescription description, BeanDeserializerBase bean) {
        JavaType type = description.getType();
        Optional<ClassShape> shape = shape(description);
        if (shape.isPresent()) {
            List<ObjectField> fields = shape.get().fields().stream()
                    .map(field -> resolved(field, type, config))
                    .toList();
            types.put(type, fields);
            BeanDeserializerBase single = isSingle(bean.getValueInstantiator()) ? bean : null;
            return new ObjectDeserializer(type, shape.get(), fields, single);
        }
        if (!bean.getValueInstantiator().canInstantiate()) {
            return new Unbuildable(type);
        }
        types.put(type, properties(bean));
        return bean;
    }

    private static ObjectField resolved(ClassShape.Field field, JavaType owner, DeserializationConfig config) {
        JavaType type = config.getTypeFactory().resolveMemberType(field.type(), owner.getBindings());
        return new ObjectField(field.name(), type, field.nulls(), field.optional());
    }

    /** Returns the properties that Jackson sets. */
    private static List<ObjectField> properties(BeanDeserializerBase bean) {
        List<ObjectField> fields = new ArrayList<>();
        for (Iterator<SettableBeanProperty> each = bean.properties(); each.hasNext(); ) {
            SettableBeanProperty property = each.next();
            Nulls nulls = property.getType().isPrimitive() ? Nulls.REFUSED : Nulls.UNDECLARED;
            fields.add(new ObjectField(property.getName(), property.getType(), nulls, !property.isRequired()));
        }
        return fields;
    }

    /** An amount of a currency is a text. Corda's deserialiser reads any other from an object. */
    private void describeAmount(JavaType type, DeserializationConfig config) {
        JavaType token = type.containedTypeOrUnknown(0);
        if (!token.hasRawClass(Currency.class) && !token.isJavaLangObject()) {
            JavaType quantity = config.getTypeFactory().constructType(long.class);
            types.put(
                    type,
                    List.of(
                            new ObjectField("quantity", quantity, Nulls.REFUSED, false),
                            new ObjectField("token", token, Nulls.REFUSED, false)));
        }
    }

    private static Optional<ClassShape> shape(BeanDescription description) {
        Class<?> type = description.getBeanClass();
        return isForeign(type) || type == Amount.class || type.isEnum() || hasOwnRules(description)
                ? Optional.empty()
                : ClassShape.of(type);
    }

    /** Returns whether a class is no value of a CorDapp. */
    private static boolean isForeign(Class<?> type) {
        return type.getName().startsWith("java.")
                || type.getName().startsWith("javax.")
                || Throwable.class.isAssignableFrom(type)
                || ProgressTracker.class.isAssignableFrom(type);
    }

    /** Returns whether annotations of Jackson say how the class is built. */
    private static boolean hasOwnRules(BeanDescription description) {
        return description.getClassInfo().hasAnnotation(JsonTypeInfo.class)
                || Stream.concat(
                                description.getClassInfo().getConstructors().stream(),
                                description.getClassInfo().getFactoryMethods().stream())
                        .anyMatch(creator -> creator.hasAnnotation(JsonCreator.class));
    }

    /** Returns whether Jackson builds the class from a single value, such as a text. */
    private static boolean isSingle(ValueInstantiator instantiator) {
        return instantiator.canCreateFromString()
                || instantiator.canCreateFromInt()
                || instantiator.canCreateFromLong()
                || instantiator.canCreateFromDouble()
                || instantiator.canCreateFromBoolean();
    }

    /** Says why a class cannot be built. */
    private static final class Unbuildable extends CachedDeserializer<Object> {
        private final JavaType type;

        Unbuildable(JavaType type) {
            this.type = type;
        }

        @Override
        public Object deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            throw RefusedValueException.saying(
                    parser,
                    "cannot be built: %s needs -parameters, and one constructor with parameters or an annotated one"
                            .formatted(type.getRawClass().getName()));
        }
    }
}
