package org.cordalab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.Currency;
import java.util.Set;
import java.util.TreeSet;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import net.corda.core.concurrent.CordaFuture;
import net.corda.core.contracts.Amount;
import net.corda.core.flows.FlowLogic;
import net.corda.testing.node.MockNetwork;
import net.corda.testing.node.StartedMockNode;
import org.cordalab.flows.CashIssueAndPay;
import org.cordalab.flows.Iou;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tests the stage statistics of flows, read in the same way as by the JMX exporter. They cover the whole JVM. */
class StageTimingIT {
    private static final MBeanServer MBEANS = ManagementFactory.getPlatformMBeanServer();

    private static MockNetwork network;
    private static StartedMockNode payer;
    private static StartedMockNode payee;

    @BeforeAll
    static void startNetwork() {
        network = new MockNetwork(MockParties.networkParameters());
        payer = network.createPartyNode(MockParties.LENDER);
        payee = network.createPartyNode(MockParties.BORROWER);
    }

    @AfterAll
    static void stopNetwork() {
        network.stopNodes();
    }

    @Test
    void theStagesOfANotarisedPaymentAddUpToTheWhole() throws Exception {
        double before = sum("CashIssueAndPay", "initiator", null);
        double totalBefore = sum("CashIssueAndPay", "initiator", "total");
        run(new CashIssueAndPay(
                new Amount<>(100, Currency.getInstance("GBP")),
                payee.getInfo().getLegalIdentities().get(0)));

        assertTrue(stages("CashIssueAndPay", "initiator").contains("notarise"));
        assertTrue(stages("CashIssueAndPay", "initiator").contains("finalise"));
        double stages = sum("CashIssueAndPay", "initiator", null) - before;
        double total = sum("CashIssueAndPay", "initiator", "total") - totalBefore;
        assertEquals(total, stages, 1e-6);
        assertTrue(total > 0);
    }

    @Test
    void anIouWithoutATimeWindowKnowsNoNotary() throws Exception {
        long before = count("Iou", "initiator", "total");
        run(new Iou(1, payee.getInfo().getLegalIdentities().get(0)));

        assertEquals(before + 1, count("Iou", "initiator", "total"));
        assertTrue(stages("Iou", "initiator").contains("collect_signatures"));
        assertTrue(stages("IouResponder", "responder").contains("record"));
    }

    @Test
    void theBucketsAreCumulative() throws Exception {
        run(new Iou(2, payee.getInfo().getLegalIdentities().get(0)));

        ObjectName name = name("Iou", "initiator", "total");
        long largest = (long) MBEANS.getAttribute(name, "le_Inf");
        assertEquals(count("Iou", "initiator", "total"), largest);
        assertTrue((long) MBEANS.getAttribute(name, "le_0_001") <= (long) MBEANS.getAttribute(name, "le_2_5"));
        assertTrue((long) MBEANS.getAttribute(name, "le_2_5") <= largest);
    }

    private static void run(FlowLogic<?> flow) throws Exception {
        CordaFuture<?> outcome = payer.startFlow(flow);
        network.runNetwork();
        outcome.get();
    }

    private static Set<String> stages(String flow, String role) throws Exception {
        Set<String> found = new TreeSet<>();
        for (ObjectName each : MBEANS.queryNames(name(flow, role, "*"), null)) {
            found.add(each.getKeyProperty("stage"));
        }
        return found;
    }

    /** Returns the seconds in one stage; if {@code stage} is null, in all stages except {@code total}. */
    private static double sum(String flow, String role, String stage) throws Exception {
        double seconds = 0;
        for (ObjectName each : MBEANS.queryNames(name(flow, role, stage == null ? "*" : stage), null)) {
            if (stage != null || !each.getKeyProperty("stage").equals("total")) {
                seconds += (double) MBEANS.getAttribute(each, "Sum");
            }
        }
        return seconds;
    }

    private static long count(String flow, String role, String stage) throws Exception {
        ObjectName name = name(flow, role, stage);
        return MBEANS.isRegistered(name) ? (long) MBEANS.getAttribute(name, "Count") : 0;
    }

    private static ObjectName name(String flow, String role, String stage) throws Exception {
        return new ObjectName("org.cordalab:type=Stages,flow=" + flow + ",role=" + role + ",stage=" + stage);
    }
}
