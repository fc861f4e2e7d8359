package org.cordalab.bridge;

import org.cordalab.bridge.config.BridgeConfig;
import org.cordalab.bridge.flow.ArgumentMapper;
import org.cordalab.bridge.flow.ArgumentParser;
import org.cordalab.bridge.metrics.BridgeMetrics;
import org.cordalab.bridge.node.NodeGateway;
import org.cordalab.bridge.run.NodeFlows;

/**
 * Everything that the bridge holds for one node.
 *
 * @param arguments converts arguments with the parties that this node knows
 */
public record BridgedNode(NodeGateway gateway, NodeFlows flows, ArgumentParser arguments) implements AutoCloseable {

    public static BridgedNode of(NodeGateway gateway, BridgeConfig config, BridgeMetrics metrics) {
        return new BridgedNode(
                gateway,
                new NodeFlows(gateway, config.maxOutstandingFlows(), config.outcomeRetention(), metrics),
                new ArgumentParser(ArgumentMapper.create(gateway.parties())));
    }

    public String name() {
        return gateway.name();
    }

    @Override
    public void close() {
        flows.close();
        gateway.close();
    }
}
