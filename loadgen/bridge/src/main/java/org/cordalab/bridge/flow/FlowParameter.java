package org.cordalab.bridge.flow;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * One constructor parameter of a flow.
 *
 * @param nullable whether JSON {@code null} is accepted
 */
public record FlowParameter(String name, Type type, boolean nullable) {

    /** Returns the type as in source code: {@code int}, {@code Party}, {@code Amount<Currency>}. */
    public String typeName() {
        return nullable ? simpleName(type) + "?" : simpleName(type);
    }

    private static String simpleName(Type type) {
        if (type instanceof Class<?> classType) {
            return classType.getSimpleName();
        }
        if (type instanceof ParameterizedType parameterized) {
            String arguments = Arrays.stream(parameterized.getActualTypeArguments())
                    .map(FlowParameter::simpleName)
                    .collect(Collectors.joining(", ", "<", ">"));
            return simpleName(parameterized.getRawType()) + arguments;
        }
        if (type instanceof WildcardType wildcard) {
            return simpleName(wildcard.getUpperBounds()[0]);
        }
        return type.getTypeName();
    }
}
