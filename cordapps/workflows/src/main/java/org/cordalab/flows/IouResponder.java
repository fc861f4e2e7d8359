package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.timing.Stage;
import org.cordalab.timing.TimedFlow;

/** The borrower's side of {@link Iou}: signs an IOU whose value is below {@value SignIou#VALUE_LIMIT}, and records it. */
@InitiatedBy(Iou.class)
public class IouResponder extends TimedFlow<SignedTransaction> {
    private final FlowSession lenderSession;

    public IouResponder(FlowSession lenderSession) {
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
