package org.cordalab.bridge.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BridgeConfigTest {

    private static final String TOKEN = "0123456789abcdef";

    private final Map<String, String> environment = new HashMap<>(Map.of(
            "BRIDGE_NODES", "Notary=notary:10003, PartyA=partya:10004",
            "BRIDGE_RPC_USER", "lab",
            "BRIDGE_RPC_PASSWORD", "secret"));

    @Test
    void readsNodesInTheirOrder() {
        assertThat(BridgeConfig.fromEnvironment(environment).nodes())
                .containsExactly(
                        new NodeAddress("Notary", "notary", 10003), new NodeAddress("PartyA", "partya", 10004));
    }

    @Test
    void hasStandardsForWhatIsNotSet() {
        BridgeConfig config = BridgeConfig.fromEnvironment(environment);

        assertThat(config.port()).isEqualTo(8080);
        assertThat(config.allowedHosts()).isEmpty();
        assertThat(config.rpcConnections()).isEqualTo(1);
        assertThat(config.rpcLeftOpenMax()).isEmpty();
        assertThat(config.maxOutstandingFlows())
                .isEqualTo(64 * Runtime.getRuntime().availableProcessors());
        assertThat(config.maxBodyBytes()).isEqualTo(1_048_576);
        assertThat(config.flowTimeout()).isEqualTo(Duration.ofMinutes(5));
        assertThat(config.outcomeRetention()).isEqualTo(Duration.ofHours(1));
    }

    @Test
    void readsHosts() {
        environment.put("BRIDGE_ALLOWED_HOSTS", "bridge, Lab.Example,[2001:db8::1], ");

        assertThat(BridgeConfig.fromEnvironment(environment).allowedHosts())
                .containsExactlyInAnyOrder("bridge", "lab.example", "[2001:db8::1]");
    }

    @Test
    void leavesRpcConnectionsOpenOnlyIfAskedTo() {
        environment.put("BRIDGE_RPC_LEFT_OPEN_MAX", "300");
        environment.put("BRIDGE_RPC", "shared");
        assertThat(BridgeConfig.fromEnvironment(environment).rpcLeftOpenMax()).isEmpty();

        environment.put("BRIDGE_RPC", "left-open");
        assertThat(BridgeConfig.fromEnvironment(environment).rpcLeftOpenMax()).hasValue(300);

        environment.remove("BRIDGE_RPC_LEFT_OPEN_MAX");
        assertThat(BridgeConfig.fromEnvironment(environment).rpcLeftOpenMax()).hasValue(1000);
    }

    @Test
    void aNodeMayHaveTheNameOfAnyOrganisation() {
        environment.put(
                "BRIDGE_NODES",
                "Soci%C3%A9t%C3%A9%20G%C3%A9n%C3%A9rale=partya:10003,Carlsberg%20A%2FS%2C%20%3D=partyb:1");

        assertThat(BridgeConfig.fromEnvironment(environment).nodes())
                .containsExactly(
                        new NodeAddress("Société Générale", "partya", 10003),
                        new NodeAddress("Carlsberg A/S, =", "partyb", 1));

        environment.put("BRIDGE_NODES", "%=partya:10003");
        assertThat(mistakes())
                .containsExactly("BRIDGE_NODES: \"%=partya:10003\" must have the form PartyA=partya:10003");
    }

    @Test
    void namesEveryMistakeAtOnce() {
        environment.put("BRIDGE_NODES", "PartyA=partya:10003,PartyB,partya=other:1,PartyC=c:99999");
        environment.put("BRIDGE_RPC_PASSWORD", " ");
        environment.put("BRIDGE_PORT", "http");
        environment.put("BRIDGE_ALLOWED_HOSTS", "bridge,http://Lab:8080");
        environment.put("BRIDGE_MAX_OUTSTANDING_FLOWS", "0");
        environment.put("BRIDGE_OUTCOME_RETENTION_SECONDS", "1h");
        environment.put("BRIDGE_RPC", "closed");
        environment.put("BRIDGE_RPC_LEFT_OPEN_MAX", "0");
        environment.put("BRIDGE_TOKEN", "too short");
        environment.put("BRIDGE_MAX_CONNECTIONS", "many");

        assertThat(mistakes())
                .containsExactlyInAnyOrder(
                        "BRIDGE_NODES: \"PartyB\" must have the form PartyA=partya:10003",
                        "BRIDGE_NODES names the node \"partya\" twice",
                        "BRIDGE_NODES: \"PartyC=c:99999\" must have the form PartyA=partya:10003",
                        "BRIDGE_RPC_PASSWORD is not set",
                        "BRIDGE_PORT must be a whole number from 0 to 65535, but is \"http\"",
                        "BRIDGE_ALLOWED_HOSTS: \"http://Lab:8080\" must be a host name without scheme and port",
                        "BRIDGE_MAX_OUTSTANDING_FLOWS must be a whole number from 1 to 100000, but is \"0\"",
                        "BRIDGE_RPC must be shared or left-open, but is \"closed\"",
                        "BRIDGE_RPC_LEFT_OPEN_MAX must be a whole number from 1 to 10000, but is \"0\"",
                        "BRIDGE_OUTCOME_RETENTION_SECONDS must be a whole number from 1 to 604800, but is \"1h\"",
                        "BRIDGE_TOKEN must have 16 to 256 letters, digits and the characters . _ ~ + / = -",
                        "BRIDGE_MAX_CONNECTIONS must be a whole number from 1 to 100000, but is \"many\"");
    }

    @Test
    void readsThePasswordFromAFile(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("rpc-password"), "from the file\n");
        environment.put("BRIDGE_RPC_PASSWORD_FILE", file.toString());

        assertThat(BridgeConfig.fromEnvironment(environment).rpcPassword()).isEqualTo("from the file");

        Files.writeString(file, "\n");
        assertThat(mistakes()).containsExactly("BRIDGE_RPC_PASSWORD_FILE: " + file + " is empty");

        Files.delete(file);
        assertThat(mistakes())
                .containsExactly("BRIDGE_RPC_PASSWORD_FILE: " + file + " cannot be read (NoSuchFileException)");
    }

    @Test
    void wantsNodes() {
        environment.remove("BRIDGE_NODES");

        assertThat(mistakes()).containsExactly("neither BRIDGE_NODES nor BRIDGE_STUB is set");
    }

    @Test
    void takesAStubInPlaceOfNodes() {
        environment.clear();
        environment.put("BRIDGE_STUB", "/plan.json");

        assertThat(BridgeConfig.fromEnvironment(environment).stubPlan()).contains(Path.of("/plan.json"));
        assertThat(BridgeConfig.fromEnvironment(environment).nodes()).isEmpty();
    }

    @Test
    void doesNotTakeBothNodesAndAStub() {
        environment.put("BRIDGE_STUB", "/plan.json");

        assertThat(mistakes())
                .containsExactly(
                        "BRIDGE_NODES and BRIDGE_STUB are both set, but stub nodes replace the nodes; unset one");
    }

    @Test
    void keepsThePasswordAndTheTokenOutOfItsText() {
        environment.put("BRIDGE_TOKEN", TOKEN);

        assertThat(BridgeConfig.fromEnvironment(environment).toString()).doesNotContain("secret", TOKEN);
    }

    @Test
    void listensOnLoopbackUnlessThePortIsPublished() {
        assertThat(BridgeConfig.fromEnvironment(environment).address().isLoopbackAddress())
                .isTrue();

        for (String published : List.of("127.0.0.1", "127.0.1.1", "localhost", "::1", "[::1]")) {
            environment.put("BRIDGE_PUBLISHED_ADDRESS", published);
            assertThat(BridgeConfig.fromEnvironment(environment).address().isAnyLocalAddress())
                    .isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"0.0.0.0", "192.0.2.7", "::", "127.0.0.1.example", "[2001:db8::1]", "lab.example"})
    void wantsATokenIfOtherMachinesMayReachThePort(String published) {
        environment.put("BRIDGE_PUBLISHED_ADDRESS", published);
        assertThat(mistakes())
                .containsExactly("BRIDGE_PUBLISHED_ADDRESS is " + published
                        + ", which other machines may reach, but there is no token. Set BRIDGE_TOKEN, or BRIDGE_ADDRESS"
                        + " to 127.0.0.1");

        environment.put("BRIDGE_TOKEN", TOKEN);
        assertThat(BridgeConfig.fromEnvironment(environment).token()).contains(TOKEN);
    }

    @Test
    void derivesTheLimitsFromTheHeap() {
        HttpLimits limits = HttpLimits.of(384L * 1024 * 1024, 128, 32 * 1024 * 1024);

        assertThat(limits.requestBudgetBytes()).isEqualTo(48 * 1024 * 1024);
        assertThat(limits.outcomeBudgetBytes()).isEqualTo(48 * 1024 * 1024);
        assertThat(limits.maxConnections()).isEqualTo(1536);
        assertThat(HttpLimits.of(384L * 1024 * 1024, 5000, 1024).maxConnections())
                .isEqualTo(5512);
        assertThat(HttpLimits.of(384L * 1024 * 1024, 128, 200 * 1024 * 1024).requestBudgetBytes())
                .isEqualTo(250 * 1024 * 1024);
    }

    private List<String> mistakes() {
        return catchThrowableOfType(ConfigException.class, () -> BridgeConfig.fromEnvironment(environment))
                .mistakes();
    }
}
