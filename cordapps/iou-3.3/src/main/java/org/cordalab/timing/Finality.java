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
 * Finality as Corda 3 has it: FinalityFlow itself finds the parties, who are those of the states, and a flow of Corda's own
 * records the transaction at their nodes, which a responder can only wait for.
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
