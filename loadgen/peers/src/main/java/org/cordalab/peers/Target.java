package org.cordalab.peers;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import net.corda.client.rpc.CordaRPCClient;
import net.corda.client.rpc.CordaRPCClientConfiguration;
import net.corda.client.rpc.CordaRPCConnection;
import net.corda.core.messaging.CordaRPCOps;
import net.corda.core.utilities.NetworkHostAndPort;
import org.cordalab.bridge.config.BridgeConfig;
import org.cordalab.bridge.config.NodeAddress;
import org.cordalab.bridge.flow.ArgumentMapper;
import org.cordalab.bridge.flow.ArgumentParser;
import org.cordalab.bridge.flow.FlowCall;
import org.cordalab.bridge.flow.FlowCatalog;
import org.cordalab.bridge.flow.PartyDirectory;
import org.cordalab.bridge.json.Json;

/**
 * What the threads share: the open connections, of which each thread takes one, and the flow that they all start.
 *
 * <p>JMeter runs one test in a process, so this is static. Node addresses and login are those of the bridge, from the
 * same {@code BRIDGE_…} variables. Flows whose arguments need serializers of their own cannot be started.
 */
final class Target {

    private static final Queue<CordaRPCConnection> CONNECTIONS = new ConcurrentLinkedQueue<>();
    private static FlowCall call;

    private Target() {}

    /**
     * Opens a connection for one thread.
     *
     * @param flow class name or short name
     * @param arguments JSON object of the arguments by name
     * @throws RuntimeException whatever the client library throws; IllegalArgumentException for an unknown node
     */
    static void connect(String node, String flow, String arguments) {
        BridgeConfig config = BridgeConfig.fromEnvironment(System.getenv());
        NodeAddress address = config.nodes().stream()
                .filter(each -> each.name().equalsIgnoreCase(node))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("BRIDGE_NODES has no node " + node));
        CordaRPCConnection connection = client(address).start(config.rpcUser(), config.rpcPassword());
        readCall(connection.getProxy(), flow, arguments);
        CONNECTIONS.add(connection);
    }

    /**
     * Creates a client. Without a set of serializers, every client would scan the whole class path for them, which takes
     * seconds.
     */
    private static CordaRPCClient client(NodeAddress address) {
        return new CordaRPCClient(
                new NetworkHostAndPort(address.host(), address.port()),
                new Configuration(),
                null,
                Target.class.getClassLoader(),
                Set.of());
    }

    /** Returns a connection that no other thread has. */
    static CordaRPCConnection takeConnection() {
        CordaRPCConnection connection = CONNECTIONS.poll();
        if (connection == null) {
            throw new IllegalStateException("There are fewer connections than threads");
        }
        return connection;
    }

    /** Returns the flow that every thread starts. */
    static synchronized FlowCall call() {
        return call;
    }

    private static synchronized void readCall(CordaRPCOps ops, String flow, String arguments) {
        if (call != null) {
            return;
        }
        var parties = new PartyDirectory();
        parties.replaceAll(ops.networkMapSnapshot().stream()
                .flatMap(info -> info.getLegalIdentities().stream())
                .toList());
        var catalog = new FlowCatalog(ops.registeredFlows(), Target.class.getClassLoader());
        var byName = (ObjectNode) Json.read(arguments.getBytes(StandardCharsets.UTF_8));
        call = new ArgumentParser(ArgumentMapper.create(parties)).parse(catalog.find(flow), byName);
    }

    /** The client's defaults, except that it accepts every node of Corda 4, as the bridge does. */
    private static final class Configuration extends CordaRPCClientConfiguration {
        @Override
        public int getMinimumServerProtocolVersion() {
            return 4;
        }
    }
}
