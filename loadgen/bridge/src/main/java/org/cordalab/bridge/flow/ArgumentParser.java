package org.cordalab.bridge.flow;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/** Converts named JSON arguments to the constructor arguments of a flow. */
public final class ArgumentParser {

    private static final int MAX_VALUE_CHARS = 120;

    private final ArgumentTypes types;
    private final ExpectedValue expected;
    private final Map<FlowParameter, FieldDescription> described = new ConcurrentHashMap<>();

    /**
     * @param types created by {@link ArgumentMapper}
     */
    public ArgumentParser(ArgumentTypes types) {
        this.types = types;
        this.expected = new ExpectedValue(types);
    }

    /** Describes a parameter and the fields of its values. */
    public FieldDescription describe(FlowParameter parameter) {
        return described.computeIfAbsent(parameter, types::describe);
    }

    /**
     * Selects the constructor with exactly the given parameter names, and converts each value to its parameter's type.
     *
     * @throws Problem unknown-argument, missing-argument or invalid-argument, with the field and the expected value;
     *     node-unavailable if the node does not answer which states the arguments name
     */
    public FlowCall parse(FlowDefinition flow, ObjectNode arguments) {
        Set<String> given = new HashSet<>();
        arguments.fieldNames().forEachRemaining(given::add);
        List<FlowConstructor> matching = flow.constructors().stream()
                .filter(constructor -> constructor.names().equals(given))
                .toList();
        if (matching.isEmpty()) {
            throw noConstructor(flow, given);
        }
        StateLookup states = types.states().forOneRequest();
        Problem first = null;
        // Overloads may have the same names and other types. The first one that accepts the values is used.
        for (FlowConstructor constructor : matching) {
            try {
                return FlowCall.of(flow, constructor, values(constructor, arguments, states), arguments);
            } catch (Problem e) {
                if (e.type() != ProblemType.INVALID_ARGUMENT) {
                    throw e;
                }
                first = first == null ? e : first;
            }
        }
        throw first;
    }

    private Object[] values(FlowConstructor constructor, ObjectNode arguments, StateLookup states) {
        return constructor.parameters().stream()
                .map(parameter -> value(parameter, arguments.get(parameter.name()), states))
                .toArray();
    }

    private Object value(FlowParameter parameter, JsonNode json, StateLookup states) {
        JavaType type = types.of(parameter.type());
        if (json.isNull()) {
            if (type.hasRawClass(Optional.class)) {
                return Optional.empty();
            }
            if (parameter.nullable()) {
                return null;
            }
            throw invalid(parameter, json, "", "");
        }
        try {
            Object value = types.mapper()
                    .readerFor(type)
                    .withAttribute(StateLookup.class, states)
                    .readValue(json.traverse(types.mapper()));
            if (value == null) {
                throw invalid(parameter, json, "", "");
            }
            return value;
        } catch (RefusedValueException e) {
            throw refused(parameter, json, e);
        } catch (UnrecognizedPropertyException e) {
            throw invalid(
                    parameter,
                    path(e),
                    "is not a field of " + e.getReferringClass().getSimpleName());
        } catch (MismatchedInputException e) {
            throw mismatched(parameter, json, e);
        } catch (JsonMappingException e) {
            if (e.getCause() instanceof Problem problem) {
                throw problem;
            }
            throw invalid(parameter, json, path(e), e.getOriginalMessage());
        } catch (JsonProcessingException e) {
            throw invalid(parameter, json, "", e.getOriginalMessage());
        } catch (IOException | IllegalArgumentException | IllegalStateException | ArithmeticException e) {
            // Corda's types validate themselves, with exceptions of their own.
            throw invalid(parameter, json, "", String.valueOf(e.getMessage()));
        }
    }

    /** Says of a field what is wrong with it, or what was expected. */
    private Problem refused(FlowParameter parameter, JsonNode json, RefusedValueException e) {
        String reason = e.getOriginalMessage();
        return e.expected().isEmpty()
                ? invalid(parameter, path(e), reason)
                : invalid(parameter, path(e), mustBe(expected.of(e.expected().get()), at(json, e), reason));
    }

    private Problem mismatched(FlowParameter parameter, JsonNode json, MismatchedInputException e) {
        String path = path(e);
        if (path.isEmpty()) {
            // The expected value is explanation enough; Jackson's message is about Jackson.
            return invalid(parameter, json, path, "");
        }
        Optional<String> simple = ExpectedValue.ofSimple(target(e));
        return simple.isPresent()
                ? invalid(parameter, path, mustBe(simple.get(), at(json, e), ""))
                : invalid(parameter, json, path, e.getOriginalMessage());
    }

