package org.cordalab.bridge.stub;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import net.corda.core.contracts.ContractState;
import net.corda.core.flows.FlowLogic;
import net.corda.core.identity.CordaX500Name;
import org.cordalab.bridge.config.ConfigException;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.problem.Problem;

/**
 * What the stub nodes do: the truth that a measurement of them must find.
 *
 * <p>A JSON object. Flows are numbered from 0 in the order in which they start, over all nodes.
 *
 * <pre>
 * {"nodes": {"PartyA": "O=PartyA,L=London,C=GB", "PartyB": "O=PartyB,L=New York,C=US"},
 *  "delaysMs": [12.5, 400],       flow i takes delaysMs[i]; a flow beyond the list fails at once
 *  "stalls": [{"atSeconds": 10, "seconds": 2, "drainSeconds": 1}],   from the first start; optional
 *  "failures": [1],               these flows end with an exception; optional
 *  "longResults": [0],            these flows return a list of about 10 MiB; optional
 *  "serveAtOnce": 4,              flows that are served at once, the others wait in order; optional, no limit
 *  "flow": "org.cordalab.flows.Iou", "stateType": "org.cordalab.states.IouState"}   optional, these
 * </pre>
 *
 * @param delayNanos in the order of the starts
 * @param stalls in order of time; no flow ends in any of them
 * @param serveAtOnce empty if all flows are served at once
 */
