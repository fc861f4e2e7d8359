package org.cordalab.bridge.flow;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** One way to start a flow: the parameters of one constructor, in order. */
public record FlowConstructor(List<FlowParameter> parameters) {

    public FlowConstructor {
        parameters = List.copyOf(parameters);
    }

    Set<String> names() {
        return parameters.stream().map(FlowParameter::name).collect(Collectors.toUnmodifiableSet());
    }

    /** Returns the parameters as in a signature: {@code (iouValue: int, otherParty: Party)}. */
    @Override
    public String toString() {
        return parameters.stream()
                .map(parameter -> parameter.name() + ": " + parameter.typeName())
                .collect(Collectors.joining(", ", "(", ")"));
    }
}
