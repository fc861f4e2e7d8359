package org.cordalab.bridge.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.io.OutputStream;
import org.cordalab.bridge.BridgedNodes;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.metrics.MetricsPage;
import org.cordalab.bridge.stub.StubNetwork;

/** Serves what only stub nodes have: the truth about their flows, and metrics like those of a real node. */
final class StubRoutes {

    private final BridgedNodes nodes;
    private final StubNetwork network;

    StubRoutes(BridgedNodes nodes, StubNetwork network) {
        this.nodes = nodes;
        this.network = network;
    }

    /** {@code GET /v1/stub/flows}: one line of JSON per flow, in the order of the starts. */
    void flows(Exchange exchange) {
        exchange.stream("application/x-ndjson", out -> write(out));
    }

    private void write(OutputStream out) throws IOException {
        for (ObjectNode flow : network.log()) {
            out.write(Json.write(flow));
            out.write('\n');
        }
    }

    /** {@code GET /v1/stub/nodes/{node}/metrics}: what the JMX exporter serves for a real node. */
    void metrics(Exchange exchange) {
        String node = nodes.get(exchange.path("node")).name();
        MetricsPage page =
                network.metrics(node, exchange.header(HeaderNames.ACCEPT).orElse(null));
        exchange.send(200, page.contentType(), page.body());
    }
}
