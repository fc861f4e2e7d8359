package org.cordalab.timing;

import co.paralleluniverse.fibers.Suspendable;
import java.util.Collection;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.FinalityFlow;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowLogic;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.ReceiveFinalityFlow;
import net.corda.core.transactions.SignedTransaction;

/** Finality in Corda 4. {@code cordapps/iou-3.3} has the version for Corda 3 and shares the rest of this package. */
final class Finality {
    private Finality() {}

    static FinalityFlow of(SignedTransaction signed, Collection<FlowSession> sessions) {
        return new FinalityFlow(signed, sessions);
    }

    @Suspendable
    static SignedTransaction receive(FlowLogic<?> flow, FlowSession session, SecureHash expectedId)
            throws FlowException {
        return flow.subFlow(new ReceiveFinalityFlow(session, expectedId));
    }
}
