package org.cordalab.bridge.flow;

import java.lang.reflect.Constructor;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import kotlin.reflect.KFunction;
import kotlin.reflect.jvm.ReflectJvmMapping;
import net.corda.client.jackson.StringToMethodCallParser;
import net.corda.client.jackson.StringToMethodCallParser.UnparseableCallException;
import net.corda.core.flows.FlowLogic;

/**
 * A flow class and the ways to start it.
 *
 * @param shortName the flow's name for people and in metrics: the class name without its package, or with it if two
 *     flows of the node would otherwise have the same name
 */
public record FlowDefinition(
        Class<? extends FlowLogic<?>> flowClass, String shortName, List<FlowConstructor> constructors) {

    /** Used only to read parameter names, so its target type does not matter. */
    private static final StringToMethodCallParser<ParserTarget> NAMES =
            new StringToMethodCallParser<>(ParserTarget.class);

    public FlowDefinition {
        constructors = List.copyOf(constructors);
    }

    /** Reads the constructors of a flow class. Omits those whose parameter names are not in the class file. */
    static FlowDefinition of(Class<? extends FlowLogic<?>> flowClass, String shortName) {
        List<FlowConstructor> constructors = Arrays.stream(flowClass.getConstructors())
                .filter(constructor -> !constructor.isSynthetic())
                .flatMap(constructor -> read(constructor).stream())
                .sorted(Comparator.comparingInt(
                                (FlowConstructor c) -> c.parameters().size())
                        .thenComparing(FlowConstructor::toString))
                .toList();
        return new FlowDefinition(flowClass, shortName, constructors);
    }

    /** Returns every way to start the flow, for an error message. */
    String signatures() {
        return constructors.stream().map(constructor -> shortName + constructor).collect(Collectors.joining(" or "));
    }

    private static Optional<FlowConstructor> read(Constructor<?> constructor) {
        List<String> names;
        try {
            names = names(constructor);
        } catch (UnparseableCallException e) {
            return Optional.empty();
        }
        KFunction<?> function = ReflectJvmMapping.getKotlinFunction(constructor);
        List<FlowParameter> parameters = new ArrayList<>();
        for (int i = 0; i < names.size(); i++) {
            boolean nullable = function != null
                            && function.getParameters().get(i).getType().isMarkedNullable()
                    || isAnnotatedNullable(constructor.getParameters()[i]);
            parameters.add(new FlowParameter(names.get(i), constructor.getGenericParameterTypes()[i], nullable));
        }
        return Optional.of(new FlowConstructor(parameters));
    }

    /** Declares the exception, which the Kotlin method throws but does not declare. */
    private static List<String> names(Constructor<?> constructor) throws UnparseableCallException {
        return NAMES.paramNamesFromConstructor(constructor);
    }

    /** Accepts any annotation with the name {@code Nullable}, because Java has no standard one. */
    static boolean isAnnotatedNullable(Parameter parameter) {
        return Arrays.stream(parameter.getAnnotations())
                .anyMatch(annotation ->
                        annotation.annotationType().getSimpleName().equals("Nullable"));
    }

    private static final class ParserTarget {}
}
