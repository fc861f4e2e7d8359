package org.cordalab;

import static java.util.Arrays.asList;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.concurrent.ExecutionException;
import net.corda.core.concurrent.CordaFuture;
import net.corda.core.flows.FlowException;
import net.corda.core.identity.CordaX500Name;
import net.corda.testing.node.MockNetworkParameters;
import net.corda.testing.node.TestCordapp;

/** The parties of the flow tests and the CorDapps that their nodes run. */
final class MockParties {
    static final CordaX500Name LENDER = new CordaX500Name("Lender", "London", "GB");
    static final CordaX500Name BORROWER = new CordaX500Name("Borrower", "New York", "US");

    private MockParties() {}

    static MockNetworkParameters networkParameters() {
        return new MockNetworkParameters()
                .withCordappsForAllNodes(asList(
                        TestCordapp.findCordapp("org.cordalab.contracts"),
                        TestCordapp.findCordapp("org.cordalab.flows"),
                        TestCordapp.findCordapp("net.corda.testing.contracts")));
    }

    /** Expects a {@link FlowException}, because a production node passes no other exception's message to its client. */
    static void assertFailure(String message, CordaFuture<?> outcome) {
        Throwable failure = assertThrows(ExecutionException.class, outcome::get).getCause();
        assertInstanceOf(FlowException.class, failure);
        assertEquals(message, failure.getMessage());
    }
}
