package org.cordalab.bridge.problem;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;

class ProblemTest {

    @Test
    void rendersAllMembers() {
        ObjectNode json = new Problem(ProblemType.FLOW_FAILED, "too much")
                .field("args.iouValue")
                .exception("net.corda.core.flows.FlowException")
                .clientId("c1")
                .flowId("f1")
                .toJson("/v1/nodes/PartyA/flows");

        assertThat(json.toString())
                .isEqualTo(
                        "{\"type\":\"urn:corda-lab:problem:flow-failed\",\"title\":\"The flow failed\",\"status\":502,"
                                + "\"detail\":\"too much\",\"instance\":\"/v1/nodes/PartyA/flows\",\"field\":\"args.iouValue\","
                                + "\"exception\":\"net.corda.core.flows.FlowException\",\"clientId\":\"c1\",\"flowId\":\"f1\"}");
    }

    @Test
    void leavesOutWhatIsNotKnown() {
        ObjectNode json =
                new Problem(ProblemType.FLOW_FAILED, "refused").flowId(null).toJson("/");

        assertThat(json.has("flowId")).isFalse();
    }

    @Test
    void cutsLongDetails() {
        ObjectNode json = new Problem(ProblemType.FLOW_FAILED, "x".repeat(100_000)).toJson("/");

        assertThat(json.get("detail").textValue()).hasSizeLessThan(2100).endsWith("…");
    }
}
