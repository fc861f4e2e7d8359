package org.cordalab;

import java.util.Collections;
import net.corda.core.concurrent.CordaFuture;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import net.corda.testing.core.TestIdentity;
import net.corda.testing.node.MockNetwork;
import net.corda.testing.node.StartedMockNode;
import org.cordalab.flows.Iou;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Separate from {@link FlowsIT}, because a JVM can have only one mock network at a time. */
class FlowsWithoutNotaryIT {
    private static MockNetwork network;

    @BeforeAll
    static void startNetwork() {
        network = new MockNetwork(MockParties.networkParameters().withNotarySpecs(Collections.emptyList()));
    }

    @AfterAll
    static void stopNetwork() {
        network.stopNodes();
    }

    @Test
    void theLenderRefusesANetworkWithoutANotary() {
        StartedMockNode lender = network.createPartyNode(MockParties.LENDER);
        Party borrower = new TestIdentity(MockParties.BORROWER).getParty();
        CordaFuture<SignedTransaction> outcome = lender.startFlow(new Iou(1, borrower));
        network.runNetwork();
        MockParties.assertFailure(
                "The network parameters name no notary, so no transaction can be finalised.", outcome);
    }
}
