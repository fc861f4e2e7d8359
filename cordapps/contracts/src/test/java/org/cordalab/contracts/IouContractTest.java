package org.cordalab.contracts;

import static java.util.Arrays.asList;
import static net.corda.testing.node.NodeTestUtils.transaction;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.security.PublicKey;
import java.util.List;
import java.util.function.Consumer;
import net.corda.core.contracts.TypeOnlyCommandData;
import net.corda.core.contracts.UniqueIdentifier;
import net.corda.core.identity.CordaX500Name;
import net.corda.testing.contracts.DummyContract;
import net.corda.testing.contracts.DummyState;
import net.corda.testing.core.TestIdentity;
import net.corda.testing.dsl.TransactionDSL;
import net.corda.testing.node.MockServices;
import org.cordalab.states.IouState;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests each rule of {@link IouContract} with a transaction that breaks only that rule. */
class IouContractTest {
    private static final TestIdentity LENDER = new TestIdentity(new CordaX500Name("Lender", "London", "GB"));
    private static final TestIdentity BORROWER = new TestIdentity(new CordaX500Name("Borrower", "New York", "US"));
    private static final List<PublicKey> BOTH = asList(LENDER.getPublicKey(), BORROWER.getPublicKey());

    private static MockServices services;

    @BeforeAll
    static void startServices() {
        services = new MockServices(asList("org.cordalab.contracts", "net.corda.testing.contracts"), LENDER, BORROWER);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 99, 100, Integer.MAX_VALUE})
    void acceptsAnyPositiveValueThatBothSign(int value) {
        accepts(tx -> {
            tx.output(IouContract.ID, iou(value));
            tx.command(BOTH, new IouContract.Commands.Create());
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, Integer.MIN_VALUE})
    void refusesAValueThatIsNotPositive(int value) {
        refuses("The IOU's value is positive.", tx -> {
            tx.output(IouContract.ID, iou(value));
            tx.command(BOTH, new IouContract.Commands.Create());
        });
    }

    @Test
    void refusesAnIouToOneself() {
        refuses("The lender and the borrower are not the same party.", tx -> {
            tx.output(IouContract.ID, new IouState(1, LENDER.getParty(), LENDER.getParty(), new UniqueIdentifier()));
            tx.command(BOTH, new IouContract.Commands.Create());
        });
    }

    @Test
    void refusesATransactionThatOnlyTheLenderSigns() {
        refuses("The lender and the borrower both sign.", tx -> {
            tx.output(IouContract.ID, iou(1));
            tx.command(LENDER.getPublicKey(), new IouContract.Commands.Create());
        });
    }

    @Test
    void refusesATransactionThatOnlyTheBorrowerSigns() {
        refuses("The lender and the borrower both sign.", tx -> {
            tx.output(IouContract.ID, iou(1));
            tx.command(BORROWER.getPublicKey(), new IouContract.Commands.Create());
        });
    }

    @Test
    void refusesToConsumeAnIou() {
        refuses("A new IOU consumes no inputs.", tx -> {
            tx.input(IouContract.ID, iou(1));
            tx.output(IouContract.ID, iou(1));
            tx.command(BOTH, new IouContract.Commands.Create());
        });
    }

    @Test
    void acceptsAnUpdateOfTheValue() {
        IouState before = iou(1);
        accepts(tx -> {
            tx.input(IouContract.ID, before);
            tx.output(IouContract.ID, before.withValue(2));
            tx.command(BOTH, new IouContract.Commands.Update());
        });
    }

    @Test
    void refusesAnUpdateOfAnotherIou() {
        refuses("An update keeps the identifier and the parties.", tx -> {
            tx.input(IouContract.ID, iou(1));
            tx.output(IouContract.ID, iou(2));
            tx.command(BOTH, new IouContract.Commands.Update());
        });
    }

    @Test
    void refusesAnUpdateThatSwapsTheParties() {
        IouState before = iou(1);
        IouState swapped = new IouState(1, before.getBorrower(), before.getLender(), before.getLinearId());
        refuses("An update keeps the identifier and the parties.", tx -> {
            tx.input(IouContract.ID, before);
            tx.output(IouContract.ID, swapped);
            tx.command(BOTH, new IouContract.Commands.Update());
        });
    }

    @Test
    void refusesAnUpdateOfNothing() {
        refuses("An update consumes one IOU and nothing else.", tx -> {
            tx.output(IouContract.ID, iou(1));
            tx.command(BOTH, new IouContract.Commands.Update());
        });
    }

    @Test
    void refusesAnUpdateThatOnlyTheLenderSigns() {
        IouState before = iou(1);
        refuses("The lender and the borrower both sign.", tx -> {
            tx.input(IouContract.ID, before);
            tx.output(IouContract.ID, before.withValue(2));
            tx.command(LENDER.getPublicKey(), new IouContract.Commands.Update());
        });
    }

    @Test
    void refusesTwoIousAtOnce() {
        refuses("An IOU is the only output.", tx -> {
            tx.output(IouContract.ID, iou(1));
            tx.output(IouContract.ID, iou(1));
            tx.command(BOTH, new IouContract.Commands.Create());
        });
    }

    @Test
    void refusesAStateOfAnotherKindBesideTheIou() {
        refuses("An IOU is the only output.", tx -> {
            tx.output(IouContract.ID, iou(1));
            tx.output(DummyContract.PROGRAM_ID, new DummyState());
            tx.command(BOTH, new IouContract.Commands.Create());
        });
    }

    @Test
    void refusesACommandOfAnotherKind() {
        refuses("Required org.cordalab.contracts.IouContract.Commands command", tx -> {
            tx.output(IouContract.ID, iou(1));
            tx.command(BOTH, new OtherCommand());
        });
    }

    @Test
    void isNamedAfterItsClass() {
        assertEquals("org.cordalab.contracts.IouContract", IouContract.ID);
    }

    private static IouState iou(int value) {
        return new IouState(value, LENDER.getParty(), BORROWER.getParty(), new UniqueIdentifier());
    }

    private static void accepts(Consumer<TransactionDSL<?>> script) {
        transaction(services, tx -> {
            script.accept(tx);
            return tx.verifies();
        });
    }

    private static void refuses(String message, Consumer<TransactionDSL<?>> script) {
        transaction(services, tx -> {
            script.accept(tx);
            return tx.failsWith(message);
        });
    }

    private static final class OtherCommand extends TypeOnlyCommandData {}
}
