package org.cordalab.bridge.http;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.Iterator;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.cordalab.bridge.BridgedNode;
import org.cordalab.bridge.BridgedNodes;
import org.cordalab.bridge.config.BridgeConfig;
import org.cordalab.bridge.flow.FlowCall;
import org.cordalab.bridge.flow.FlowCatalog;
import org.cordalab.bridge.flow.FlowConstructor;
import org.cordalab.bridge.flow.FlowDefinition;
import org.cordalab.bridge.flow.FlowParameter;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.metrics.BridgeMetrics;
import org.cordalab.bridge.node.NodeProfile;
import org.cordalab.bridge.node.NodeUnavailableException;
import org.cordalab.bridge.node.StartedFlow;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.cordalab.bridge.run.FlowOutcome;
import org.cordalab.bridge.run.FlowRun;
import org.cordalab.bridge.run.ResultSummary;

/** Starts flows and reports their outcomes. */
final class FlowRoutes {

    /** Label of requests for unknown nodes. Their names come from the caller and must not become labels. */
    private static final String UNKNOWN_NODE = "unknown";

    /** Longest time to wait for the node to return the outcome of an ended flow. Running flows are not awaited. */
    private static final Duration REATTACH_LIMIT = Duration.ofSeconds(2);

    private final BridgedNodes nodes;
    private final BridgeConfig config;
    private final BridgeMetrics metrics;

    FlowRoutes(BridgedNodes nodes, BridgeConfig config, BridgeMetrics metrics) {
        this.nodes = nodes;
        this.config = config;
        this.metrics = metrics;
    }

    /** {@code POST /v1/nodes/{node}/flows}: starts a flow, or with {@code ?check=true} only checks the start. */
    void post(Exchange exchange) throws InterruptedException {
        if (exchange.flag("check")) {
            check(exchange);
        } else {
            start(exchange);
        }
    }

    /**
     * Reads the request like a start. Answers with the flow that would start, or with the problem that the start would
     * have.
     */
    private void check(Exchange exchange) {
        BridgedNode node = nodes.get(exchange.path("node"));
        FlowRequest request = FlowRequest.of(exchange.json(config.maxBodyBytes()));
        FlowCall call = call(node, request);
        node.flows().check(call, request.clientId());
        exchange.send(200, described(node, call));
    }

    /** Starts a flow and answers when it has ended. */
    private void start(Exchange exchange) throws InterruptedException {
        String label = UNKNOWN_NODE;
        BridgedNode node;
        FlowRun run;
        try {
            node = nodes.get(exchange.path("node"));
            label = node.name();
            FlowRequest request = FlowRequest.of(exchange.json(config.maxBodyBytes()));
            run = node.flows().start(call(node, request), request.clientId());
        } catch (Problem problem) {
            metrics.rejected(label, problem.type().slug());
            throw problem;
        }
        Duration remaining = config.flowTimeout().minusNanos(exchange.ageNanos());
        FlowOutcome outcome = run.await(remaining).orElseThrow(() -> outOfTime(run));
        exchange.send(200, completed(exchange, node, run, outcome));
    }

    /** Returns the flow and the converted arguments of a request. */
    private static FlowCall call(BridgedNode node, FlowRequest request) {
        FlowDefinition flow = NodeRoutes.profile(node).flows().find(request.flow());
        return node.arguments().parse(flow, request.arguments());
    }

    private static ObjectNode described(BridgedNode node, FlowCall call) {
        ObjectNode json = Json.object()
                .put("node", node.name())
                .put("flow", call.flowClass().getName())
                .put("shortName", call.shortName());
        ArrayNode arguments = json.putArray("arguments");
        Iterator<Object> values = call.arguments().iterator();
        for (FlowParameter parameter : call.constructor().parameters()) {
            arguments
                    .addObject()
                    .put("name", parameter.name())
                    .put("type", parameter.typeName())
                    .set("value", ResultSummary.of(values.next()).value());
        }
        return json;
    }

    /** {@code GET /v1/nodes/{node}/flows/{clientId}}: the outcome of an earlier start. */
    void outcome(Exchange exchange) throws InterruptedException {
        BridgedNode node = nodes.get(exchange.path("node"));
        String clientId = FlowRequest.checkedClientId(exchange.path("clientId"));
        Optional<FlowRun> run = node.flows().find(clientId);
        if (run.isEmpty()) {
            outcomeFromNode(exchange, node, clientId);
        } else if (run.get().outcome().isEmpty()) {
            exchange.send(202, running(clientId, run.get().flowId()));
        } else {
            exchange.send(
                    200,
                    completed(exchange, node, run.get(), run.get().outcome().get()));
        }
    }

