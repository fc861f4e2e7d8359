package org.cordalab.bridge.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.cordalab.bridge.problem.ProblemType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Sends requests to the real server as browsers and other clients do. */
@Timeout(60)
class OriginGuardTest {

    private static final String FLOWS = "/v1/nodes/PartyA/flows";
    private static final String EMPTY = "{\"flow\": \"Empty\", \"clientId\": \"c1\"}";

    private final TestBridge bridge = new TestBridge(Duration.ofSeconds(1));

    @AfterEach
    void stop() {
        bridge.close();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "localhost",
                "LOCALHOST:8080",
                "127.0.0.1",
                "127.0.0.1:18080",
                "127.1.2.3:8080",
                "[::1]",
                "[::1]:8080",
                TestBridge.ALLOWED_HOST + ":8080",
                "Bridge",
            })
    void answersForItsOwnHostsAtAnyPort(String host) throws Exception {
        assertThat(get("/v1/nodes", host)).startsWith("HTTP/1.1 200 ");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "evil.example",
                "evil.example:8080",
                "localhost.evil.example",
                "127.0.0.1.evil.example",
                "192.0.2.1",
                "[2001:db8::1]:8080",
                "bridge.evil.example",
            })
    void refusesOtherHosts(String host) throws Exception {
        for (String path : List.of("/v1/nodes", "/health/live", "/metrics", "/openapi.json", "/nothing", FLOWS)) {
            assertRefused(get(path, host), ProblemType.UNKNOWN_HOST);
        }
        assertRefused(post("Host: " + host), ProblemType.UNKNOWN_HOST);
    }

    @ParameterizedTest
    @CsvSource({
        "localhost:8080,   http://localhost:8080",
        "LocalHost:18080,  http://localhost:18080",
        "127.0.0.1:8080,   http://127.0.0.1:8080",
        "bridge,           https://bridge",
    })
    void letsItsOwnPagesIn(String host, String origin) throws Exception {
        String answer = post("Host: " + host, "Origin: " + origin, "Sec-Fetch-Site: same-origin");

        assertThat(answer).contains("urn:corda-lab:problem:outcome-unknown");
        assertThat(bridge.node().startedIds()).containsExactly("c1");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "http://evil.example",
                "null",
                "http://localhost",
                "http://localhost:3000",
                "http://127.0.0.1:8080",
                "http://localhost:8080.evil.example",
                "file://localhost:8080",
            })
    void refusesPagesOfOtherOrigins(String origin) throws Exception {
        assertRefused(post("Host: localhost:8080", "Origin: " + origin), ProblemType.FOREIGN_ORIGIN);
        assertRefused(
                bridge.sendRaw("OPTIONS " + FLOWS + " HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\nOrigin: "
                        + origin + "\r\nAccess-Control-Request-Method: POST\r\n\r\n"),
                ProblemType.FOREIGN_ORIGIN);
    }

    @ParameterizedTest
    @ValueSource(strings = {"cross-site", "same-site"})
    void refusesPagesOfOtherOriginsThatTheBrowserDoesNotName(String site) throws Exception {
        assertRefused(post("Host: localhost", "Sec-Fetch-Site: " + site), ProblemType.FOREIGN_ORIGIN);
        assertRefused(
                get("/v1/nodes", "localhost", "Sec-Fetch-Site: " + site, "Sec-Fetch-Mode: no-cors"),
                ProblemType.FOREIGN_ORIGIN);
        assertRefused(
                get(
                        "/v1/nodes",
                        "localhost",
                        "Sec-Fetch-Site: " + site,
                        "Sec-Fetch-Mode: navigate",
                        "Sec-Fetch-Dest: iframe"),
                ProblemType.FOREIGN_ORIGIN);
        assertRefused(
                post(
                        "Host: localhost",
                        "Sec-Fetch-Site: " + site,
                        "Sec-Fetch-Mode: navigate",
                        "Sec-Fetch-Dest: document"),
                ProblemType.FOREIGN_ORIGIN);
    }

    @Test
    void letsAUserFollowALink() throws Exception {
        assertThat(get(
                        "/openapi.json",
                        "localhost",
                        "Sec-Fetch-Site: cross-site",
                        "Sec-Fetch-Mode: navigate",
                        "Sec-Fetch-Dest: document"))
                .startsWith("HTTP/1.1 200 ");
    }

    @Test
    void letsPagesReadNothing() throws Exception {
        assertThat(get("/v1/nodes", "localhost:8080", "Origin: http://localhost:8080"))
                .startsWith("HTTP/1.1 200 ")
                .doesNotContainIgnoringCase("Access-Control-");
    }

    private void assertRefused(String answer, ProblemType type) {
        assertThat(answer)
                .startsWith("HTTP/1.1 " + type.status() + " ")
                .contains("application/problem+json", "\"" + type.urn() + "\"")
                .doesNotContainIgnoringCase("Access-Control-");
        assertThat(bridge.node().startedIds()).isEmpty();
    }

    private String get(String path, String host, String... headers) throws IOException {
        return bridge.sendRaw(
                "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n" + lines(headers) + "\r\n");
    }

    /** Sends a flow start. If it is allowed, the flow starts and does not end in time. */
    private String post(String... headers) throws IOException {
        return bridge.sendRaw("POST " + FLOWS + " HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\n"
                + "Content-Length: " + EMPTY.length() + "\r\n" + lines(headers) + "\r\n" + EMPTY);
    }

    private static String lines(String... headers) {
        return String.join("\r\n", headers) + (headers.length == 0 ? "" : "\r\n");
    }
}
