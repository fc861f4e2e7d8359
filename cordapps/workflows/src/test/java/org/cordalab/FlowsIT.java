package org.cordalab;

import static java.util.Arrays.asList;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import co.paralleluniverse.fibers.Suspendable;
import java.util.Collections;
import java.util.List;
import net.corda.core.concurrent.CordaFuture;
import net.corda.core.contracts.HashAttachmentConstraint;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.flows.CollectSignaturesFlow;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowLogic;
import net.corda.core.identity.Party;
import net.corda.core.node.services.vault.Builder;
import net.corda.core.node.services.vault.FieldInfo;
import net.corda.core.node.services.vault.QueryCriteria;
import net.corda.core.node.services.vault.QueryCriteria.VaultCustomQueryCriteria;
import net.corda.core.node.services.vault.QueryCriteriaUtils;
import net.corda.core.transactions.SignedTransaction;
import net.corda.core.transactions.TransactionBuilder;
import net.corda.testing.contracts.DummyContract;
import net.corda.testing.node.MockNetwork;
import net.corda.testing.node.StartedMockNode;
import org.cordalab.flows.Empty;
import org.cordalab.flows.Iou;
import org.cordalab.flows.IouPrepare;
import org.cordalab.flows.IouUpdate;
import org.cordalab.schema.IouSchemaV1;
import org.cordalab.states.IouState;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the flows with the packed CorDapps, on nodes that are real except for their messaging. */
class FlowsIT {
    private static MockNetwork network;
    private static StartedMockNode lender;
    private static StartedMockNode borrower;

    @BeforeAll
    static void startNetwork() {
        network = new MockNetwork(MockParties.networkParameters());
        lender = network.createPartyNode(MockParties.LENDER);
        borrower = network.createPartyNode(MockParties.BORROWER);
    }

