package org.cordalab.bridge.flow;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import net.corda.core.flows.FlowLogic;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/**
 * The flows of one node that RPC users may start.
 *
 * <p>A flow is found by its class name, or by the end of its class name ({@code Iou}, {@code ExampleFlow$Initiator},
 * {@code Initiator}) if only one flow matches. A nested class may be written with a dot, as in source code.
 */
public final class FlowCatalog {

    private static final int MAX_NAMES_IN_MESSAGE = 40;

    private final TreeSet<String> classNames;
    private final ClassLoader classLoader;
    /** Class names by their name without the package. */
    private final Map<String, List<String>> byShortName = new HashMap<>();
    /** Class names by each of their other short forms. */
    private final Map<String, List<String>> byShortForm = new HashMap<>();

    private final Map<String, FlowDefinition> definitions = new ConcurrentHashMap<>();

    /**
     * @param classNames the flows that the node registers for RPC
     * @param classLoader the class loader of the CorDapps, from which constructors are read
     */
    public FlowCatalog(Collection<String> classNames, ClassLoader classLoader) {
        this.classNames = new TreeSet<>(classNames);
        this.classLoader = classLoader;
        for (String className : this.classNames) {
            byShortName
                    .computeIfAbsent(withoutPackage(className), key -> new ArrayList<>())
                    .add(className);
            for (String form : shortForms(className)) {
                byShortForm.computeIfAbsent(form, key -> new ArrayList<>()).add(className);
            }
        }
    }

    /** Returns the class names of all flows, sorted. */
    public Collection<String> classNames() {
        return Collections.unmodifiableSortedSet(classNames);
    }

    /** Returns the flow's name in metrics and lists. */
    public String shortName(String className) {
        String withoutPackage = withoutPackage(className);
        return byShortName.get(withoutPackage).size() == 1 ? withoutPackage : className;
    }

    /**
     * Finds a flow by class name or short name.
     *
     * @throws Problem unknown-flow if no flow or more than one matches, or if the class is not on the bridge's class
     *     path
     */
    public FlowDefinition find(String name) {
        if (classNames.contains(name)) {
            return definition(name);
        }
        List<String> matches = byShortName.getOrDefault(name, byShortForm.getOrDefault(name, List.of()));
        if (matches.size() == 1) {
            return definition(matches.getFirst());
        }
        throw matches.isEmpty() ? unknown(name) : ambiguous(name, matches);
    }

    /** Finds a flow by a class name from {@link #classNames()}; returns empty if the bridge lacks the class. */
    public Optional<FlowDefinition> loadable(String className) {
        try {
            return Optional.of(definition(className));
        } catch (Problem e) {
            return Optional.empty();
        }
    }

    private FlowDefinition definition(String className) {
        FlowDefinition known = definitions.get(className);
        return known != null ? known : definitions.computeIfAbsent(className, this::load);
    }

    private FlowDefinition load(String className) {
        try {
            @SuppressWarnings("unchecked")
            var flowClass = (Class<? extends FlowLogic<?>>)
                    Class.forName(className, false, classLoader).asSubclass(FlowLogic.class);
            return FlowDefinition.of(flowClass, shortName(className));
        } catch (ClassNotFoundException | LinkageError | ClassCastException e) {
            throw new Problem(
                            ProblemType.UNKNOWN_FLOW,
                            ("The node has the flow %s, but the bridge cannot load its class (%s). Its CorDapp jar must be"
                                            + " among those that the bridge was started with.")
                                    .formatted(className, e))
                    .field("flow");
        }
    }

    private Problem unknown(String name) {
        String known = classNames.stream()
                .limit(MAX_NAMES_IN_MESSAGE)
                .map(this::shortName)
                .collect(Collectors.joining(", "));
        return new Problem(
                        ProblemType.UNKNOWN_FLOW,
                        "The node has no startable flow \"%s\". Its startable flows are: %s.".formatted(name, known))
                .field("flow");
    }

    private static Problem ambiguous(String name, List<String> matches) {
        return new Problem(
                        ProblemType.UNKNOWN_FLOW,
                        "\"%s\" matches several flows: %s. Give the class name."
                                .formatted(name, String.join(", ", matches)))
                .field("flow");
    }

    /**
     * Returns the names besides the class name and the one without the package. {@code lab_workload.flows} in Python has
     * the same rule.
     */
    private static Collection<String> shortForms(String className) {
        TreeSet<String> forms = new TreeSet<>();
        forms.add(className.replace('$', '.'));
        String end = withoutPackage(className);
        forms.add(end.replace('$', '.'));
        while (end.indexOf('$') >= 0) {
            end = end.substring(end.indexOf('$') + 1);
            forms.add(end);
            forms.add(end.replace('$', '.'));
        }
        return forms;
    }

    private static String withoutPackage(String className) {
        return className.substring(className.lastIndexOf('.') + 1);
    }
}
