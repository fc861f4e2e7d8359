package org.cordalab.bridge.node;

import org.cordalab.bridge.config.NodeAddress;

/** Logs in to nodes, for both the bridge and its benchmark. */
public final class RpcConnector {

    private final String user;
    private final String password;
    private final int connections;
    private final RpcClient client = new CordaRpcClient();

    /**
     * @param connections number of connections of each login
     */
    public RpcConnector(String user, String password, int connections) {
        this.user = user;
        this.password = password;
        this.connections = connections;
    }

    /**
     * Connects and logs in. Blocks while the node is starting.
     *
     * <p>Throws whatever the client library throws, including undeclared checked exceptions: connection refused, wrong
     * password …
     */
    RpcSession connect(NodeAddress node) {
        var opened = RpcConnections.open(connections, () -> client.connect(node, user, password));
        return new RpcSession(node.name(), client, opened);
    }
}
