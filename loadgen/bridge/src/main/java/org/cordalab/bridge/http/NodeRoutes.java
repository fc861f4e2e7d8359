package org.cordalab.bridge.http;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.cordalab.bridge.BridgedNode;
import org.cordalab.bridge.BridgedNodes;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.node.NodeProfile;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.cordalab.bridge.run.FailedFlow;

/** Reports on nodes and parties. */
final class NodeRoutes {

    private final BridgedNodes nodes;

    NodeRoutes(BridgedNodes nodes) {
        this.nodes = nodes;
    }

    /** {@code GET /v1/nodes}. */
    void list(Exchange exchange) {
        ObjectNode json = Json.object();
        ArrayNode list = json.putArray("nodes");
        nodes.all().forEach(node -> describe(node, list.addObject()));
        exchange.send(200, json);
    }

    private static void describe(BridgedNode node, ObjectNode json) {
        json.put("name", node.name());
        json.put("ready", node.gateway().ready());
        json.put("outstandingFlows", node.flows().outstanding());
        node.flows().lastFailure().ifPresent(failure -> describe(failure, json.putObject("lastFailure")));
        node.gateway().profile().ifPresent(profile -> {
            json.put("x500Name", profile.x500Name().toString());
            json.put("platformVersion", profile.platformVersion());
            json.put("notary", profile.notaryNodes().contains(profile.x500Name()));
            json.put("clientIdSupported", profile.supportsClientIds());
            ArrayNode notaries = json.putArray("notaries");
            profile.notaries().stream().map(Object::toString).sorted().forEach(notaries::add);
            ArrayNode cordapps = json.putArray("cordapps");
            profile.cordapps()
                    .forEach(cordapp -> cordapps.addObject()
                            .put("name", cordapp.name())
                            .put("version", cordapp.version())
                            .put("type", cordapp.type()));
        });
    }

    private static void describe(FailedFlow failure, ObjectNode json) {
        json.put("flow", failure.flow());
        json.put("reason", failure.reason());
        json.put("detail", failure.detail());
        json.put("at", failure.at().truncatedTo(ChronoUnit.MILLIS).toString());
    }

    /** {@code GET /v1/nodes/{node}/parties}: the parties in the node's network map. */
    void parties(Exchange exchange) {
        BridgedNode node = nodes.get(exchange.path("node"));
        NodeProfile profile = profile(node);
        ObjectNode json = Json.object().put("node", node.name());
        ArrayNode parties = json.putArray("parties");
        node.gateway()
                .parties()
                .all()
                .forEach(party -> parties.addObject()
                        .put("name", party.getName().getOrganisation())
                        .put("x500Name", party.getName().toString())
                        .put("notary", profile.notaryNodes().contains(party.getName())));
        exchange.send(200, json);
    }

    /** Returns what the node reported about itself, on this or an earlier connection. */
    static NodeProfile profile(BridgedNode node) {
        return node.gateway().profile().orElseThrow(() -> unavailable(node));
    }

    static Problem unavailable(BridgedNode node) {
        return new Problem(ProblemType.NODE_UNAVAILABLE, "There is no connection to %s.".formatted(node.name()))
                .retryAfter(Duration.ofSeconds(1));
    }
}
