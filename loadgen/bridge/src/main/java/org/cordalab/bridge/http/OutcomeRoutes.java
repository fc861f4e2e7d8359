package org.cordalab.bridge.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.cordalab.bridge.BridgedNode;
import org.cordalab.bridge.BridgedNodes;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.node.NodeProfile;
import org.cordalab.bridge.node.NodeSession;
import org.cordalab.bridge.node.NodeUnavailableException;
import org.cordalab.bridge.node.StartedFlow;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.cordalab.bridge.run.FlowOutcome;
import org.cordalab.bridge.run.FlowRun;
import org.cordalab.bridge.run.NodeFlows;
import org.cordalab.bridge.run.ResultSummary;

/** Reports what became of flows, and forgets it. */
final class OutcomeRoutes {

    /** Longest time to wait for the node to return the outcome of an ended flow. Running flows are not awaited. */
    private static final Duration REATTACH_LIMIT = Duration.ofSeconds(2);
    /** Shorter than the time for which clients usually wait for an answer. */
    private static final Duration FORGET_LIMIT = Duration.ofSeconds(20);

    private static final String RUNNING = "running";
    private static final String COMPLETED = "completed";

    private final BridgedNodes nodes;
    private final Duration retention;

    OutcomeRoutes(BridgedNodes nodes, Duration retention) {
        this.nodes = nodes;
        this.retention = retention;
    }

    /** {@code GET /v1/nodes/{node}/flows/{clientId}}: the outcome of an earlier start. */
    void find(Exchange exchange) throws InterruptedException {
        BridgedNode node = nodes.get(exchange.path("node"));
        String clientId = FlowRequest.checkedClientId(exchange.path("clientId"));
        Optional<FlowRun> run = node.flows().find(clientId);
        ObjectNode json = run.isPresent()
                ? known(exchange, node, run.get())
                : fromNode(exchange, node, clientId, REATTACH_LIMIT, OutcomeRoutes::noRoom);
        if (isRunning(json)) {
            exchange.send(202, json);
        } else {
            exchange.sendResult(json);
        }
    }

    private ObjectNode known(Exchange exchange, BridgedNode node, FlowRun run) {
        Optional<FlowOutcome> outcome = run.outcome();
        return outcome.isPresent()
                ? completed(exchange, node, run, outcome.get(), OutcomeRoutes::noRoom)
                : running(run.clientId(), run.flowId());
    }

    private static Problem noRoom() {
        return MemoryBudget.overloaded("Nothing was changed. Ask again.");
    }

    /** {@code DELETE /v1/nodes/{node}/flows?clientIdPrefix=…}: forgets the ended flows of a run. */
    void forget(Exchange exchange) throws InterruptedException {
        BridgedNode node = nodes.get(exchange.path("node"));
        String prefix = FlowRequest.checkedClientIdPrefix(exchange.query("clientIdPrefix"));
        try {
            NodeFlows.Forgotten forgotten = node.calls().call(() -> node.flows().forget(prefix, FORGET_LIMIT));
            exchange.send(
                    200,
                    Json.object()
                            .put("node", node.name())
                            .put("clientIdPrefix", prefix)
                            .put("removed", forgotten.removed())
                            .put("running", forgotten.running())
                            .put("remaining", forgotten.remaining()));
        } catch (NodeUnavailableException e) {
            throw NodeRoutes.unavailable(node);
        }
    }

