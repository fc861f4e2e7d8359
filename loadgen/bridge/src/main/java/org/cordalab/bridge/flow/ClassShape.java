package org.cordalab.bridge.flow;

import java.lang.reflect.Constructor;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import kotlin.Metadata;
import kotlin.jvm.JvmClassMappingKt;
import kotlin.reflect.KFunction;
import kotlin.reflect.KParameter;
import kotlin.reflect.full.KClasses;
import kotlin.reflect.jvm.KCallablesJvm;
import kotlin.reflect.jvm.ReflectJvmMapping;
import kotlin.reflect.jvm.internal.KotlinReflectionInternalError;
import net.corda.core.serialization.ConstructorForDeserialization;

/**
 * How a value of a class is built from named fields: by the constructor that Corda's serialiser calls.
 *
 * <p>That is the one with {@link ConstructorForDeserialization}, or else Kotlin's primary constructor, or else the only
 * one that has parameters. The fields are its parameters, whose names are in Kotlin's metadata, or in the class file if
 * it was compiled with {@code -parameters}.
 *
 * @param fields in the order of the parameters
 */
record ClassShape(Constructor<?> constructor, List<Field> fields) {

    ClassShape {
        fields = List.copyOf(fields);
    }

    /**
     * A field of the class.
     *
     * @param type as declared, possibly with variables of the class
     * @param optional whether the field may be left out, because it has a default
     */
    record Field(String name, Type type, Nulls nulls, boolean optional) {}

    /** What a class says about null as the value of a field. */
    enum Nulls {
        REFUSED,
        /** Java does not say it, so null is passed on. */
        UNDECLARED,
        ACCEPTED
    }

    /** Returns the shape of a class; empty if no constructor with parameters is chosen, or their names are unknown. */
    static Optional<ClassShape> of(Class<?> type) {
        boolean isInner = type.isMemberClass() && !Modifier.isStatic(type.getModifiers());
        if (isInner || Modifier.isAbstract(type.getModifiers())) {
            return Optional.empty();
        }
        boolean isKotlin = type.isAnnotationPresent(Metadata.class);
        return constructor(type, isKotlin).flatMap(constructor -> read(constructor, isKotlin));
    }

    /**
     * Builds a value.
     *
     * @param values in the order of the fields
     * @param given which of them are given; the others have their default
     */
    Object build(Object[] values, boolean[] given) throws ReflectiveOperationException {
        boolean isComplete = true;
        for (boolean each : given) {
            isComplete &= each;
        }
        if (isComplete) {
            return constructor.newInstance(values);
        }
        // Only Kotlin has defaults.
        KFunction<?> function = ReflectJvmMapping.getKotlinFunction(constructor);
        KCallablesJvm.setAccessible(function, true);
        Map<KParameter, Object> arguments = new HashMap<>();
        for (int i = 0; i < values.length; i++) {
            if (given[i]) {
                arguments.put(function.getParameters().get(i), values[i]);
            }
        }
        return function.callBy(arguments);
    }

    private static Optional<Constructor<?>> constructor(Class<?> type, boolean isKotlin) {
        List<Constructor<?>> all = Arrays.stream(type.getDeclaredConstructors())
                .filter(constructor -> !constructor.isSynthetic())
                .toList();
        List<Constructor<?>> annotated = all.stream()
                .filter(constructor -> constructor.isAnnotationPresent(ConstructorForDeserialization.class))
                .toList();
        if (annotated.size() == 1) {
            return Optional.of(annotated.getFirst());
        }
        Constructor<?> primary = isKotlin ? primary(type) : null;
        if (primary != null) {
            return Optional.of(primary);
        }
        List<Constructor<?>> withParameters = all.stream()
                .filter(constructor -> constructor.getParameterCount() > 0)
                .toList();
        return withParameters.size() == 1 ? Optional.of(withParameters.getFirst()) : Optional.empty();
    }

    /** Returns Kotlin's primary constructor, or null. */
    private static Constructor<?> primary(Class<?> type) {
        try {
            KFunction<?> primary = KClasses.getPrimaryConstructor(JvmClassMappingKt.getKotlinClass(type));
            return primary == null ? null : ReflectJvmMapping.getJavaConstructor(primary);
        } catch (UnsupportedOperationException | KotlinReflectionInternalError e) {
            // Kotlin's reflection does not know every kind of class that its compiler makes.
            return null;
        }
    }

    private static Optional<ClassShape> read(Constructor<?> constructor, boolean isKotlin) {
        KFunction<?> function = isKotlin ? ReflectJvmMapping.getKotlinFunction(constructor) : null;
        Parameter[] parameters = constructor.getParameters();
        Type[] types = constructor.getGenericParameterTypes();
        if (parameters.length == 0 || types.length != parameters.length) {
            return Optional.empty();
        }
        List<Field> fields = new ArrayList<>();
        for (int i = 0; i < parameters.length; i++) {
            Field field = function == null
                    ? ofJava(parameters[i], types[i])
                    : ofKotlin(function.getParameters().get(i), types[i]);
            if (field == null) {
                return Optional.empty();
            }
            fields.add(field);
        }
        constructor.setAccessible(true);
        return Optional.of(new ClassShape(constructor, fields));
    }

    /** Returns the field of a parameter, or null if its name is unknown. */
    private static Field ofJava(Parameter parameter, Type type) {
        Nulls nulls = parameter.getType().isPrimitive()
                ? Nulls.REFUSED
                : FlowDefinition.isAnnotatedNullable(parameter) ? Nulls.ACCEPTED : Nulls.UNDECLARED;
        return parameter.isNamePresent() ? new Field(parameter.getName(), type, nulls, false) : null;
    }

    private static Field ofKotlin(KParameter parameter, Type type) {
        Nulls nulls = parameter.getType().isMarkedNullable() ? Nulls.ACCEPTED : Nulls.REFUSED;
        return parameter.getName() == null ? null : new Field(parameter.getName(), type, nulls, parameter.isOptional());
    }
}