    @AfterAll
    static void stopNetwork() {
        network.stopNodes();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 99})
    void bothPartiesSignAndRecordAnIouBelowOneHundred(int value) throws Exception {
        SignedTransaction transaction = run(new Iou(value, party(borrower)));

        transaction.verifyRequiredSignatures();
        for (StartedMockNode node : asList(lender, borrower)) {
            IouState iou = recorded(node, transaction).getState().getData();
            assertEquals(value, iou.getValue());
            assertEquals(party(lender), iou.getLender());
            assertEquals(party(borrower), iou.getBorrower());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {100, Integer.MAX_VALUE})
    void theBorrowerRefusesAnIouOfOneHundredOrMore(int value) {
        assertRefused(
                "An IOU is accepted only if its value is below 100, but it is " + value + ".",
                new Iou(value, party(borrower)));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -5, Integer.MIN_VALUE})
    void theLenderRefusesAValueThatIsNotPositive(int value) {
        assertRefused("iouValue must be positive, but it is " + value + ".", new Iou(value, party(borrower)));
    }

    @Test
    void theLenderRefusesToLendToItself() {
        assertRefused(
                "otherParty must be a party other than this node, O=Lender, L=London, C=GB.",
                new Iou(1, party(lender)));
    }

    @Test
    void theBorrowerSignsNothingButAnIou() {
        assertRefused("The transaction's only output must be an IOU.", new SomethingElse(party(borrower)));
    }

    @Test
    void theIouIsBoundToTheHashOfItsContractsJar() throws Exception {
        SignedTransaction transaction = run(new Iou(1, party(borrower)));

        assertInstanceOf(
                HashAttachmentConstraint.class,
                recorded(borrower, transaction).getState().getConstraint());
    }

    @Test
    void theVaultFindsAnIouByItsColumns() throws Exception {
        SignedTransaction transaction = run(new Iou(42, party(borrower)));

        QueryCriteria is42 = valueEquals(42);
        List<StateAndRef<IouState>> found = borrower.transaction(() -> borrower.getServices()
                .getVaultService()
                .queryBy(IouState.class, is42)
                .getStates());
        assertEquals(1, found.size());
        assertEquals(transaction.getId(), found.get(0).getRef().getTxhash());
    }

    @Test
    void theEmptyFlowAnswersNothing() throws Exception {
        assertNull(run(new Empty()));
    }

    @Test
    void theNotarySignsAnIouWithATimeWindowOnly() throws Exception {
        Party notary = network.getDefaultNotaryIdentity();
        SignedTransaction without = run(new Iou(1, party(borrower)));
        SignedTransaction with = run(new Iou(1, party(borrower), true));

        assertFalse(isSignedBy(notary, without));
        assertTrue(isSignedBy(notary, with));
    }

    @Test
    void anUpdateConsumesTheIouBeforeIt() throws Exception {
        String linearId = run(new IouPrepare(1, party(borrower), 2)).get(1);
        int before = vault(borrower).size();

        SignedTransaction first = run(new IouUpdate(linearId, 2));
        SignedTransaction second = run(new IouUpdate(linearId, 3));

        assertEquals(first.getId(), second.getTx().getInputs().get(0).getTxhash());
        assertTrue(isSignedBy(network.getDefaultNotaryIdentity(), second));
        for (StartedMockNode node : asList(lender, borrower)) {
            IouState iou = recorded(node, second).getState().getData();
            assertEquals(3, iou.getValue());
            assertEquals(linearId, iou.getLinearId().getId().toString());
        }
        assertEquals(before, vault(borrower).size());
    }

    @Test
    void anUpdateIsRefusedLikeAnIssue() throws Exception {
        String linearId = run(new IouPrepare(1, party(borrower), 1)).get(0);

        assertRefused("iouValue must be positive, but it is 0.", new IouUpdate(linearId, 0));
        assertRefused(
                "An IOU is accepted only if its value is below 100, but it is 100.", new IouUpdate(linearId, 100));
        assertRefused("linearId must be a UUID, but it is x.", new IouUpdate("x", 1));
        String unknown = "00000000-0000-0000-0000-000000000000";
        assertRefused(
                "linearId must be the id of an IOU in this node's vault, but " + unknown + " is not.",
                new IouUpdate(unknown, 1));
    }

    @Test
    void noMoreIousArePreparedThanTheLimit() {
        assertRefused("count must be 1 to 10000, but it is 0.", new IouPrepare(1, party(borrower), 0));
        assertRefused("count must be 1 to 10000, but it is 10001.", new IouPrepare(1, party(borrower), 10_001));
    }

    private static <T> T run(FlowLogic<T> flow) throws Exception {
        CordaFuture<T> outcome = lender.startFlow(flow);
        network.runNetwork();
        return outcome.get();
    }

    private static void assertRefused(String message, FlowLogic<?> flow) {
        int atLender = vault(lender).size();
        int atBorrower = vault(borrower).size();
        CordaFuture<?> outcome = lender.startFlow(flow);
        network.runNetwork();
        MockParties.assertFailure(message, outcome);
        assertEquals(atLender, vault(lender).size());
        assertEquals(atBorrower, vault(borrower).size());
    }

    private static StateAndRef<IouState> recorded(StartedMockNode node, SignedTransaction transaction) {
        return vault(node).stream()
                .filter(iou -> iou.getRef().getTxhash().equals(transaction.getId()))
                .findFirst()
                .orElseThrow(() -> new AssertionError("Not in the vault: " + transaction.getId()));
    }

    private static List<StateAndRef<IouState>> vault(StartedMockNode node) {
        return node.transaction(() ->
                node.getServices().getVaultService().queryBy(IouState.class).getStates());
    }

    /** Uses raw types, because Corda's types of a column and of a criterion are incompatible in Java. */
    @SuppressWarnings({"rawtypes", "unchecked"})
    private static QueryCriteria valueEquals(int value) throws NoSuchFieldException {
        FieldInfo column = QueryCriteriaUtils.getField("value", IouSchemaV1.PersistentIou.class);
        return new VaultCustomQueryCriteria(Builder.equal(column, value));
    }

    private static boolean isSignedBy(Party party, SignedTransaction transaction) {
        return transaction.getSigs().stream()
                .anyMatch(signature -> signature.getBy().equals(party.getOwningKey()));
    }

    private static Party party(StartedMockNode node) {
        return node.getInfo().getLegalIdentities().get(0);
    }

    /** A request that a lender with flows other than the lab's could send to the borrower's responder. */
    private static final class SomethingElse extends Iou {
        private final Party victim;

        SomethingElse(Party victim) {
            super(1, victim);
            this.victim = victim;
        }

        @Override
        @Suspendable
        protected SignedTransaction run() throws FlowException {
            TransactionBuilder builder = new TransactionBuilder(getServiceHub()
                            .getNetworkMapCache()
                            .getNotaryIdentities()
                            .get(0))
                    .addOutputState(new DummyContract.SingleOwnerState(1, victim), DummyContract.PROGRAM_ID)
                    .addCommand(
                            new DummyContract.Commands.Create(),
                            getOurIdentity().getOwningKey(),
                            victim.getOwningKey());
            return subFlow(new CollectSignaturesFlow(
                    getServiceHub().signInitialTransaction(builder), Collections.singletonList(initiateFlow(victim))));
        }
    }
}
