package org.cordalab.contracts;

import static java.util.Arrays.asList;
import static net.corda.testing.node.NodeTestUtils.transaction;

import java.security.PublicKey;
import java.util.List;
import java.util.function.Consumer;
import net.corda.core.identity.CordaX500Name;
import net.corda.testing.core.TestIdentity;
import net.corda.testing.dsl.TransactionDSL;
import net.corda.testing.node.MockServices;
import org.cordalab.states.CashState;
import org.cordalab.states.StockState;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tests each rule of {@link AssetContract} with a transaction that breaks only that rule. */
class AssetContractTest {
    private static final TestIdentity ALICE = new TestIdentity(new CordaX500Name("Alice", "London", "GB"));
    private static final TestIdentity BOB = new TestIdentity(new CordaX500Name("Bob", "New York", "US"));
    private static final List<PublicKey> BOTH = asList(ALICE.getPublicKey(), BOB.getPublicKey());

    private static MockServices services;

    @BeforeAll
    static void startServices() {
        services = new MockServices(asList("org.cordalab.contracts"), ALICE, BOB);
    }

    @Test
    void acceptsAnIssueOfSeveral() {
        accepts(tx -> {
            tx.output(AssetContract.ID, cash(ALICE, ALICE, 1));
            tx.output(AssetContract.ID, stock(ALICE, BOB, 2));
            tx.command(ALICE.getPublicKey(), new AssetContract.Commands.Issue());
        });
    }

    @Test
    void acceptsASplitAndAMerge() {
        accepts(tx -> {
            tx.input(AssetContract.ID, cash(ALICE, ALICE, 5));
            tx.input(AssetContract.ID, cash(ALICE, ALICE, 2));
            tx.output(AssetContract.ID, cash(ALICE, BOB, 6));
            tx.output(AssetContract.ID, cash(ALICE, ALICE, 1));
            tx.command(ALICE.getPublicKey(), new AssetContract.Commands.Move());
        });
    }

    @Test
    void acceptsAnExchangeThatBothSign() {
        accepts(tx -> {
            tx.input(AssetContract.ID, cash(ALICE, ALICE, 5));
            tx.input(AssetContract.ID, stock(BOB, BOB, 3));
            tx.output(AssetContract.ID, cash(ALICE, BOB, 5));
            tx.output(AssetContract.ID, stock(BOB, ALICE, 3));
            tx.command(BOTH, new AssetContract.Commands.Move());
        });
    }

    @Test
    void refusesAnExchangeThatOneSideHasNotSigned() {
        refuses("The owners of the inputs sign a move.", tx -> {
            tx.input(AssetContract.ID, cash(ALICE, ALICE, 5));
            tx.input(AssetContract.ID, stock(BOB, BOB, 3));
            tx.output(AssetContract.ID, cash(ALICE, BOB, 5));
            tx.output(AssetContract.ID, stock(BOB, ALICE, 3));
            tx.command(ALICE.getPublicKey(), new AssetContract.Commands.Move());
        });
    }

    @Test
    void refusesToMakeMoneyInAMove() {
        refuses("A move keeps every sum.", tx -> {
            tx.input(AssetContract.ID, cash(ALICE, ALICE, 5));
            tx.output(AssetContract.ID, cash(ALICE, BOB, 6));
            tx.command(ALICE.getPublicKey(), new AssetContract.Commands.Move());
        });
    }

    @Test
    void refusesToLoseMoneyInAMove() {
        refuses("A move keeps every sum.", tx -> {
            tx.input(AssetContract.ID, cash(ALICE, ALICE, 5));
            tx.output(AssetContract.ID, cash(ALICE, BOB, 4));
            tx.command(ALICE.getPublicKey(), new AssetContract.Commands.Move());
        });
    }

    @Test
    void refusesToTurnCashIntoStock() {
        refuses("A move keeps every sum.", tx -> {
            tx.input(AssetContract.ID, cash(ALICE, ALICE, 5));
            tx.output(AssetContract.ID, stock(ALICE, ALICE, 5));
            tx.command(ALICE.getPublicKey(), new AssetContract.Commands.Move());
        });
    }

    @Test
    void refusesToChangeTheIssuer() {
        refuses("A move keeps every sum.", tx -> {
            tx.input(AssetContract.ID, cash(ALICE, ALICE, 5));
            tx.output(AssetContract.ID, cash(BOB, ALICE, 5));
            tx.command(BOTH, new AssetContract.Commands.Move());
        });
    }

    @Test
    void refusesAQuantityThatIsNotPositive() {
        refuses("An asset's quantity is positive.", tx -> {
            tx.output(AssetContract.ID, cash(ALICE, ALICE, 0));
            tx.command(ALICE.getPublicKey(), new AssetContract.Commands.Issue());
        });
        refuses("An asset's quantity is positive.", tx -> {
            tx.input(AssetContract.ID, cash(ALICE, ALICE, 5));
            tx.output(AssetContract.ID, cash(ALICE, BOB, 6));
            tx.output(AssetContract.ID, cash(ALICE, ALICE, -1));
            tx.command(ALICE.getPublicKey(), new AssetContract.Commands.Move());
        });
    }

    @Test
    void refusesSumsBeyondALong() {
        refuses("long overflow", tx -> {
            tx.input(AssetContract.ID, cash(ALICE, ALICE, Long.MAX_VALUE));
            tx.input(AssetContract.ID, cash(ALICE, ALICE, Long.MAX_VALUE));
            tx.output(AssetContract.ID, cash(ALICE, ALICE, 1));
            tx.command(ALICE.getPublicKey(), new AssetContract.Commands.Move());
        });
    }

    @Test
    void refusesAnIssueThatTheIssuerHasNotSigned() {
        refuses("The issuers sign an issue.", tx -> {
            tx.output(AssetContract.ID, cash(ALICE, BOB, 1));
            tx.command(BOB.getPublicKey(), new AssetContract.Commands.Issue());
        });
    }

    @Test
    void refusesAnIssueThatConsumes() {
        refuses("An issue consumes no assets.", tx -> {
            tx.input(AssetContract.ID, cash(ALICE, ALICE, 1));
            tx.output(AssetContract.ID, cash(ALICE, ALICE, 2));
            tx.command(ALICE.getPublicKey(), new AssetContract.Commands.Issue());
        });
    }

    private static CashState cash(TestIdentity issuer, TestIdentity owner, long quantity) {
        return new CashState(issuer.getParty(), owner.getParty(), quantity, "GBP");
    }

    private static StockState stock(TestIdentity issuer, TestIdentity owner, long quantity) {
        return new StockState(issuer.getParty(), owner.getParty(), quantity, "LAB");
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
}
