package org.cordalab.bridge.flow;

import com.fasterxml.jackson.databind.JavaType;
import java.util.List;
import java.util.stream.Collectors;

/** Names types as in source code. */
final class TypeNames {

    private TypeNames() {}

    /** Returns {@code int}, {@code Party}, {@code List<Party>}, {@code byte[]}. */
    static String of(JavaType type) {
        if (type.isArrayType()) {
            return of(type.getContentType()) + "[]";
        }
        List<JavaType> arguments = type.getBindings().getTypeParameters();
        String name = type.getRawClass().getSimpleName();
        return arguments.isEmpty()
                ? name
                : arguments.stream().map(TypeNames::of).collect(Collectors.joining(", ", name + "<", ">"));
    }
}
