package org.cordalab.flows;

import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.flows.SignTransactionFlow;
import org.cordalab.states.AttachmentState;

/** The recipient's side of {@link AttachmentSend}: fetches the attachment if it is missing, signs and records. */
@InitiatedBy(AttachmentSend.class)
public class AttachmentSendResponder extends SigningResponder {
    public AttachmentSendResponder(FlowSession senderSession) {
        super(senderSession);
    }

    @Override
    SignTransactionFlow signer(FlowSession session) {
        return new SignAs(session, AttachmentState.class);
    }
}
