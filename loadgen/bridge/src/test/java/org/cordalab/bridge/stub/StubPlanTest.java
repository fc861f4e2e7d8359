package org.cordalab.bridge.stub;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import net.corda.core.identity.CordaX500Name;
import org.cordalab.bridge.config.ConfigException;
import org.cordalab.bridge.flow.SampleFlows;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StubPlanTest {

    private static final String CLASSES = "\"flow\": \"org.cordalab.bridge.flow.SampleFlows$Iou\","
            + " \"stateType\": \"net.corda.core.contracts.ContractState\"";
    private static final String NODES =
            "\"nodes\": {\"PartyA\": \"O=PartyA,L=London,C=GB\", \"PartyB\": \"O=PartyB,L=New York,C=US\"}";

    @TempDir
    private Path folder;

    @Test
    void readsAPlan() throws IOException {
        StubPlan plan = read(
                "{%s, %s, \"delaysMs\": [12.5, 400], \"failures\": [1], \"longResults\": [0], \"serveAtOnce\": 4,"
                                .formatted(NODES, CLASSES)
                        + " \"stalls\": [{\"atSeconds\": 10, \"seconds\": 2, \"drainSeconds\": 1}, {\"atSeconds\": 0.5, \"seconds\": 1}]}");

        assertThat(plan.nodes())
                .containsExactly(
                        new StubPlan.Node("PartyA", CordaX500Name.parse("O=PartyA,L=London,C=GB")),
                        new StubPlan.Node("PartyB", CordaX500Name.parse("O=PartyB,L=New York,C=US")));
        assertThat(plan.flow()).isEqualTo(SampleFlows.Iou.class);
        assertThat(plan.delayNanos()).containsExactly(12_500_000, 400_000_000);
        assertThat(plan.failures().get(0)).isFalse();
        assertThat(plan.failures().get(1)).isTrue();
        assertThat(plan.longResults().get(0)).isTrue();
        assertThat(plan.longResults().get(1)).isFalse();
        assertThat(plan.serveAtOnce()).contains(4);
        assertThat(plan.stalls())
                .containsExactly(
                        new StubPlan.Stall(Duration.ofMillis(500), Duration.ofSeconds(1), Duration.ZERO),
                        new StubPlan.Stall(Duration.ofSeconds(10), Duration.ofSeconds(2), Duration.ofSeconds(1)));
    }

    @Test
    void needsOnlyNodesAndDelays() throws IOException {
        StubPlan plan = read("{%s, %s, \"delaysMs\": [1]}".formatted(NODES, CLASSES));

        assertThat(plan.stalls()).isEmpty();
        assertThat(plan.failures().isEmpty()).isTrue();
        assertThat(plan.serveAtOnce()).isEqualTo(Optional.empty());
    }

    @Test
    void namesEveryMistakeAtOnce() throws IOException {
        assertThat(mistakes(
                        "{\"nodes\": {\"PartyA\": \"PartyA\", \"PartyB\": \"O=PartyB,L=London,C=GB\"}, \"delaysMs\": [1, -1], \"failures\": [2],"
                                + " \"serveAtOnce\": 0, \"stalls\": [{\"atSeconds\": 1}], \"flow\": \"com.example.Nothing\","
                                + " \"stateType\": \"java.lang.String\", \"delayMs\": []}"))
                .satisfiesExactly(
                        mistake -> assertThat(mistake).endsWith("delayMs is not a field of a plan"),
                        mistake -> assertThat(mistake).contains("delaysMs[1] must be a number from 0"),
                        mistake -> assertThat(mistake).contains("nodes.PartyA must be an X.500 name"),
                        mistake -> assertThat(mistake)
                                .endsWith("flow com.example.Nothing is not a FlowLogic on the class path"),
                        mistake -> assertThat(mistake)
                                .endsWith("stateType java.lang.String is not a ContractState on the class path"),
                        mistake -> assertThat(mistake)
                                .endsWith("failures must have numbers of flows, from 0 to 1, but has 2"),
                        mistake -> assertThat(mistake).contains("stalls must have elements such as"),
                        mistake -> assertThat(mistake).endsWith("serveAtOnce must be a whole number from 1 on"))
                .allSatisfy(mistake ->
                        assertThat(mistake).startsWith("BRIDGE_STUB: ").contains("plan.json"));
    }

    @Test
    void wantsTwoNodesAndDelays() throws IOException {
        assertThat(mistakes("{%s, \"nodes\": {\"PartyA\": \"O=PartyA,L=London,C=GB\"}}".formatted(CLASSES)))
                .satisfiesExactly(
                        mistake -> assertThat(mistake).contains("delaysMs must be a list of 1 to 1000000 numbers"),
                        mistake -> assertThat(mistake).contains("nodes must be an object with two or more nodes"));
    }

    @Test
    void wantsDifferentNodes() throws IOException {
        assertThat(mistakes("{%s, \"delaysMs\": [1], ".formatted(CLASSES)
                        + "\"nodes\": {\"A\": \"O=Same,L=London,C=GB\", \"B\": \"O=Same,L=London,C=GB\"}}"))
                .singleElement()
                .asString()
                .endsWith("nodes must have different X.500 names");
    }

    @Test
    void saysWhenThereIsNoPlan() throws IOException {
        assertThat(mistakes("{\"nodes\": ")).singleElement().asString().contains("plan.json: Line 1, column");
        assertThat(mistakes("[]")).isNotEmpty();
        Files.delete(folder.resolve("plan.json"));
        assertThat(catchThrowableOfType(ConfigException.class, this::readAgain).mistakes())
                .singleElement()
                .asString()
                .startsWith("BRIDGE_STUB: cannot read ");
    }

    private StubPlan read(String json) throws IOException {
        Files.writeString(folder.resolve("plan.json"), json);
        return readAgain();
    }

    private StubPlan readAgain() {
        return StubPlan.read(folder.resolve("plan.json"), StubPlanTest.class.getClassLoader());
    }

    private List<String> mistakes(String json) throws IOException {
        Files.writeString(folder.resolve("plan.json"), json);
        return catchThrowableOfType(ConfigException.class, this::readAgain).mistakes();
    }
}
