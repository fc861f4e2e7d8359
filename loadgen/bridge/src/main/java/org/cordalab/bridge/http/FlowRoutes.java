package org.cordalab.bridge.http;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import io.opentelemetry.context.Scope;
import java.time.Duration;
import java.util.Iterator;
import java.util.Optional;
import org.cordalab.bridge.BridgedNode;
import org.cordalab.bridge.BridgedNodes;
import org.cordalab.bridge.config.BridgeConfig;
import org.cordalab.bridge.flow.FieldDescription;
import org.cordalab.bridge.flow.FlowCall;
import org.cordalab.bridge.flow.FlowCatalog;
import org.cordalab.bridge.flow.FlowConstructor;
import org.cordalab.bridge.flow.FlowDefinition;
import org.cordalab.bridge.flow.FlowParameter;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.metrics.BridgeMetrics;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.run.FlowOutcome;
import org.cordalab.bridge.run.FlowRun;
import org.cordalab.bridge.run.ResultSummary;
import org.cordalab.bridge.traces.TraceContext;

/** Lists, checks and starts flows. */
final class FlowRoutes {

    /** Label of requests for unknown nodes. Their names come from the caller and must not become labels. */
    private static final String UNKNOWN_NODE = "unknown";

    private static final HeaderName TRACE_PARENT = HeaderNames.create(TraceContext.HEADER);

    private static final String NO_ROOM =
            "The flow has completed, but the bodies and answers of other requests take all"
                    + " the memory that the bridge has for its result.";

    private final BridgedNodes nodes;
    private final BridgeConfig config;
    private final BridgeMetrics metrics;
    private final OutcomeRoutes outcomes;

    FlowRoutes(BridgedNodes nodes, BridgeConfig config, BridgeMetrics metrics, OutcomeRoutes outcomes) {
        this.nodes = nodes;
        this.config = config;
        this.metrics = metrics;
        this.outcomes = outcomes;
    }

    /** {@code POST /v1/nodes/{node}/flows}: starts a flow, or with {@code ?check=true} only checks the start. */
    void post(Exchange exchange) throws InterruptedException {
        if (exchange.flag("check")) {
            check(exchange);
            return;
        }
        Scope trace = TraceContext.of(exchange.header(TRACE_PARENT)).makeCurrent();
        try {
            start(exchange);
        } finally {
            trace.close();
        }
    }

    /**
     * Reads the request like a start. Answers with the flow that would start, or with the problem that the start would
     * have.
     */
    private void check(Exchange exchange) throws InterruptedException {
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
        Optional<FlowRun> run;
        FlowRequest request;
        try {
            node = nodes.get(exchange.path("node"));
            label = node.name();
            request = FlowRequest.of(exchange.json(config.maxBodyBytes()));
            FlowCall call = call(node, request);
            run = startOrFind(exchange, node, call, request.clientId());
            // A repeated start shares the run of the first, which needs only the arguments of that one.
            run.filter(each -> each.needs(call)).ifPresent(each -> exchange.keepUntil(each.ended()));
        } catch (Problem problem) {
            metrics.rejected(label, problem.type().slug());
            throw problem;
        }
        if (run.isPresent()) {
            answer(exchange, node, run.get());
        } else {
            answerFromNode(exchange, node, request.clientId().orElseThrow());
        }
    }

    /** Returns the run of a start, or empty if the flow of its client id has ended and only the node can answer. */
    private Optional<FlowRun> startOrFind(
            Exchange exchange, BridgedNode node, FlowCall call, Optional<String> clientId) {
        if (clientId.filter(node.flows()::isOnNodeOnly).isPresent()) {
            node.flows().check(call, clientId);
            return Optional.empty();
        }
        return Optional.of(node.flows().start(call, clientId, remaining(exchange)));
    }

    private void answer(Exchange exchange, BridgedNode node, FlowRun run) throws InterruptedException {
        FlowOutcome outcome = run.await(remaining(exchange)).orElseThrow(() -> unknown(outOfTime(), node, run));
        exchange.sendResult(outcomes.completed(exchange, node, run, outcome, () -> unknown(NO_ROOM, node, run)));
    }

    private Problem unknown(String why, BridgedNode node, FlowRun run) {
        return outcomes.unknown(why, node, run.clientId()).flowId(run.flowId().orElse(null));
    }

    private void answerFromNode(Exchange exchange, BridgedNode node, String clientId) throws InterruptedException {
        ObjectNode json = outcomes.fromNode(
                exchange, node, clientId, remaining(exchange), () -> outcomes.unknown(NO_ROOM, node, clientId));
        if (OutcomeRoutes.isRunning(json)) {
            throw outcomes.unknown(outOfTime(), node, clientId);
        }
        if (!node.flows().canCompare(clientId)) {
            json.put("argumentsCompared", false);
        }
        exchange.sendResult(json);
    }

    private Duration remaining(Exchange exchange) {
        return config.flowTimeout().minusNanos(exchange.ageNanos());
    }

    private String outOfTime() {
        return "The flow has not ended within %d s."
                .formatted(config.flowTimeout().toSeconds());
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
                            .forEach(constructor -> describe(node, constructor, constructors.addArray())));
        }
        exchange.send(200, json);
    }

    private static void describe(BridgedNode node, FlowConstructor constructor, ArrayNode json) {
        constructor.parameters().forEach(parameter -> describe(node.arguments().describe(parameter), json.addObject()));
    }

    /** Writes a parameter or a field. What does not apply is left out. */
    private static void describe(FieldDescription field, ObjectNode json) {
        json.put("name", field.name()).put("type", field.type());
        if (field.optional()) {
            json.put("optional", true);
        }
        if (field.isAbstract()) {
            json.put("abstract", true);
        }
        if (!field.values().isEmpty()) {
            ArrayNode values = json.putArray("values");
            field.values().forEach(values::add);
        }
        if (!field.fields().isEmpty()) {
            ArrayNode fields = json.putArray("fields");
            field.fields().forEach(each -> describe(each, fields.addObject()));
        }
    }
}
