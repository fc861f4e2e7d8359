package org.cordalab.bridge.bench;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The options of the benchmark.
 *
 * @param clientIds whether each start has a client id, as the bridge's starts have
 * @param warmUp time under the same load before the measurement
 * @param duration length of the measurement, unless a count is given
 * @param count number of flows to measure, instead of a duration
 */
record BenchmarkOptions(
        String node,
        String flow,
        String arguments,
        int inFlight,
        boolean clientIds,
        Duration warmUp,
        Duration duration,
        Optional<Integer> count) {

    static final String USAGE = """
            Usage: bench --node PartyA --flow Iou --args '{"iouValue": 1, "otherParty": "PartyB"}' [options]
              --in-flight N   flows in flight at all times (1)
              --client-ids W  yes: each start has a client id, as the bridge's have; no: none has (no)
              --warm-up S     seconds of the same load that are not measured (0)
              --duration S    seconds that are measured (60)
              --count N       measure N flows instead of a time
            """;

    private static final Set<String> NAMES =
            Set.of("--node", "--flow", "--args", "--in-flight", "--client-ids", "--warm-up", "--duration", "--count");

    /**
     * Reads the command line.
     *
     * @throws IllegalArgumentException with a message for the user
     */
    static BenchmarkOptions of(String[] commandLine) {
        Map<String, String> values = new HashMap<>();
        for (int i = 0; i < commandLine.length; i += 2) {
            if (!NAMES.contains(commandLine[i])) {
                throw new IllegalArgumentException("Unknown option " + commandLine[i]);
            }
            if (i + 1 == commandLine.length) {
                throw new IllegalArgumentException(commandLine[i] + " needs a value");
            }
            values.put(commandLine[i], commandLine[i + 1]);
        }
        return new BenchmarkOptions(
                required(values, "--node"),
                required(values, "--flow"),
                values.getOrDefault("--args", "{}"),
                number(values, "--in-flight", 1, 1),
                yes(values, "--client-ids"),
                Duration.ofSeconds(number(values, "--warm-up", 0, 0)),
                Duration.ofSeconds(number(values, "--duration", 60, 1)),
                values.containsKey("--count") ? Optional.of(number(values, "--count", 0, 1)) : Optional.empty());
    }

    private static String required(Map<String, String> values, String name) {
        String value = values.get(name);
        if (value == null) {
            throw new IllegalArgumentException(name + " is missing");
        }
        return value;
    }

    private static boolean yes(Map<String, String> values, String name) {
        String value = values.getOrDefault(name, "no");
        if (!value.equals("yes") && !value.equals("no")) {
            throw new IllegalArgumentException("%s must be yes or no, but is \"%s\"".formatted(name, value));
        }
        return value.equals("yes");
    }

    private static int number(Map<String, String> values, String name, int standard, int least) {
        String value = values.get(name);
        if (value == null) {
            return standard;
        }
        try {
            int number = Integer.parseInt(value);
            if (number >= least) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Falls through to the same message.
        }
        throw new IllegalArgumentException(
                "%s must be a whole number of at least %d, but is \"%s\"".formatted(name, least, value));
    }
}
