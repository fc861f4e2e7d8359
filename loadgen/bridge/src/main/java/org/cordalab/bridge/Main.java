package org.cordalab.bridge;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import net.corda.core.serialization.SerializationCustomSerializer;
import org.cordalab.bridge.config.BridgeConfig;
import org.cordalab.bridge.config.ConfigException;
import org.cordalab.bridge.http.BridgeServer;
import org.cordalab.bridge.metrics.BridgeMetrics;
import org.cordalab.bridge.node.LeftOpenConnections;
import org.cordalab.bridge.node.NodeConnection;
import org.cordalab.bridge.node.NodeGateway;
import org.cordalab.bridge.node.RpcConnector;
import org.cordalab.bridge.stub.StubNetwork;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Starts the bridge, and stops it within ten seconds of SIGTERM. */
public final class Main {

    private static final int EXIT_BAD_CONFIG = 2;

    /** Longest time that outstanding flows may still take when the bridge is stopped. */
    private static final Duration DRAIN_LIMIT = Duration.ofSeconds(6);

    private static final Logger LOG = LoggerFactory.getLogger(Main.class);

    private final Optional<StubNetwork> stub;
    private final BridgedNodes nodes;
    private final BridgeServer server;

    private Main(BridgeConfig config) {
        var metrics = new BridgeMetrics();
        stub = config.stubPlan().map(plan -> StubNetwork.of(plan, Main.class.getClassLoader()));
        if (stub.isPresent()) {
            nodes = bridged(stub.get().gateways(), config, metrics, List.of());
        } else {
            RpcConnector connector = connector(config);
            nodes = bridged(gateways(config, connector), config, metrics, connector.serializers());
        }
        server = new BridgeServer(config, nodes, metrics, stub);
    }

    private static BridgedNodes bridged(
            List<NodeGateway> gateways,
            BridgeConfig config,
            BridgeMetrics metrics,
            Collection<SerializationCustomSerializer<?, ?>> serializers) {
        return new BridgedNodes(gateways.stream()
                .map(gateway -> BridgedNode.of(gateway, config, gateways.size(), metrics, serializers))
                .toList());
    }

    private static RpcConnector connector(BridgeConfig config) {
        Optional<LeftOpenConnections> leftOpen = config.rpcLeftOpenMax().isPresent()
                ? Optional.of(new LeftOpenConnections(config.rpcLeftOpenMax().getAsInt()))
                : Optional.empty();
        return new RpcConnector(config.rpcUser(), config.rpcPassword(), config.rpcConnections(), leftOpen);
    }

    private static List<NodeGateway> gateways(BridgeConfig config, RpcConnector connector) {
        return config.nodes().stream()
                .<NodeGateway>map(address -> new NodeConnection(address, connector).start())
                .toList();
    }

    public static void main(String[] arguments) {
        try {
            var main = new Main(BridgeConfig.fromEnvironment(System.getenv()));
            Runtime.getRuntime().addShutdownHook(new Thread(main::stop, "stop"));
            main.server.start();
        } catch (ConfigException e) {
            e.mistakes().forEach(mistake -> System.err.println("bridge: " + mistake));
            System.exit(EXIT_BAD_CONFIG);
        }
    }

    private void stop() {
        long until = System.nanoTime() + DRAIN_LIMIT.toNanos();
        server.drain();
        nodes.all().forEach(node -> node.flows().refuse());
        try {
            for (BridgedNode node : nodes.all()) {
                node.flows().drain(Duration.ofNanos(until - System.nanoTime()));
            }
        } catch (InterruptedException e) {
            LOG.warn("Interrupted while stopping");
        }
        server.close();
        nodes.all().forEach(BridgedNode::close);
        stub.ifPresent(StubNetwork::close);
    }
}
