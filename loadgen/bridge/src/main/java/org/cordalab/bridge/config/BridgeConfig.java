package org.cordalab.bridge.config;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The configuration of the bridge, read from {@code BRIDGE_…} environment variables.
 *
 * @param nodes empty if there is a stub plan
 * @param stubPlan file of the plan of stub nodes, which replace the nodes
 * @param rpcUser empty if there is a stub plan, like the password
 * @param metricsPort a second port, which has only the metrics and needs no token; empty if there is none
 * @param allowedHosts hosts to which requests may be addressed, in addition to the loopback hosts; in lower case
 * @param rpcConnections number of RPC connections to each node that requests share
 * @param rpcLeftOpenMax maximum number of RPC connections that are opened for a flow start each and left open, to all
 *     nodes together; empty if flow starts share connections
 * @param maxOutstandingFlows maximum number of outstanding flows per node; by default 64 per core of this machine
 * @param maxBodyBytes largest request body that is read into memory
 * @param maxAttachmentBytes largest attachment that can be uploaded; Corda's RPC client holds several copies of it in
 *     memory
 * @param flowTimeout longest time that a request waits for its flow; the flow itself continues
 * @param outcomeRetention how long the outcome of an ended flow is kept for callers that may ask for it
 * @param address address of this machine to listen on: that of the loopback interface, unless Compose publishes the port
 * @param token bearer token that every request needs, except health checks; empty if none
 * @param limits what clients may take
 */