    /** Returns the class of the value that an exception is about; null if Jackson does not say. */
    private static Class<?> target(MismatchedInputException e) {
        Class<?> target = e.getTargetType();
        Object within = e.getPath().getLast().getFrom();
        // Of an element of an array of primitives, Jackson names the array.
        return target != null && target.isArray() && target.isInstance(within) ? target.getComponentType() : target;
    }

    /** Says of the whole argument what was expected. */
    private Problem invalid(FlowParameter parameter, JsonNode json, String path, String reason) {
        String detail = "args." + parameter.name() + " " + mustBe(expected.of(parameter), json, reason);
        return new Problem(ProblemType.INVALID_ARGUMENT, detail).field("args." + parameter.name() + path);
    }

    private static Problem invalid(FlowParameter parameter, String path, String sentence) {
        String field = "args." + parameter.name() + path;
        return new Problem(ProblemType.INVALID_ARGUMENT, field + " " + sentence).field(field);
    }

    private static String mustBe(String expected, JsonNode json, String reason) {
        String because =
                reason.isBlank() ? "" : " (" + reason.lines().findFirst().orElse("") + ")";
        return "must be %s, but is %s%s".formatted(expected, abbreviated(json), because);
    }

    /** Returns the part of a value to which the path of an exception leads. */
    private static JsonNode at(JsonNode json, JsonMappingException e) {
        JsonNode part = json;
        for (JsonMappingException.Reference reference : e.getPath()) {
            part = reference.getFieldName() != null
                    ? part.path(reference.getFieldName())
                    : part.path(reference.getIndex());
        }
        return part.isMissingNode() ? json : part;
    }

    /** Returns the path of the invalid part of a nested value, such as {@code [2].name}, or an empty string. */
    private static String path(JsonMappingException e) {
        StringBuilder path = new StringBuilder();
        for (JsonMappingException.Reference reference : e.getPath()) {
            if (reference.getFieldName() != null) {
                path.append('.').append(reference.getFieldName());
            } else if (reference.getIndex() >= 0) {
                path.append('[').append(reference.getIndex()).append(']');
            }
        }
        return path.toString();
    }

    private static String abbreviated(JsonNode json) {
        String text = json.toString();
        return text.length() <= MAX_VALUE_CHARS ? text : text.substring(0, MAX_VALUE_CHARS) + "…";
    }

    private static Problem noConstructor(FlowDefinition flow, Set<String> given) {
        if (flow.constructors().isEmpty()) {
            return new Problem(
                            ProblemType.UNKNOWN_FLOW,
                            "%s has no public constructor with known parameter names. Compile the CorDapp with -parameters."
                                    .formatted(flow.flowClass().getName()))
                    .field("flow");
        }
        Optional<String> missing = flow.constructors().stream()
                .filter(constructor -> constructor.names().containsAll(given))
                .min(Comparator.comparingInt(
                        constructor -> constructor.parameters().size()))
                .map(constructor -> firstNotIn(constructor, given));
        if (missing.isPresent()) {
            return new Problem(
                            ProblemType.MISSING_ARGUMENT,
                            "args.%s is missing: %s".formatted(missing.get(), flow.signatures()))
                    .field("args." + missing.get());
        }
        String unknown = firstUnknown(flow, given);
        return new Problem(
                        ProblemType.UNKNOWN_ARGUMENT,
                        "args.%s is not an argument, or cannot be combined with the others: %s"
                                .formatted(unknown, flow.signatures()))
                .field("args." + unknown);
    }

    private static String firstNotIn(FlowConstructor constructor, Set<String> given) {
        return constructor.parameters().stream()
                .map(FlowParameter::name)
                .filter(name -> !given.contains(name))
                .findFirst()
                .orElseThrow();
    }

    /** Returns the alphabetically first name that the closest constructor does not have. */
    private static String firstUnknown(FlowDefinition flow, Set<String> given) {
        FlowConstructor nearest = flow.constructors().stream()
                .max(Comparator.comparingLong(constructor ->
                        given.stream().filter(constructor.names()::contains).count()))
                .orElseThrow();
        return given.stream()
                .filter(name -> !nearest.names().contains(name))
                .sorted()
                .findFirst()
                .orElseThrow();
    }
}
