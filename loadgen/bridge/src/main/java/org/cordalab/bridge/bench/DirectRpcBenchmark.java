package org.cordalab.bridge.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.cordalab.bridge.bench.ClosedLoop.Completion;
import org.cordalab.bridge.config.BridgeConfig;
import org.cordalab.bridge.config.ConfigException;
import org.cordalab.bridge.config.NodeAddress;
import org.cordalab.bridge.flow.ArgumentMapper;
import org.cordalab.bridge.flow.ArgumentParser;
import org.cordalab.bridge.flow.FlowCall;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.node.NodeConnection;
import org.cordalab.bridge.node.NodeGateway;
import org.cordalab.bridge.node.NodeSession;
import org.cordalab.bridge.node.RpcConnector;
import org.cordalab.bridge.node.StartedFlow;
import org.cordalab.bridge.problem.Problem;

/**
 * Starts flows over RPC with nothing in between, as the reference for the bridge and the load generator.
 *
 * <p>It uses the bridge's RPC client and configuration (the same {@code BRIDGE_…} variables), but no HTTP and no client
 * ids unless asked for, like a plain Corda client. It prints one line of JSON.
 */
public final class DirectRpcBenchmark {

    private static final int EXIT_BAD_INPUT = 2;

    private DirectRpcBenchmark() {}

    public static void main(String[] commandLine) throws InterruptedException {
        try {
            JsonNode report = run(BenchmarkOptions.of(commandLine), BridgeConfig.fromEnvironment(System.getenv()));
            System.out.println(new String(Json.write(report), StandardCharsets.UTF_8));
        } catch (ConfigException | Problem e) {
            fail(e.getMessage());
        } catch (IllegalArgumentException e) {
            fail(e.getMessage() + "\n" + BenchmarkOptions.USAGE);
        }
    }

    private static void fail(String message) {
        System.err.println("bench: " + message);
        System.exit(EXIT_BAD_INPUT);
    }

    private static JsonNode run(BenchmarkOptions options, BridgeConfig config) throws InterruptedException {
        NodeAddress address = config.nodes().stream()
                .filter(node -> node.name().equalsIgnoreCase(options.node()))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("BRIDGE_NODES has no node " + options.node()));
        var connector = new RpcConnector(config.rpcUser(), config.rpcPassword(), config.rpcConnections());
        try (NodeGateway gateway = new NodeConnection(address, connector).start()) {
            NodeSession session = gateway.awaitSession().orElseThrow();
            FlowCall call = call(gateway, options);
            String prefix = "bench-" + UUID.randomUUID() + "-";
            var loop = new ClosedLoop(starts(options, session, call, prefix), options.inFlight());
            JsonNode report = options.count().isPresent()
                    ? reportCount(options, call, loop)
                    : reportDuration(options, call, loop);
            session.endedClientIds().stream()
                    .filter(id -> id.startsWith(prefix))
                    .forEach(session::removeClientId);
            return report;
        }
    }

    private static Supplier<StartedFlow> starts(
            BenchmarkOptions options, NodeSession session, FlowCall call, String prefix) {
        var count = new AtomicLong();
        return options.clientIds()
                ? () -> session.start(prefix + count.incrementAndGet(), call)
                : () -> session.startWithoutClientId(call);
    }

    private static JsonNode reportDuration(BenchmarkOptions options, FlowCall call, ClosedLoop loop)
            throws InterruptedException {
        Instant windowBegin = Instant.now().plus(options.warmUp());
        var result = loop.run(until(options.warmUp().plus(options.duration())));
        return report(
                options,
                call,
                result,
                windowBegin,
                options.warmUp().toNanos(),
                options.duration().toNanos());
    }

    private static JsonNode reportCount(BenchmarkOptions options, FlowCall call, ClosedLoop loop)
            throws InterruptedException {
        if (options.warmUp().isPositive()) {
            loop.run(until(options.warmUp()));
        }
        Instant windowBegin = Instant.now();
        long beganAt = System.nanoTime();
        var result = loop.run(times(options.count().orElseThrow()));
        return report(options, call, result, windowBegin, 0, System.nanoTime() - beganAt);
    }

    private static FlowCall call(NodeGateway gateway, BenchmarkOptions options) {
        JsonNode arguments = Json.read(options.arguments().getBytes(StandardCharsets.UTF_8));
        if (!(arguments instanceof ObjectNode byName)) {
            throw new IllegalArgumentException("--args must be a JSON object of arguments by name");
        }
        var flow = gateway.profile().orElseThrow().flows().find(options.flow());
        return new ArgumentParser(ArgumentMapper.create(gateway.parties())).parse(flow, byName);
    }

    private static BooleanSupplier until(Duration duration) {
        long end = System.nanoTime() + duration.toNanos();
        return () -> System.nanoTime() - end < 0;
    }

    private static BooleanSupplier times(int count) {
        var left = new AtomicInteger(count);
        return () -> left.getAndDecrement() > 0;
    }

    /**
     * Reports the rate and the latencies of the flows that ended inside the window.
     *
     * <p>With a duration, load runs through warm-up and window without a break, as in a Locust run. A window that began
     * with nothing in flight would understate the rate by the latency of the first flows.
     *
     * @param windowBegin the window's begin, in the time of day
     * @param windowBeginNanos time from the beginning of the load to that of the window
     */
    private static JsonNode report(
            BenchmarkOptions options,
            FlowCall call,
            ClosedLoop.Result result,
            Instant windowBegin,
            long windowBeginNanos,
            long windowNanos) {
        List<Completion> inWindow = result.completions().stream()
                .filter(completion -> completion.endedAfterNanos() > windowBeginNanos
                        && completion.endedAfterNanos() <= windowBeginNanos + windowNanos)
                .toList();
        double seconds = windowNanos / 1e9;
        ObjectNode json = Json.object()
                .put("node", options.node())
                .put("flow", call.flowClass().getName())
                .put("in_flight", options.inFlight())
                .put("window_started_at", windowBegin.toEpochMilli() / 1000.0)
                .put("window_seconds", rounded(seconds))
                .put("started", result.started())
                .put("completed", result.completions().size())
                .put("failed", result.failed())
                .put("first_error", result.firstError())
                .put("flows_per_second", rounded(inWindow.size() / seconds));
        long[] nanos =
                inWindow.stream().mapToLong(Completion::latencyNanos).sorted().toArray();
        json.putObject("latency_ms")
                .put("mean", rounded(Arrays.stream(nanos).average().orElse(0) / 1e6))
                .put("p50", percentile(nanos, 0.50))
                .put("p95", percentile(nanos, 0.95))
                .put("p99", percentile(nanos, 0.99))
                .put("max", percentile(nanos, 1));
        return json;
    }

    /**
     * Returns the smallest latency, in milliseconds, that at least this share of flows did not exceed (nearest rank); 0
     * without flows.
     */
    private static double percentile(long[] sortedNanos, double share) {
        if (sortedNanos.length == 0) {
            return 0;
        }
        int rank = (int) Math.ceil(share * sortedNanos.length);
        return rounded(sortedNanos[Math.max(0, rank - 1)] / 1e6);
    }

    private static double rounded(double value) {
        return Math.round(value * 1000) / 1000.0;
    }
}
