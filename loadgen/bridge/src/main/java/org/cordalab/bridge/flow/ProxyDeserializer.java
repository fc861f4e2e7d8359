package org.cordalab.bridge.flow;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.type.TypeFactory;
import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import net.corda.core.serialization.SerializationCustomSerializer;

/** Builds a value of a class for which a CorDapp has a serialiser, from the fields of that serialiser's proxy. */
final class ProxyDeserializer extends StdDeserializer<Object> {

    private final Serializer serializer;
    private final JavaType proxy;

    ProxyDeserializer(JavaType type, Serializer serializer, TypeFactory factory) {
        super(type);
        this.serializer = serializer;
        this.proxy = factory.constructType(serializer.proxy());
    }

    /** A CorDapp's serialiser, with the class of its proxy. */
    record Serializer(SerializationCustomSerializer<Object, Object> serializer, Class<?> proxy) {}

    /** Returns the serialisers by the class that each is for. Omits those that do not say it. */
    @SuppressWarnings("unchecked")
    static Map<Class<?>, Serializer> byClass(Collection<? extends SerializationCustomSerializer<?, ?>> serializers) {
        Map<Class<?>, Serializer> found = new HashMap<>();
        for (SerializationCustomSerializer<?, ?> each : serializers) {
            JavaType[] types = TypeFactory.defaultInstance()
                    .findTypeParameters(
                            TypeFactory.defaultInstance().constructType(each.getClass()),
                            SerializationCustomSerializer.class);
            if (types.length == 2 && !types[0].isJavaLangObject()) {
                found.put(
                        types[0].getRawClass(),
                        new Serializer((SerializationCustomSerializer<Object, Object>) each, types[1].getRawClass()));
            }
        }
        return found;
    }

    @Override
    public boolean isCachable() {
        return true;
    }

    @Override
    public Object deserialize(JsonParser parser, DeserializationContext context) throws IOException {
        Object value = context.readValue(parser, proxy);
        return serializer.serializer().fromProxy(value);
    }
}