    /**
     * Asks the node about a start whose outcome this bridge no longer has, or never had. Returns the answer for a
     * completed flow, or for a running flow if it has not ended within the limit.
     *
     * @param noRoom the problem if there is no memory for the result
     * @throws Problem flow-failed, not-found if nothing was started, outcome-unknown, node-unavailable
     */
    ObjectNode fromNode(Exchange exchange, BridgedNode node, String clientId, Duration limit, Supplier<Problem> noRoom)
            throws InterruptedException {
        NodeSession session = node.gateway().session().orElseThrow(() -> NodeRoutes.unavailable(node));
        StartedFlow flow;
        try {
            flow = node.calls()
                    .call(() -> session.reattach(clientId))
                    .orElseThrow(() -> notOnNode(node, session, clientId));
        } catch (NodeUnavailableException e) {
            throw NodeRoutes.unavailable(node);
        }
        try {
            Object value = flow.result().get(Math.max(0, limit.toMillis()), TimeUnit.MILLISECONDS);
            ResultSummary result = ResultSummary.of(value, bytes -> exchange.reserveResult(bytes, noRoom));
            exchange.reserveResult(result.bytes(), noRoom);
            return returned(flow.flowId(), clientId, result);
        } catch (TimeoutException e) {
            // Else each question would leave a subscription, here and at the node, until the flow ends.
            flow.result().cancel(true);
            return running(clientId, Optional.of(flow.flowId()));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof NodeUnavailableException) {
                throw NodeRoutes.unavailable(node);
            }
            throw failed(FlowOutcome.Failed.of(e.getCause(), true), clientId).flowId(flow.flowId());
        }
    }

    /**
     * Returns the answer of a completed run, or throws the problem of another outcome.
     *
     * @param noRoom the problem if there is no memory for the result
     */
    ObjectNode completed(
            Exchange exchange, BridgedNode node, FlowRun run, FlowOutcome outcome, Supplier<Problem> noRoom) {
        return switch (outcome) {
            case FlowOutcome.Completed completed -> {
                exchange.reserveResult(completed.result().bytes(), noRoom);
                ObjectNode json = returned(run.flowId().orElse(null), run.clientId(), completed.result());
                json.set("timings", timings(exchange, run, completed.flowNanos()));
                if (!keepsClientIds(node)) {
                    json.put("clientIdSupported", false);
                }
                yield json;
            }
            case FlowOutcome.Failed failed -> {
                Problem problem =
                        failed(failed, run.clientId()).flowId(run.flowId().orElse(null));
                // A start that the node refused has no flow to time.
                Optional<Duration> flowTime = failed.accepted() ? run.flowTime() : Optional.empty();
                flowTime.ifPresent(time -> problem.timings(timings(exchange, run, time.toNanos())));
                throw problem;
            }
            case FlowOutcome.NeverStarted neverStarted ->
                throw new Problem(
                                ProblemType.NODE_UNAVAILABLE,
                                "The connection broke before the node received the flow. Nothing was started.")
                        .clientId(run.clientId());
            case FlowOutcome.NoConnection noConnection ->
                throw new Problem(ProblemType.NO_RPC_CONNECTION, noConnection.why() + " Nothing was started.")
                        .clientId(run.clientId());
            case FlowOutcome.Lost lost ->
                throw (keepsClientIds(node)
                                ? unknown(lost.why(), node, run.clientId())
                                : new Problem(ProblemType.OUTCOME_UNKNOWN, lost.why()).clientId(run.clientId()))
                        .flowId(run.flowId().orElse(null));
        };
    }

    /** Returns the problem of a start whose outcome is not known yet, with what the caller can do. */
    Problem unknown(String why, BridgedNode node, String clientId) {
        String remedy = keepsClientIds(node)
                ? ("Ask again with the client id, or repeat the start with the same client id: the flow runs at most once."
                                + " The outcome is kept for %d s after the flow has ended.")
                        .formatted(retention.toSeconds())
                : "Ask again with the client id. Do not repeat the start: %s keeps no client ids (Corda before 4.6), so only this process of the bridge knows it."
                        .formatted(node.name());
        return new Problem(ProblemType.OUTCOME_UNKNOWN, why + " " + remedy).clientId(clientId);
    }

    private Problem notOnNode(BridgedNode node, NodeSession session, String clientId) {
        if (!session.supportsClientIds()) {
            return new Problem(
                            ProblemType.OUTCOME_UNKNOWN,
                            "The bridge does not know the client id %s, and %s keeps none (Corda before 4.6)."
                                    .formatted(clientId, node.name()))
                    .clientId(clientId);
        }
        if (node.flows().isOnNodeOnly(clientId)) {
            return new Problem(
                            ProblemType.OUTCOME_UNKNOWN,
                            "The flow of the client id %s was started, but %s no longer knows it."
                                    .formatted(clientId, node.name()))
                    .clientId(clientId);
        }
        return new Problem(
                        ProblemType.NOT_FOUND,
                        "Neither the bridge nor %s knows a flow with the client id %s."
                                .formatted(node.name(), clientId))
                .clientId(clientId);
    }

    private static ObjectNode returned(String flowId, String clientId, ResultSummary result) {
        ObjectNode json =
                Json.object().put("status", COMPLETED).put("flowId", flowId).put("clientId", clientId);
        json.set("result", result.value());
        result.transactionId().ifPresent(id -> json.put("txId", id));
        return json;
    }

    private static ObjectNode timings(Exchange exchange, FlowRun run, long flowNanos) {
        Double rpcMs = run.rpcTime().map(OutcomeRoutes::inMillis).orElse(null);
        ObjectNode json = Json.object()
                .put("startedAt", unixSeconds(run.startedAt()))
                .put("rpcMs", rpcMs)
                .put("flowMs", millis(flowNanos));
        // A repeated start and a later question have times of their own, which say nothing about the flow.
        if (!run.startedAt().isBefore(exchange.arrivedAt())) {
            json.put("receivedAt", unixSeconds(exchange.arrivedAt())).put("totalMs", millis(exchange.ageNanos()));
        }
        return json;
    }

    /** Returns a time in seconds since 1970, to the microsecond. */
    private static BigDecimal unixSeconds(Instant time) {
        return BigDecimal.valueOf(ChronoUnit.MICROS.between(Instant.EPOCH, time), 6);
    }

    private static ObjectNode running(String clientId, Optional<String> flowId) {
        ObjectNode json = Json.object().put("status", RUNNING).put("clientId", clientId);
        flowId.ifPresent(id -> json.put("flowId", id));
        return json;
    }

    /** Returns whether an answer is that for a running flow. */
    static boolean isRunning(ObjectNode answer) {
        return answer.path("status").textValue().equals(RUNNING);
    }

    private static Problem failed(FlowOutcome.Failed failed, String clientId) {
        return new Problem(ProblemType.FLOW_FAILED, failed.message())
                .exception(failed.exception())
                .clientId(clientId)
                .flowStatus("failed");
    }

    private static boolean keepsClientIds(BridgedNode node) {
        return node.gateway().profile().map(NodeProfile::supportsClientIds).orElse(true);
    }

    private static double inMillis(Duration time) {
        return millis(time.toNanos());
    }

    /** Converts to milliseconds, rounded to microseconds. */
    private static double millis(long nanos) {
        return Math.round(nanos / 1e3) / 1e3;
    }
}
