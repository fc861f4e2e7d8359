package org.cordalab.bridge.http;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import net.corda.core.contracts.ContractState;
import net.corda.core.node.services.Vault.StateStatus;
import org.cordalab.bridge.BridgedNode;
import org.cordalab.bridge.BridgedNodes;
import org.cordalab.bridge.flow.CordappClasses;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.node.NodeSession;
import org.cordalab.bridge.node.NodeUnavailableException;
import org.cordalab.bridge.node.VaultChange;
import org.cordalab.bridge.node.VaultTransactions;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/** Reports on vaults. */
final class VaultRoutes {

    /** A node loads every state of a page from its transaction, which takes up to a millisecond each. */
    private static final int DEFAULT_PAGE_SIZE = 1000;

    private static final int MAX_PAGE_SIZE = 5000;
    private static final String UNIX_SECONDS = "[0-9]{1,11}(\\.[0-9]{1,9})?";

    private final BridgedNodes nodes;

    VaultRoutes(BridgedNodes nodes) {
        this.nodes = nodes;
    }

    /** {@code GET /v1/nodes/{node}/vault/count?stateType=…}. */
    void countStates(Exchange exchange) throws InterruptedException {
        BridgedNode node = nodes.get(exchange.path("node"));
        String className = exchange.query("stateType");
        Class<? extends ContractState> stateType = stateType(className);
        NodeSession session = node.gateway().session().orElseThrow(() -> NodeRoutes.unavailable(node));
        try {
            // Consumed states are counted first. A state that is consumed between the two queries is then missed, not
            // counted twice.
            long consumed = node.calls().call(() -> session.count(stateType, StateStatus.CONSUMED));
            long unconsumed = node.calls().call(() -> session.count(stateType, StateStatus.UNCONSUMED));
            exchange.send(
                    200,
                    Json.object()
                            .put("node", node.name())
                            .put("stateType", className)
                            .put("unconsumed", unconsumed)
                            .put("consumed", consumed)
                            .put("total", unconsumed + consumed));
        } catch (NodeUnavailableException e) {
            throw NodeRoutes.unavailable(node);
        }
    }

    /** {@code GET /v1/nodes/{node}/vault/transactions?stateType=…&since=…}: a page of transaction ids. */
    void transactions(Exchange exchange) throws InterruptedException {
        BridgedNode node = nodes.get(exchange.path("node"));
        String className = exchange.query("stateType");
        Class<? extends ContractState> stateType = stateType(className);
        Instant since = since(exchange.query("since"));
        int pageSize = exchange.number("pageSize", DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE);
        int page = exchange.number("page", 1, Integer.MAX_VALUE / pageSize);
        NodeSession session = node.gateway().session().orElseThrow(() -> NodeRoutes.unavailable(node));
        VaultTransactions found;
        try {
            found = node.calls().call(() -> session.transactions(stateType, since, page, pageSize));
        } catch (NodeUnavailableException e) {
            throw NodeRoutes.unavailable(node);
        }
        ObjectNode json = Json.object()
                .put("node", node.name())
                .put("stateType", className)
                .put("since", exchange.query("since"))
                .put("states", found.states())
                .put("page", page)
                .put("pageSize", pageSize);
        if ((long) page * pageSize < found.states()) {
            json.put("nextPage", page + 1);
        } else {
            json.putNull("nextPage");
        }
        ArrayNode ids = json.putArray("transactionIds");
        found.ids().forEach(id -> ids.add(id.toString()));
        exchange.send(200, json);
    }

    /** {@code GET /v1/nodes/{node}/vault/changes?since=…}: the states recorded and consumed since then, by class. */
    void changes(Exchange exchange) throws InterruptedException {
        BridgedNode node = nodes.get(exchange.path("node"));
        Instant since = since(exchange.query("since"));
        NodeSession session = node.gateway().session().orElseThrow(() -> NodeRoutes.unavailable(node));
        List<VaultChange> changes;
        try {
            changes = node.calls().call(() -> session.changes(since));
        } catch (NodeUnavailableException e) {
            throw NodeRoutes.unavailable(node);
        }
        ObjectNode json = Json.object().put("node", node.name()).put("since", exchange.query("since"));
        ArrayNode list = json.putArray("changes");
        changes.forEach(change -> list.addObject()
                .put("stateType", change.stateType())
                .put("recorded", change.recorded())
                .put("consumed", change.consumed()));
        exchange.send(200, json);
    }

    /** Converts Unix seconds, which may have a fraction. */
    private static Instant since(String seconds) {
        if (!seconds.matches(UNIX_SECONDS)) {
            throw new Problem(
                            ProblemType.INVALID_REQUEST,
                            "The query parameter since must be a time in Unix seconds, such as 1790000000.25.")
                    .field("since");
        }
        var exact = new BigDecimal(seconds);
        long whole = exact.longValue();
        return Instant.ofEpochSecond(
                whole,
                exact.subtract(BigDecimal.valueOf(whole)).movePointRight(9).longValue());
    }

    private static Class<? extends ContractState> stateType(String className) {
        Optional<Class<?>> found = CordappClasses.find(className).filter(ContractState.class::isAssignableFrom);
        if (found.isEmpty()) {
            throw new Problem(
                            ProblemType.NOT_FOUND,
                            "%s is not a contract state class of the bridge's CorDapps.".formatted(className))
                    .field("stateType");
        }
        return found.get().asSubclass(ContractState.class);
    }
}
