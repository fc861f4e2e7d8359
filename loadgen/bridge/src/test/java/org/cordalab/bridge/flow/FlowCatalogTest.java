package org.cordalab.bridge.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.util.List;
import net.corda.finance.flows.CashIssueFlow;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FlowCatalogTest {

    private static final String IOU = SampleFlows.Iou.class.getName();

    private static final String INITIATOR = SampleFlows.Proposal.Initiator.class.getName();

    private final FlowCatalog catalog = catalog(
            IOU,
            SampleFlows.Empty.class.getName(),
            INITIATOR,
            CashIssueFlow.class.getName(),
            "com.example.one.Twin",
            "com.example.two.Twin",
            "com.example.one.Acceptance$Responder",
            "com.example.two.Modification$Responder");

    @ParameterizedTest
    @ValueSource(strings = {"org.cordalab.bridge.flow.SampleFlows$Iou", "SampleFlows$Iou", "SampleFlows.Iou", "Iou"})
    void findsAFlowByAnyUniqueEndOfItsName(String name) {
        assertThat(catalog.find(name).flowClass()).isEqualTo(SampleFlows.Iou.class);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Initiator",
                "Proposal$Initiator",
                "Proposal.Initiator",
                "SampleFlows.Proposal.Initiator",
                "org.cordalab.bridge.flow.SampleFlows.Proposal.Initiator",
            })
    void findsANestedFlowAsSourceCodeNamesIt(String name) {
        assertThat(catalog.find(name).flowClass()).isEqualTo(SampleFlows.Proposal.Initiator.class);
    }

    @Test
    void listsTheNestedFlowsThatANameMayMean() {
        assertThat(problem("Responder"))
                .hasMessageContaining("com.example.one.Acceptance$Responder, com.example.two.Modification$Responder");
    }

    @Test
    void prefersTheFlowWithTheWholeNameToNestedOnes() {
        FlowCatalog ofTwo = catalog("com.example.Iou", IOU);

        assertThat(ofTwo.shortName("com.example.Iou")).isEqualTo("Iou");
        assertThat(catchThrowableOfType(Problem.class, () -> ofTwo.find("Iou")))
                .hasMessageContaining("cannot load its class");
        assertThat(ofTwo.find("SampleFlows.Iou").flowClass()).isEqualTo(SampleFlows.Iou.class);
    }

    @Test
    void listsWhatThereIsWhenAFlowIsUnknown() {
        Problem problem = problem("Payment");

        assertThat(problem.type()).isEqualTo(ProblemType.UNKNOWN_FLOW);
        assertThat(problem).hasMessageContaining("\"Payment\"").hasMessageContaining("CashIssueFlow");
    }

    @Test
    void asksForTheClassNameWhenAShortNameMeansTwo() {
        assertThat(problem("Twin"))
                .hasMessageContaining("com.example.one.Twin, com.example.two.Twin")
                .hasMessageContaining("Give the class name");
        assertThat(catalog.shortName("com.example.one.Twin")).isEqualTo("com.example.one.Twin");
    }

    @Test
    void saysWhenTheBridgeLacksTheClass() {
        assertThat(problem("com.example.one.Twin")).hasMessageContaining("cannot load its class");
        assertThat(catalog.loadable("com.example.one.Twin")).isEmpty();
    }

    @Test
    void readsJavaConstructors() {
        assertThat(catalog.find("Iou").constructors()).hasToString("[(iouValue: int, otherParty: Party)]");
    }

    @Test
    void readsKotlinConstructors() {
        assertThat(catalog.find("CashIssueFlow").constructors().toString())
                .contains("(amount: Amount<Currency>, issuerBankPartyRef: OpaqueBytes, notary: Party)");
    }

    private Problem problem(String name) {
        return catchThrowableOfType(Problem.class, () -> catalog.find(name));
    }

    private static FlowCatalog catalog(String... classNames) {
        return new FlowCatalog(List.of(classNames), FlowCatalogTest.class.getClassLoader());
    }
}
