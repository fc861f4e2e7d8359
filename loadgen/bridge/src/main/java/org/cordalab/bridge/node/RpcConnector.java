package org.cordalab.bridge.node;

import org.cordalab.bridge.config.NodeAddress;

/** Logs in to nodes, for both the bridge and its benchmark. */
public final class RpcConnector {

    private final String user;
    private final String password;
    private final RpcClient client = new CordaRpcClient();

    public RpcConnector(String user, String password) {
        this.user = user;
        this.password = password;
    }

    /**
     * Connects and logs in. Blocks while the node is starting.
     *
     * <p>Throws whatever the client library throws, including undeclared checked exceptions: connection refused, wrong
     * password …
     */
    RpcSession connect(NodeAddress node) {
        return new RpcSession(node.name(), client, client.connect(node, user, password));
    }
}