record StubPlan(
        List<Node> nodes,
        Class<? extends FlowLogic<?>> flow,
        Class<? extends ContractState> stateType,
        long[] delayNanos,
        BitSet failures,
        BitSet longResults,
        List<Stall> stalls,
        Optional<Integer> serveAtOnce) {

    private static final int MAX_FLOWS = 1_000_000;
    private static final double MAX_SECONDS = 86_400;
    private static final Set<String> FIELDS =
            Set.of("nodes", "delaysMs", "stalls", "failures", "longResults", "serveAtOnce", "flow", "stateType");

    /** A node by its name in the API. */
    record Node(String name, CordaX500Name x500Name) {}

    /**
     * A time in which no flow ends, relative to the first start.
     *
     * @param drain after the stall; the flows that it held end within it, in order, as from a backlog. Zero: all at once
     */
    record Stall(Duration at, Duration length, Duration drain) {}

    /**
     * Reads a plan.
     *
     * @throws ConfigException naming the file and every mistake in it
     */
    static StubPlan read(Path file, ClassLoader cordapps) {
        JsonNode json;
        try {
            json = Json.read(Files.readAllBytes(file));
        } catch (IOException e) {
            throw new ConfigException(List.of("BRIDGE_STUB: cannot read %s (%s)".formatted(file, e)));
        } catch (Problem e) {
            throw new ConfigException(List.of("BRIDGE_STUB: %s: %s".formatted(file, e.getMessage())));
        }
        return new Reader(file, json, cordapps).read();
    }

    private static final class Reader {
        private final Path file;
        private final JsonNode plan;
        private final ClassLoader cordapps;
        private final List<String> mistakes = new ArrayList<>();

        Reader(Path file, JsonNode plan, ClassLoader cordapps) {
            this.file = file;
            this.plan = plan;
            this.cordapps = cordapps;
        }

        StubPlan read() {
            plan.fieldNames()
                    .forEachRemaining(field -> require(FIELDS.contains(field), field, "is not a field of a plan"));
            long[] delays = delays();
            var read = new StubPlan(
                    nodes(),
                    loaded("flow", "org.cordalab.flows.Iou", FlowLogic.class),
                    loaded("stateType", "org.cordalab.states.IouState", ContractState.class),
                    delays,
                    numbers("failures", delays.length),
                    numbers("longResults", delays.length),
                    stalls(),
                    serveAtOnce());
            if (!mistakes.isEmpty()) {
                throw new ConfigException(mistakes);
            }
            return read;
        }

        private boolean require(boolean holds, String field, String otherwise) {
            if (!holds) {
                mistakes.add("BRIDGE_STUB: %s: %s %s".formatted(file, field, otherwise));
            }
            return holds;
        }

        private List<Node> nodes() {
            List<Node> nodes = new ArrayList<>();
            plan.path("nodes").fields().forEachRemaining(node -> {
                try {
                    nodes.add(new Node(
                            node.getKey(), CordaX500Name.parse(node.getValue().asText())));
                } catch (IllegalArgumentException e) {
                    require(false, "nodes." + node.getKey(), "must be an X.500 name: " + e.getMessage());
                }
            });
            require(
                    plan.path("nodes").size() >= 2,
                    "nodes",
                    "must be an object with two or more nodes, as in {\"PartyA\": \"O=PartyA,L=London,C=GB\", …}");
            long names = nodes.stream().map(Node::x500Name).distinct().count();
            require(names == nodes.size(), "nodes", "must have different X.500 names");
            return nodes;
        }

        private <T> Class<T> loaded(String field, String standard, Class<? super T> kind) {
            String name = plan.path(field).asText(standard);
            try {
                @SuppressWarnings("unchecked")
                var type = (Class<T>) Class.forName(name, false, cordapps).asSubclass(kind);
                return type;
            } catch (ClassNotFoundException | LinkageError | ClassCastException e) {
                require(false, field, "%s is not a %s on the class path".formatted(name, kind.getSimpleName()));
                return null;
            }
        }

        private long[] delays() {
            JsonNode list = plan.path("delaysMs");
            if (!require(
                    list.isArray() && !list.isEmpty() && list.size() <= MAX_FLOWS,
                    "delaysMs",
                    "must be a list of 1 to %d numbers".formatted(MAX_FLOWS))) {
                return new long[0];
            }
            long[] delays = new long[list.size()];
            for (int i = 0; i < delays.length; i++) {
                double ms = list.get(i).isNumber() ? list.get(i).doubleValue() : -1;
                if (!require(
                        ms >= 0 && ms <= 1000 * MAX_SECONDS,
                        "delaysMs[%d]".formatted(i),
                        "must be a number from 0 on")) {
                    return delays;
                }
                delays[i] = Math.round(ms * 1e6);
            }
            return delays;
        }

        private BitSet numbers(String field, int flows) {
            var numbers = new BitSet(flows);
            for (JsonNode each : plan.path(field)) {
                if (require(
                        each.isInt() && each.intValue() >= 0 && each.intValue() < flows,
                        field,
                        "must have numbers of flows, from 0 to %d, but has %s".formatted(flows - 1, each))) {
                    numbers.set(each.intValue());
                }
            }
            return numbers;
        }

        private List<Stall> stalls() {
            List<Stall> stalls = new ArrayList<>();
            for (JsonNode each : plan.path("stalls")) {
                double at = each.path("atSeconds").asDouble(-1);
                double seconds = each.path("seconds").asDouble(-1);
                double drain = each.path("drainSeconds").asDouble(each.has("drainSeconds") ? -1 : 0);
                if (require(
                        isTime(at)
                                && isTime(seconds)
                                && seconds > 0
                                && isTime(drain)
                                && each.size() == (each.has("drainSeconds") ? 3 : 2),
                        "stalls",
                        "must have elements such as {\"atSeconds\": 10, \"seconds\": 2, \"drainSeconds\": 1}, but has "
                                + each)) {
                    stalls.add(new Stall(nanos(at), nanos(seconds), nanos(drain)));
                }
            }
            stalls.sort(Comparator.comparing(Stall::at));
            return stalls;
        }

        private static boolean isTime(double seconds) {
            return seconds >= 0 && seconds <= MAX_SECONDS;
        }

        private Optional<Integer> serveAtOnce() {
            JsonNode servers = plan.path("serveAtOnce");
            if (servers.isMissingNode()) {
                return Optional.empty();
            }
            require(servers.isInt() && servers.intValue() > 0, "serveAtOnce", "must be a whole number from 1 on");
            return Optional.of(Math.max(1, servers.asInt()));
        }

        private static Duration nanos(double seconds) {
            return Duration.ofNanos(Math.round(seconds * 1e9));
        }
    }
}
