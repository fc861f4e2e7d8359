package org.cordalab.flows;

import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.flows.SignTransactionFlow;

/** The borrower's side of {@link Iou}: signs an IOU whose value is below {@value SignIou#VALUE_LIMIT}, and records it. */
@InitiatedBy(Iou.class)
public class IouResponder extends SigningResponder {
    public IouResponder(FlowSession lenderSession) {
        super(lenderSession);
    }

    @Override
    SignTransactionFlow signer(FlowSession session) {
        return new SignIou(session);
    }
}
