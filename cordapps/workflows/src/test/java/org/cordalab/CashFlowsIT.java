package org.cordalab;

import static java.util.Arrays.asList;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Currency;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import net.corda.core.concurrent.CordaFuture;
import net.corda.core.contracts.Amount;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import net.corda.core.flows.FlowLogic;
import net.corda.core.identity.AnonymousParty;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import net.corda.testing.node.MockNetwork;
import net.corda.testing.node.StartedMockNode;
import org.cordalab.flows.CashIssue;
import org.cordalab.flows.CashIssueAndPay;
import org.cordalab.flows.CashPrepare;
import org.cordalab.flows.CashRepeatedPay;
import org.cordalab.flows.DoubleSpend;
import org.cordalab.states.Asset;
import org.cordalab.states.CashState;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests the cash flows. Each test has a payer of its own, so that there are no other coins; a network takes longer. */
class CashFlowsIT {
    private static final Currency POUND = Currency.getInstance("GBP");

    private static MockNetwork network;
    private static StartedMockNode payee;
    private static int payers;

    private StartedMockNode payer;
    private Set<StateRef> before;

    @BeforeAll
    static void startNetwork() {
        network = new MockNetwork(MockParties.networkParameters());
        payee = network.createPartyNode(MockParties.BORROWER);
    }

    @AfterAll
    static void stopNetwork() {
        network.stopNodes();
    }

    @BeforeEach
    void startPayer() {
        payer = network.createPartyNode(new CordaX500Name("Payer " + ++payers, "London", "GB"));
        before = vault(payee).stream().map(StateAndRef::getRef).collect(Collectors.toSet());
    }

    @Test
    void anIssueStaysInTheOwnVaultAndIsNotNotarised() throws Exception {
        SignedTransaction issued = run(new CashIssue(pounds(5)));

        assertEquals(asList(500L), coins(payer));
        assertEquals(asList(), coins(payee));
        assertEquals(1, issued.getSigs().size());
    }

    @Test
    void theVaultFindsCashByTheInterfaceOfAllAssets() throws Exception {
        run(new CashIssue(pounds(5)));

        int found = payer.transaction(() -> payer.getServices()
                .getVaultService()
                .queryBy(Asset.class)
                .getStates()
                .size());
        assertEquals(1, found);
    }

    @Test
    void aPaymentSpendsTheCoinJustIssued() throws Exception {
        run(new CashIssue(pounds(7)));

        SignedTransaction paid = run(new CashIssueAndPay(pounds(5), party(payee)));

        assertEquals(asList(700L), coins(payer));
        assertEquals(asList(500L), coins(payee));
        assertTrue(paid.getSigs().stream()
                .anyMatch(each ->
                        each.getBy().equals(network.getDefaultNotaryIdentity().getOwningKey())));
    }

    @Test
    void coinSelectionSpendsTheLargestAndKeepsTheChange() throws Exception {
        run(new CashIssue(pounds(7)));

        run(new CashIssueAndPay(pounds(5), party(payee), true, false));

        assertEquals(asList(200L, 500L), coins(payer));
        assertEquals(asList(500L), coins(payee));
    }

    @Test
    void anAnonymousPayeeIsAKeyThatItsNodeKnows() throws Exception {
        run(new CashIssueAndPay(pounds(5), party(payee), false, true));

        List<CashState> found = states(payee);
        assertEquals(1, found.size());
        assertInstanceOf(AnonymousParty.class, found.get(0).getOwner());
        assertFalse(found.get(0).getOwner().getOwningKey().equals(party(payee).getOwningKey()));
    }

    @Test
    void aRepeatedPaymentMakesOneStatePerUnitAndTheChange() throws Exception {
        run(new CashPrepare(pounds(10), 1));

        SignedTransaction paid = run(new CashRepeatedPay(party(payee), 3));

        assertEquals(4, paid.getTx().getOutputStates().size());
        assertEquals(asList(100L, 100L, 100L), coins(payee));
        assertEquals(asList(700L), coins(payer));
    }

    @Test
    void paymentsAtOnceNeverTakeTheSameCoin() throws Exception {
        run(new CashPrepare(pounds(10), 4));
        List<CordaFuture<SignedTransaction>> outcomes = new ArrayList<>();
        for (int each = 0; each < 4; each++) {
            outcomes.add(payer.startFlow(new CashRepeatedPay(party(payee), 1)));
        }
        network.runNetwork();

        HashSet<Object> spent = new HashSet<>();
        for (CordaFuture<SignedTransaction> outcome : outcomes) {
            spent.addAll(outcome.get().getTx().getInputs());
        }
        assertEquals(4, spent.size());
        assertEquals(asList(900L, 900L, 900L, 900L), coins(payer));
    }

