package org.cordalab.bridge.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class TokenGuardTest {

    private static final String TOKEN = "0123456789abcdef";

    private final TestBridge bridge = new TestBridge(Optional.of(TOKEN), TestBridge.LIMITS);

    @AfterEach
    void stop() {
        bridge.close();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "Authorization: Bearer\r\n",
                "Authorization: Bearer wrong-wrong-wrong\r\n",
                "Authorization: Bearer 0123456789abcdeF\r\n",
                "Authorization: Bearer 0123456789abcdef0\r\n",
                "Authorization: Basic 0123456789abcdef\r\n",
                "Authorization: 0123456789abcdef\r\n",
            })
    void refusesRequestsWithoutTheToken(String header) throws Exception {
        for (String path : new String[] {"/v1/nodes", "/metrics", "/openapi.json", "/nothing", "/healthy"}) {
            assertThat(get(path, header))
                    .startsWith("HTTP/1.1 401 ")
                    .contains("urn:corda-lab:problem:unauthorized", "WWW-Authenticate: Bearer")
                    .doesNotContain(TOKEN);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/health/../v1/nodes",
                "/health/%2e%2e/v1/nodes",
                "/health/%2E%2E/v1/nodes",
                "/health/live/../../v1/nodes",
                "/health/;a/../../v1/nodes",
                "/health/live;a/../../v1/nodes",
                "/health/./../v1/nodes",
                "//health/../v1/nodes",
            })
    void refusesPathsThatOnlyBeginAsThatOfTheHealth(String path) throws Exception {
        assertThat(get(path, "")).doesNotStartWith("HTTP/1.1 2");
    }

    @Test
    void refusesToStartAFlowWithoutTheToken() throws Exception {
        var answer = bridge.send("POST", "/v1/nodes/PartyA/flows", "{\"flow\": \"Empty\"}")
                .get();

        assertThat(answer.statusCode()).isEqualTo(401);
        assertThat(bridge.node().startedIds()).isEmpty();
    }

    @Test
    void refusesToStartAFlowBehindThePathOfTheHealth() throws Exception {
        String body = "{\"flow\": \"Empty\"}";
        String answer = bridge.sendRaw("POST /health/../v1/nodes/PartyA/flows HTTP/1.1\r\nHost: localhost\r\n"
                + "Connection: close\r\nContent-Type: application/json\r\nContent-Length: " + body.length()
                + "\r\n\r\n" + body);

        assertThat(answer).startsWith("HTTP/1.1 401 ");
        assertThat(bridge.node().startedIds()).isEmpty();
    }

    @Test
    void answersRequestsWithTheToken() throws Exception {
        assertThat(get("/v1/nodes", "Authorization: Bearer " + TOKEN + "\r\n")).startsWith("HTTP/1.1 200 ");
        assertThat(get("/metrics", "authorization: bearer  " + TOKEN + "\r\n")).startsWith("HTTP/1.1 200 ");
    }

    @Test
    void tellsEveryoneWhetherItLivesAndIsReady() throws Exception {
        assertThat(get("/health/live", "")).startsWith("HTTP/1.1 200 ");
        assertThat(get("/health/ready", "")).startsWith("HTTP/1.1 200 ");
    }

    @Test
    void servesMetricsWithoutTheTokenAtAPortOfTheirOwn() throws Exception {
        String rest = " HTTP/1.1\r\nHost: " + TestBridge.ALLOWED_HOST + "\r\nConnection: close\r\n\r\n";

        assertThat(TestBridge.sendRaw(bridge.metricsPort(), "GET /metrics" + rest))
                .startsWith("HTTP/1.1 200 ")
                .contains("bridge_node_ready");
        assertThat(TestBridge.sendRaw(bridge.metricsPort(), "GET /v1/nodes" + rest))
                .startsWith("HTTP/1.1 404 ");
    }

    private String get(String path, String header) throws Exception {
        return bridge.sendRaw(
                "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + header + "\r\n");
    }
}
