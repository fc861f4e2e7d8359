package org.cordalab.timing;

import co.paralleluniverse.fibers.Suspendable;
import java.util.Collection;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.FinalityFlow;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowLogic;
import net.corda.core.flows.FlowSession;
import net.corda.core.transactions.SignedTransaction;

/**
 * Finality in Corda 3. FinalityFlow itself sends the transaction to the participants of the states, where one of
 * Corda's own flows records it. A responder can only wait for that.
 */
final class Finality {
    private Finality() {}

    static FinalityFlow of(SignedTransaction signed, Collection<FlowSession> sessions) {
        return new FinalityFlow(signed);
    }

    @Suspendable
    static SignedTransaction receive(FlowLogic<?> flow, FlowSession session, SecureHash expectedId)
            throws FlowException {
        return flow.waitForLedgerCommit(expectedId);
    }
}
