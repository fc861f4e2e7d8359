package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.states.AttachmentState;
import org.cordalab.timing.Stage;
import org.cordalab.timing.TimedFlow;

/** The recipient's side of {@link AttachmentSend}: fetches what it does not have, signs and records. */
@InitiatedBy(AttachmentSend.class)
public class AttachmentSendResponder extends TimedFlow<SignedTransaction> {
    private final FlowSession senderSession;

    public AttachmentSendResponder(FlowSession senderSession) {
        this.senderSession = senderSession;
    }

    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        stages().enter(Stage.SIGN);
        SignedTransaction signed = subFlow(new SignAs(senderSession, AttachmentState.class));
        return receiveFinality(senderSession, signed);
    }
}
