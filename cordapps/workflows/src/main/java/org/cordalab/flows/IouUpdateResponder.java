package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.timing.Stage;
import org.cordalab.timing.TimedFlow;

/** The borrower's side of {@link IouUpdate}, with the same will as {@link IouResponder}. */
@InitiatedBy(IouUpdate.class)
public class IouUpdateResponder extends TimedFlow<SignedTransaction> {
    private final FlowSession lenderSession;

    public IouUpdateResponder(FlowSession lenderSession) {
        this.lenderSession = lenderSession;
    }

    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        stages().enter(Stage.SIGN);
        SignedTransaction signed = subFlow(new SignIou(lenderSession));
        return receiveFinality(lenderSession, signed);
    }
}
