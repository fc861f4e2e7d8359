package org.cordalab.bridge;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/** The configured nodes by name. Names are case-insensitive. */
public final class BridgedNodes {

    private final Map<String, BridgedNode> byName = new LinkedHashMap<>();

    public BridgedNodes(List<BridgedNode> nodes) {
        nodes.forEach(node -> byName.put(key(node.name()), node));
    }

    /** Returns all nodes in the order of the configuration. */
    public Collection<BridgedNode> all() {
        return byName.values();
    }

    /**
     * Finds a node by name.
     *
     * @throws Problem unknown-node
     */
    public BridgedNode get(String name) {
        BridgedNode node = byName.get(key(name));
        if (node == null) {
            String names = byName.values().stream().map(BridgedNode::name).collect(Collectors.joining(", "));
            throw new Problem(
                            ProblemType.UNKNOWN_NODE, "Unknown node \"%s\". The nodes are: %s.".formatted(name, names))
                    .field("node");
        }
        return node;
    }

    private static String key(String name) {
        return name.toLowerCase(Locale.ROOT);
    }
}
