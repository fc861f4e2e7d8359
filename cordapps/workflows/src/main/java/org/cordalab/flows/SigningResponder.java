package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.SignTransactionFlow;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.timing.TimedFlow;

/** The responder to a flow that needs a signature: checks, signs and records one transaction. */
abstract class SigningResponder extends TimedFlow<SignedTransaction> {
    private final FlowSession session;

    SigningResponder(FlowSession session) {
        this.session = session;
    }

    /** Returns the flow that checks and signs the transaction from the session. */
    abstract SignTransactionFlow signer(FlowSession session);

    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        SignedTransaction signed = subFlow(signer(session));
        return receiveFinality(session, signed);
    }
}
