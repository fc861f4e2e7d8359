import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.Callable;
import net.corda.client.rpc.CordaRPCClient;
import net.corda.core.flows.StateMachineRunId;
import net.corda.core.utilities.NetworkHostAndPort;

/**
 * Calls a node by RPC as the bridge's user, and prints for each operation whether the node has answered or why not. If
 * the node allowed those that it must not, nothing would change in it.
 */
public final class ForbiddenCalls {

    private ForbiddenCalls() {}

    public static void main(String[] node) throws Exception {
        String user = System.getenv("BRIDGE_RPC_USER");
        String password = Files.readString(Path.of(System.getenv("BRIDGE_RPC_PASSWORD_FILE"))).strip();
        var client = new CordaRPCClient(new NetworkHostAndPort(node[0], 10003));
        try (var connection = client.start(user, password)) {
            var ops = connection.getProxy();
            print("nodeInfo", ops::nodeInfo);
            print("killFlow", () -> ops.killFlow(new StateMachineRunId(UUID.randomUUID())));
            print("setFlowsDrainingModeEnabled", () -> {
                ops.setFlowsDrainingModeEnabled(false);
                return "";
            });
        }
        // The client library leaves threads behind.
        System.exit(0);
    }

    private static void print(String operation, Callable<?> call) {
        try {
            call.call();
            System.out.println(operation + ": answered");
        } catch (Exception e) {
            System.out.println(operation + ": " + e);
        }
    }
}
