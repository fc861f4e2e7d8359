package org.cordalab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.Currency;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
    /** Set for all tests of flows in pom.xml. */
    private static final Path ROWS = Paths.get(System.getenv("LAB_STAGES_FILE"));

    private static final long WRITTEN_SECONDS_MAX = 60;

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

    @Test
    void theRowOfAPartyThatRefusedNamesTheTransactionThatItWasAskedToSign() throws Exception {
        int before = rows().size();
        CordaFuture<?> outcome = payer.startFlow(
                new Iou(100, payee.getInfo().getLegalIdentities().get(0)));
        network.runNetwork();
        assertThrows(ExecutionException.class, outcome::get);

        String refused = awaitFailedRow(before, "\"flow\":\"org.cordalab.flows.IouResponder\"");
        assertTrue(refused.contains("\"entries\":[[\"wait\",0.000],"), refused);
        String asked = awaitFailedRow(before, "\"flow\":\"org.cordalab.flows.Iou\"");
        assertEquals(transactionOf(asked), transactionOf(refused));
    }

    private static List<String> rows() throws IOException {
        return Files.exists(ROWS) ? Files.readAllLines(ROWS) : Collections.emptyList();
    }

    /** Waits for the stage row of a failed flow with this text, behind the first rows, and returns it. */
    private static String awaitFailedRow(int first, String text) throws Exception {
        long deadline = System.nanoTime() + WRITTEN_SECONDS_MAX * 1_000_000_000L;
        while (System.nanoTime() < deadline) {
            List<String> rows = rows();
            for (String row : rows.subList(Math.min(first, rows.size()), rows.size())) {
                if (row.contains(text) && row.contains("\"outcome\":\"failed\"") && row.endsWith("}")) {
                    return row;
                }
            }
            Thread.sleep(50);
        }
        throw new AssertionError("no row has " + text);
    }

    private static String transactionOf(String row) {
        Matcher matcher = Pattern.compile("\"tx_id\":\"([0-9A-F]{64})\"").matcher(row);
        assertTrue(matcher.find(), row);
        return matcher.group(1);
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
