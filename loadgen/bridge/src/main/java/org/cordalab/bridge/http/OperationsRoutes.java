package org.cordalab.bridge.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import org.cordalab.bridge.BridgedNodes;
import org.cordalab.bridge.flow.FlowCatalog;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.metrics.BridgeMetrics;
import org.cordalab.bridge.metrics.MetricsPage;

/** Serves health checks, metrics and the API description. */
final class OperationsRoutes {

    private final BridgedNodes nodes;
    private final BridgeMetrics metrics;
    private final byte[] openApi = resource("/openapi.json");
    private volatile boolean draining;

    OperationsRoutes(BridgedNodes nodes, BridgeMetrics metrics) {
        this.nodes = nodes;
        this.metrics = metrics;
    }

    /** Declares that the bridge is not ready any more. */
    void drain() {
        draining = true;
    }

    /** {@code GET /health/live}: succeeds if the process serves requests. */
    void live(Exchange exchange) {
        exchange.send(200, Json.object().put("status", "live"));
    }

    /** {@code GET /health/ready}: succeeds if every configured node answers RPCs, and flows may still be started. */
    void ready(Exchange exchange) {
        boolean ready = !draining
                && nodes.all().stream().allMatch(node -> node.gateway().ready());
        ObjectNode json = Json.object().put("status", draining ? "stopping" : ready ? "ready" : "not ready");
        ObjectNode byNode = json.putObject("nodes");
        nodes.all().forEach(node -> byNode.put(node.name(), node.gateway().ready()));
        exchange.send(ready ? 200 : 503, json);
    }

    /** {@code GET /metrics}. */
    void metrics(Exchange exchange) {
        nodes.all()
                .forEach(node -> node.gateway()
                        .profile()
                        .ifPresent(profile -> metrics.showFlows(node.name(), shortNames(profile.flows()))));
        MetricsPage page = metrics.page(exchange.header(HeaderNames.ACCEPT).orElse(null));
        exchange.send(200, page.contentType(), page.body());
    }

    private static List<String> shortNames(FlowCatalog flows) {
        return flows.classNames().stream().map(flows::shortName).toList();
    }

    /** {@code GET /openapi.json}. */
    void openApi(Exchange exchange) {
        exchange.send(200, "application/json", openApi);
    }

    private static byte[] resource(String name) {
        try (InputStream stream = OperationsRoutes.class.getResourceAsStream(name)) {
            return stream.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
