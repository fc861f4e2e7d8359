package org.cordalab.bridge.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import net.corda.core.crypto.SecureHash;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.problem.ProblemType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class VaultRoutesTest {

    private static final String TRANSACTIONS = "/v1/nodes/PartyA/vault/transactions";
    private static final String CHANGES = "/v1/nodes/PartyA/vault/changes";
    private static final String ANY = "?stateType=net.corda.core.contracts.ContractState";
    private static final Instant SINCE = Instant.ofEpochSecond(1_790_000_000, 250_000_000);

    private final TestBridge bridge = new TestBridge(TestBridge.FLOW_TIMEOUT);

    @AfterEach
    void stop() {
        bridge.close();
    }

    @Test
    void listsTheTransactionsSinceATimePageByPage() throws Exception {
        bridge.node().recorded(SecureHash.randomSHA256(), SINCE.minusNanos(1));
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < 7; i++) {
            SecureHash id = SecureHash.randomSHA256();
            ids.add(id.toString());
            bridge.node().recorded(id, SINCE.plusSeconds(i));
        }

        List<String> listed = new ArrayList<>();
        int page = 1;
        while (page > 0) {
            JsonNode json = get(ANY + "&since=1790000000.25&pageSize=3&page=" + page);
            json.get("transactionIds").forEach(id -> listed.add(id.textValue()));
            assertThat(json.get("states").intValue()).isEqualTo(7);
            assertThat(json.get("page").intValue()).isEqualTo(page);
            page = json.get("nextPage").intValue();
        }

        assertThat(listed).isEqualTo(ids);
    }

    @Test
    void hasOnePageForAVaultThatFitsIntoIt() throws Exception {
        bridge.node().recorded(SecureHash.randomSHA256(), SINCE);

        JsonNode json = get(ANY + "&since=0");

        assertThat(json.get("node").textValue()).isEqualTo("PartyA");
        assertThat(json.get("transactionIds")).hasSize(1);
        assertThat(json.get("pageSize").intValue()).isEqualTo(1000);
        assertThat(json.get("nextPage").isNull()).isTrue();
    }

    @Test
    void countsWhatHasChangedSinceATime() throws Exception {
        bridge.node().recorded(SecureHash.randomSHA256(), SINCE.minusNanos(1));
        bridge.node().recorded(SecureHash.randomSHA256(), SINCE);

        JsonNode json =
                json(bridge.send("GET", CHANGES + "?since=1790000000.25", "").get(), 200);

        assertThat(json.get("node").textValue()).isEqualTo("PartyA");
        assertThat(json.get("changes"))
                .hasToString("[{\"stateType\":\"com.example.State\",\"recorded\":1,\"consumed\":0}]");
        json(bridge.send("GET", CHANGES + "?since=yesterday", "").get(), 400);
        bridge.node().disconnect();
        json(bridge.send("GET", CHANGES + "?since=0", "").get(), 503);
    }

    @ParameterizedTest
    @CsvSource({
        "?since=0,                                                               stateType",
        "?stateType=net.corda.core.contracts.ContractState,                      since",
        "?stateType=net.corda.core.contracts.ContractState&since=yesterday,      since",
        "?stateType=net.corda.core.contracts.ContractState&since=-1,             since",
        "?stateType=net.corda.core.contracts.ContractState&since=1e9,            since",
        "?stateType=net.corda.core.contracts.ContractState&since=0&page=0,       page",
        "?stateType=net.corda.core.contracts.ContractState&since=0&pageSize=9999, pageSize",
        "?stateType=net.corda.core.contracts.ContractState&since=0&page=2147483647, page",
    })
    void refusesInvalidQueries(String query, String field) throws Exception {
        JsonNode problem = problem(query, ProblemType.INVALID_REQUEST);

        assertThat(problem.get("field").textValue()).isEqualTo(field);
    }

    @Test
    void refusesClassesThatAreNoStates() throws Exception {
        problem("?stateType=java.lang.String&since=0", ProblemType.NOT_FOUND);
        problem("?stateType=com.example.Nothing&since=0", ProblemType.NOT_FOUND);
    }

    @Test
    void cannotListWithoutTheNode() throws Exception {
        bridge.node().disconnect();

        problem(ANY + "&since=0", ProblemType.NODE_UNAVAILABLE);
    }

    private JsonNode get(String query) throws Exception {
        return json(bridge.send("GET", TRANSACTIONS + query, "").get(), 200);
    }

    private JsonNode problem(String query, ProblemType type) throws Exception {
        JsonNode problem = json(bridge.send("GET", TRANSACTIONS + query, "").get(), type.status());
        assertThat(problem.get("type").textValue()).isEqualTo(type.urn());
        return problem;
    }

    private static JsonNode json(HttpResponse<String> answer, int status) {
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
        return Json.read(answer.body().getBytes(StandardCharsets.UTF_8));
    }
}