public record BridgeConfig(
        List<NodeAddress> nodes,
        Optional<Path> stubPlan,
        String rpcUser,
        String rpcPassword,
        int rpcConnections,
        OptionalInt rpcLeftOpenMax,
        int port,
        OptionalInt metricsPort,
        Set<String> allowedHosts,
        int maxOutstandingFlows,
        int maxBodyBytes,
        int maxAttachmentBytes,
        Duration flowTimeout,
        Duration outcomeRetention,
        InetAddress address,
        Optional<String> token,
        HttpLimits limits) {

    private static final int MAX_NODES = 64;
    /** The throughput of a node, and with it the time that this many flows take, goes with its cores. */
    private static final int OUTSTANDING_PER_CORE = 64;

    private static final int MAX_OUTSTANDING = 100_000;
    /** A host name, an IPv4 address, or an IPv6 address in brackets. */
    private static final Pattern HOST = Pattern.compile("[a-z0-9._-]+|\\[[0-9a-f:.]+]");

    /** Characters of a bearer token (RFC 6750). */
    private static final Pattern TOKEN = Pattern.compile("[A-Za-z0-9._~+/=-]{16,256}");

    private static final Pattern LOOPBACK = Pattern.compile("localhost|127(\\.[0-9]{1,3}){3}|\\[?::1]?");

    public BridgeConfig {
        nodes = List.copyOf(nodes);
        allowedHosts = Set.copyOf(allowedHosts);
    }

    /**
     * Reads and checks the whole environment.
     *
     * @throws ConfigException naming every invalid variable, not only the first
     */
    public static BridgeConfig fromEnvironment(Map<String, String> environment) {
        return new Reader(environment).read();
    }

    private static int standardOutstanding() {
        return Math.min(
                MAX_OUTSTANDING, OUTSTANDING_PER_CORE * Runtime.getRuntime().availableProcessors());
    }

    /** Omits the password and the token. */
    @Override
    public String toString() {
        return ("BridgeConfig[nodes=%s, stubPlan=%s, rpcUser=%s, rpcConnections=%d, rpcLeftOpenMax=%s, port=%d, metricsPort=%s, allowedHosts=%s, maxOutstandingFlows=%d,"
                        + " maxBodyBytes=%d, maxAttachmentBytes=%d, flowTimeout=%s, outcomeRetention=%s, address=%s, limits=%s]")
                .formatted(
                        nodes,
                        stubPlan,
                        rpcUser,
                        rpcConnections,
                        rpcLeftOpenMax,
                        port,
                        metricsPort,
                        allowedHosts,
                        maxOutstandingFlows,
                        maxBodyBytes,
                        maxAttachmentBytes,
                        flowTimeout,
                        outcomeRetention,
                        address,
                        limits);
    }

    private static final class Reader {
        private final Map<String, String> environment;
        private final List<String> mistakes = new ArrayList<>();

        Reader(Map<String, String> environment) {
            this.environment = environment;
        }

        BridgeConfig read() {
            Optional<Path> stubPlan = stubPlan();
            int maxAttachmentBytes = number("BRIDGE_MAX_ATTACHMENT_BYTES", 32 * 1_048_576, 1024, 200 * 1_048_576);
            int maxOutstanding = number("BRIDGE_MAX_OUTSTANDING_FLOWS", standardOutstanding(), 1, MAX_OUTSTANDING);
            Optional<String> token = token();
            var config = new BridgeConfig(
                    stubPlan.isPresent() ? List.of() : nodes("BRIDGE_NODES"),
                    stubPlan,
                    stubPlan.isPresent() ? "" : required("BRIDGE_RPC_USER"),
                    stubPlan.isPresent() ? "" : secret("BRIDGE_RPC_PASSWORD"),
                    number("BRIDGE_RPC_CONNECTIONS", 1, 1, 16),
                    rpcLeftOpenMax(),
                    number("BRIDGE_PORT", 8080, 0, 65_535),
                    value("BRIDGE_METRICS_PORT").isEmpty()
                            ? OptionalInt.empty()
                            : OptionalInt.of(number("BRIDGE_METRICS_PORT", 0, 0, 65_535)),
                    hosts("BRIDGE_ALLOWED_HOSTS"),
                    maxOutstanding,
                    number("BRIDGE_MAX_BODY_BYTES", 1_048_576, 1024, 16 * 1_048_576),
                    maxAttachmentBytes,
                    Duration.ofSeconds(number("BRIDGE_FLOW_TIMEOUT_SECONDS", 300, 1, 86_400)),
                    Duration.ofSeconds(number("BRIDGE_OUTCOME_RETENTION_SECONDS", 3600, 1, 604_800)),
                    address(token),
                    token,
                    limits(maxOutstanding, maxAttachmentBytes));
            if (!mistakes.isEmpty()) {
                throw new ConfigException(mistakes);
            }
            return config;
        }

        private Optional<Path> stubPlan() {
            Optional<Path> plan = Optional.of(value("BRIDGE_STUB"))
                    .filter(file -> !file.isEmpty())
                    .map(Path::of);
            if (plan.isPresent() && !value("BRIDGE_NODES").isEmpty()) {
                mistakes.add("BRIDGE_NODES and BRIDGE_STUB are both set, but stub nodes replace the nodes; unset one");
            }
            return plan;
        }

        private Optional<String> token() {
            String token = value("BRIDGE_TOKEN");
            if (!token.isEmpty() && !TOKEN.matcher(token).matches()) {
                mistakes.add("BRIDGE_TOKEN must have 16 to 256 letters, digits and the characters . _ ~ + / = -");
            }
            return Optional.of(token).filter(text -> !text.isEmpty());
        }

        /**
         * Returns the address to listen on. In a container, the port is published at an address of the host, which must
         * be that of the loopback interface unless there is a token.
         */
        private InetAddress address(Optional<String> token) {
            String published = value("BRIDGE_PUBLISHED_ADDRESS");
            if (published.isEmpty()) {
                return InetAddress.getLoopbackAddress();
            }
            if (!LOOPBACK.matcher(published).matches() && token.isEmpty()) {
                mistakes.add(("BRIDGE_PUBLISHED_ADDRESS is %s, which other machines may reach, but there is no token."
                                + " Set BRIDGE_TOKEN, or BRIDGE_ADDRESS to 127.0.0.1")
                        .formatted(published));
            }
            return new InetSocketAddress(0).getAddress();
        }

        private HttpLimits limits(int maxOutstanding, int maxAttachmentBytes) {
            var standard = HttpLimits.of(Runtime.getRuntime().maxMemory(), maxOutstanding, maxAttachmentBytes);
            return new HttpLimits(
                    number("BRIDGE_MAX_CONNECTIONS", standard.maxConnections(), 1, 100_000),
                    number(
                            "BRIDGE_REQUEST_BUDGET_BYTES",
                            (int) Math.min(Integer.MAX_VALUE, standard.requestBudgetBytes()),
                            1_048_576,
                            Integer.MAX_VALUE),
                    number(
                            "BRIDGE_OUTCOME_BUDGET_BYTES",
                            (int) Math.min(Integer.MAX_VALUE, standard.outcomeBudgetBytes()),
                            1_048_576,
                            Integer.MAX_VALUE),
                    Duration.ofSeconds(number("BRIDGE_HEAD_TIMEOUT_SECONDS", seconds(standard.headTimeout()), 1, 3600)),
                    Duration.ofSeconds(number("BRIDGE_BODY_TIMEOUT_SECONDS", seconds(standard.bodyTimeout()), 1, 3600)),
                    Duration.ofSeconds(
                            number("BRIDGE_ANSWER_TIMEOUT_SECONDS", seconds(standard.answerTimeout()), 1, 3600)),
                    Duration.ofSeconds(number("BRIDGE_IDLE_TIMEOUT_SECONDS", seconds(standard.idleTimeout()), 1, 3600)),
                    Duration.ofSeconds(number("BRIDGE_RPC_TIMEOUT_SECONDS", seconds(standard.rpcTimeout()), 1, 3600)));
        }

        private static int seconds(Duration duration) {
            return (int) duration.toSeconds();
        }

        private OptionalInt rpcLeftOpenMax() {
            int max = number("BRIDGE_RPC_LEFT_OPEN_MAX", 1000, 1, 10_000);
            return switch (value("BRIDGE_RPC")) {
                case "", "shared" -> OptionalInt.empty();
                case "left-open" -> OptionalInt.of(max);
                default -> {
                    mistakes.add(
                            "BRIDGE_RPC must be shared or left-open, but is \"%s\"".formatted(value("BRIDGE_RPC")));
                    yield OptionalInt.empty();
                }
            };
        }

        private String value(String variable) {
            return environment.getOrDefault(variable, "").strip();
        }

        private String required(String variable) {
            String value = value(variable);
            if (value.isEmpty()) {
                mistakes.add(variable + " is not set");
            }
            return value;
        }

        /** Reads a variable, or the file that the variable of that name with {@code _FILE} names. */
        private String secret(String variable) {
            String file = value(variable + "_FILE");
            if (file.isEmpty()) {
                return required(variable);
            }
            try {
                String content = Files.readString(Path.of(file)).strip();
                if (!content.isEmpty()) {
                    return content;
                }
                mistakes.add("%s_FILE: %s is empty".formatted(variable, file));
            } catch (IOException | InvalidPathException e) {
                mistakes.add("%s_FILE: %s cannot be read (%s)"
                        .formatted(variable, file, e.getClass().getSimpleName()));
            }
            return "";
        }

        private int number(String variable, int standard, int least, int most) {
            String value = value(variable);
            if (value.isEmpty()) {
                return standard;
            }
            try {
                int number = Integer.parseInt(value);
                if (number >= least && number <= most) {
                    return number;
                }
            } catch (NumberFormatException e) {
                // Falls through to the same message, which gives the valid range.
            }
            mistakes.add(
                    "%s must be a whole number from %d to %d, but is \"%s\"".formatted(variable, least, most, value));
            return standard;
        }

        private Set<String> hosts(String variable) {
            Set<String> hosts = new HashSet<>();
            for (String entry : environment.getOrDefault(variable, "").split(",")) {
                String host = entry.strip().toLowerCase(Locale.ROOT);
                if (HOST.matcher(host).matches()) {
                    hosts.add(host);
                } else if (!host.isEmpty()) {
                    mistakes.add("%s: \"%s\" must be a host name without scheme and port"
                            .formatted(variable, entry.strip()));
                }
            }
            return hosts;
        }

        private List<NodeAddress> nodes(String variable) {
            String value = value(variable);
            List<NodeAddress> nodes = new ArrayList<>();
            Set<String> seen = new HashSet<>();
            if (value.isEmpty()) {
                mistakes.add("neither BRIDGE_NODES nor BRIDGE_STUB is set");
                return nodes;
            }
            for (String entry : value.split(",", -1)) {
                NodeAddress node = node(variable, entry.strip());
                if (node == null) {
                    continue;
                }
                if (!seen.add(node.name().toLowerCase(Locale.ROOT))) {
                    mistakes.add("%s names the node \"%s\" twice".formatted(variable, node.name()));
                }
                nodes.add(node);
            }
            if (nodes.size() > MAX_NODES) {
                mistakes.add("%s names %d nodes, more than %d".formatted(variable, nodes.size(), MAX_NODES));
            }
            return nodes;
        }

        /** Reads {@code NAME=HOST:PORT}. The name is percent-encoded, because an organisation may have any character. */
        private NodeAddress node(String variable, String entry) {
            int equals = entry.indexOf('=');
            int colon = entry.lastIndexOf(':');
            if (equals > 0 && colon > equals + 1) {
                String host = entry.substring(equals + 1, colon).strip();
                try {
                    String name = URLDecoder.decode(entry.substring(0, equals).strip(), StandardCharsets.UTF_8);
                    int port = Integer.parseInt(entry.substring(colon + 1).strip());
                    if (port > 0 && port <= 65_535 && !name.isBlank() && !host.isEmpty()) {
                        return new NodeAddress(name, host, port);
                    }
                } catch (IllegalArgumentException e) {
                    // Falls through to the same message, which gives a valid example.
                }
            }
            mistakes.add("%s: \"%s\" must have the form PartyA=partya:10003".formatted(variable, entry));
            return null;
        }
    }
}