    @Test
    void theChangeCanBeSpentAgain() throws Exception {
        run(new CashPrepare(pounds(10), 1));
        for (int each = 0; each < 5; each++) {
            run(new CashRepeatedPay(party(payee), 2));
        }
        assertEquals(asList(), coins(payer));
        assertRefused(
                "This node has no free coin worth 100 or more: prepare some with CashPrepare.",
                new CashRepeatedPay(party(payee), 1));
    }

    @Test
    void aGivenCoinIsSpentAndNoOther() throws Exception {
        List<String> prepared = run(new CashPrepare(pounds(10), 150));
        assertEquals(150, new HashSet<>(prepared).size());

        SignedTransaction paid = run(new CashRepeatedPay(party(payee), 1, prepared.get(120)));

        assertEquals(prepared.get(120), paid.getTx().getInputs().get(0).toString());
    }

    @Test
    void aCoinThatWasNotSpentIsFreeAgain() throws Exception {
        String coin = run(new CashPrepare(pounds(1), 1)).get(0);
        assertRefused(
                "coin must be worth 500 or more, but " + coin + " is worth 100.",
                new CashRepeatedPay(party(payee), 5, coin));

        run(new CashRepeatedPay(party(payee), 1));
        assertEquals(asList(100L), coins(payee));
    }

    @Test
    void aCoinCannotBeSpentTwiceAtOnce() throws Exception {
        SignedTransaction winner = run(new DoubleSpend(party(payee)));

        assertEquals(1, winner.getTx().getInputs().size());
        assertEquals(asList(), coins(payer));
        assertEquals(100L, coins(payee).stream().mapToLong(Long::longValue).sum());
    }

    @Test
    void argumentsThatMakeNoSenseAreRefused() {
        assertRefused("amount must be positive, but it is 0.", new CashIssue(pounds(0)));
        assertRefused("amount must be positive, but it is 0.", new CashIssueAndPay(pounds(0), party(payee)));
        assertRefused("count must be 1 to 10000, but it is 0.", new CashPrepare(pounds(1), 0));
        assertRefused("numberOfStatesPerTx must be 1 to 1000, but it is 0.", new CashRepeatedPay(party(payee), 0));
        String itself = "otherPartyName must be a party other than this node, " + party(payer) + ".";
        assertRefused(itself, new CashRepeatedPay(party(payer), 1));
        assertRefused(itself, new DoubleSpend(party(payer)));
        assertRefused(
                "coin must be a state reference, <transaction id>(<index>), but it is x.",
                new CashRepeatedPay(party(payee), 1, "x"));
        assertRefused(
                "notaryName must be a notary of this network, but it is O=Borrower, L=New York, C=US.",
                new CashIssue(pounds(1), party(payee)));
    }

    @Test
    void aCoinThatThisNodeDoesNotHaveIsRefused() throws Exception {
        String unknown = String.join("", Collections.nCopies(64, "0")) + "(0)";
        assertRefused(
                "coin must be a state that this node has, but " + unknown + " is not.",
                new CashRepeatedPay(party(payee), 1, unknown));
        SignedTransaction paid = run(new CashIssueAndPay(pounds(5), party(payee)));
        String ofOther = paid.getId() + "(0)";
        assertRefused(
                "coin must be a CashState of this node, but " + ofOther + " is not.",
                new CashRepeatedPay(party(payee), 1, ofOther));
    }

    private <T> T run(FlowLogic<T> flow) throws Exception {
        CordaFuture<T> outcome = payer.startFlow(flow);
        network.runNetwork();
        return outcome.get();
    }

    private void assertRefused(String message, FlowLogic<?> flow) {
        CordaFuture<?> outcome = payer.startFlow(flow);
        network.runNetwork();
        MockParties.assertFailure(message, outcome);
    }

    /** Returns the quantities of a node's unspent coins of this test, sorted. */
    private List<Long> coins(StartedMockNode node) {
        List<Long> quantities = new ArrayList<>();
        states(node).forEach(each -> quantities.add(each.getQuantity()));
        quantities.sort(null);
        return quantities;
    }

    private List<CashState> states(StartedMockNode node) {
        return vault(node).stream()
                .filter(each -> !before.contains(each.getRef()))
                .map(each -> each.getState().getData())
                .collect(Collectors.toList());
    }

    private static List<StateAndRef<CashState>> vault(StartedMockNode node) {
        return node.transaction(() -> new ArrayList<>(
                node.getServices().getVaultService().queryBy(CashState.class).getStates()));
    }

    private static Amount<Currency> pounds(long units) {
        return new Amount<>(units * 100, POUND);
    }

    private static Party party(StartedMockNode node) {
        return node.getInfo().getLegalIdentities().get(0);
    }
}