    /** {@code GET /v1/nodes/{node}/flows}: every startable flow and its parameters. */
    void list(Exchange exchange) {
        BridgedNode node = nodes.get(exchange.path("node"));
        FlowCatalog catalog = NodeRoutes.profile(node).flows();
        ObjectNode json = Json.object().put("node", node.name());
        ArrayNode flows = json.putArray("flows");
        for (String className : catalog.classNames()) {
            ObjectNode flow = flows.addObject().put("flow", className).put("shortName", catalog.shortName(className));
            ArrayNode constructors = flow.putArray("parameters");
            catalog.loadable(className)
                    .ifPresent(definition -> definition
                            .constructors()
                            .forEach(constructor -> describe(constructor, constructors.addArray())));
        }
        exchange.send(200, json);
    }

    private static void describe(FlowConstructor constructor, ArrayNode json) {
        constructor
                .parameters()
                .forEach(parameter ->
                        json.addObject().put("name", parameter.name()).put("type", parameter.typeName()));
    }

    private static ObjectNode completed(Exchange exchange, BridgedNode node, FlowRun run, FlowOutcome outcome) {
        return switch (outcome) {
            case FlowOutcome.Completed completed -> {
                ObjectNode json = answer(run.flowId().orElse(null), run.clientId(), completed.result());
                json.putObject("timings")
                        .put(
                                "rpcMs",
                                run.rpcTime()
                                        .map(time -> millis(time.toNanos()))
                                        .orElse(null))
                        .put("flowMs", millis(completed.flowNanos()))
                        .put("totalMs", millis(exchange.ageNanos()));
                if (!node.gateway()
                        .profile()
                        .map(NodeProfile::supportsClientIds)
                        .orElse(true)) {
                    json.put("clientIdSupported", false);
                }
                yield json;
            }
            case FlowOutcome.Failed failed ->
                throw failed(failed.exception(), failed.message(), run.clientId())
                        .flowId(run.flowId().orElse(null));
            case FlowOutcome.NeverStarted neverStarted ->
                throw new Problem(
                                ProblemType.NODE_UNAVAILABLE,
                                "The connection broke before the node received the flow. Nothing was started.")
                        .clientId(run.clientId());
            case FlowOutcome.Lost lost -> throw unknown(lost.why(), run);
        };
    }

    /** Asks the node about a start that this bridge has forgotten or never knew. */
    private static void outcomeFromNode(Exchange exchange, BridgedNode node, String clientId)
            throws InterruptedException {
        var session = node.gateway().session().orElseThrow(() -> NodeRoutes.unavailable(node));
        if (!session.supportsClientIds()) {
            throw noSuchClientId(node, clientId);
        }
        StartedFlow flow;
        try {
            flow = session.reattach(clientId).orElseThrow(() -> noSuchClientId(node, clientId));
        } catch (NodeUnavailableException e) {
            throw NodeRoutes.unavailable(node);
        }
        try {
            Object value = flow.result().get(REATTACH_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
            exchange.send(200, answer(flow.flowId(), clientId, ResultSummary.of(value)));
        } catch (TimeoutException e) {
            exchange.send(202, running(clientId, Optional.of(flow.flowId())));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof NodeUnavailableException) {
                throw NodeRoutes.unavailable(node);
            }
            throw failed(
                            e.getCause().getClass().getName(),
                            String.valueOf(e.getCause().getMessage()),
                            clientId)
                    .flowId(flow.flowId());
        }
    }

    private static ObjectNode answer(String flowId, String clientId, ResultSummary result) {
        ObjectNode json = Json.object().put("flowId", flowId).put("clientId", clientId);
        json.set("result", result.value());
        result.transactionId().ifPresent(id -> json.put("txId", id));
        return json;
    }

    private static ObjectNode running(String clientId, Optional<String> flowId) {
        ObjectNode json = Json.object().put("status", "running").put("clientId", clientId);
        flowId.ifPresent(id -> json.put("flowId", id));
        return json;
    }

    private static Problem failed(String exception, String message, String clientId) {
        return new Problem(ProblemType.FLOW_FAILED, message)
                .exception(exception)
                .clientId(clientId);
    }

    private Problem outOfTime(FlowRun run) {
        return unknown(
                "The flow has not ended within %d s."
                        .formatted(config.flowTimeout().toSeconds()),
                run);
    }

    private static Problem unknown(String why, FlowRun run) {
        return new Problem(
                        ProblemType.OUTCOME_UNKNOWN,
                        why + " Ask again with the client id, or repeat the start with the same client id.")
                .clientId(run.clientId())
                .flowId(run.flowId().orElse(null));
    }

    private static Problem noSuchClientId(BridgedNode node, String clientId) {
        return new Problem(
                        ProblemType.NOT_FOUND,
                        "Neither the bridge nor %s knows a flow with the client id %s."
                                .formatted(node.name(), clientId))
                .clientId(clientId);
    }

    /** Converts to milliseconds, rounded to microseconds. */
    private static double millis(long nanos) {
        return Math.round(nanos / 1e3) / 1e3;
    }
}
