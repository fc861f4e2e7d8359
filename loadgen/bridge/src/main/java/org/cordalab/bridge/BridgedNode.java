package org.cordalab.bridge;

import java.util.Collection;
import java.util.List;
import net.corda.core.serialization.SerializationCustomSerializer;
import org.cordalab.bridge.config.BridgeConfig;
import org.cordalab.bridge.flow.ArgumentMapper;
import org.cordalab.bridge.flow.ArgumentParser;
import org.cordalab.bridge.metrics.BridgeMetrics;
import org.cordalab.bridge.node.NodeGateway;
import org.cordalab.bridge.node.TimedCalls;
import org.cordalab.bridge.node.VaultStates;
import org.cordalab.bridge.run.NodeFlows;

/**
 * Everything that the bridge holds for one node.
 *
 * @param arguments converts arguments with the parties that this node knows
 * @param calls calls the node for everything but flows
 */
public record BridgedNode(NodeGateway gateway, NodeFlows flows, ArgumentParser arguments, TimedCalls calls)
        implements AutoCloseable {

    /**
     * @param nodes number of nodes, which share the memory for outcomes
     */
    public static BridgedNode of(NodeGateway gateway, BridgeConfig config, int nodes, BridgeMetrics metrics) {
        return of(gateway, config, nodes, metrics, List.of());
    }

    /**
     * @param nodes number of nodes, which share the memory for outcomes
     * @param serializers the CorDapps' own serialisers
     */
    public static BridgedNode of(
            NodeGateway gateway,
            BridgeConfig config,
            int nodes,
            BridgeMetrics metrics,
            Collection<? extends SerializationCustomSerializer<?, ?>> serializers) {
        // As many states may be looked up at once as flows may be started.
        var lookups = new TimedCalls(gateway.name(), config.limits().rpcTimeout(), config.maxOutstandingFlows());
        return new BridgedNode(
                gateway,
                new NodeFlows(
                        gateway,
                        config.maxOutstandingFlows(),
                        config.outcomeRetention(),
                        config.limits().outcomeBudgetBytes() / nodes,
                        metrics),
                new ArgumentParser(
                        ArgumentMapper.create(gateway.parties(), new VaultStates(gateway, lookups), serializers)),
                new TimedCalls(gateway.name(), config.limits().rpcTimeout()));
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
