package org.cordalab.flows;

import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.flows.SignTransactionFlow;

/** The borrower's side of {@link IouUpdate}, with the same limit as {@link IouResponder}. */
@InitiatedBy(IouUpdate.class)
public class IouUpdateResponder extends SigningResponder {
    public IouUpdateResponder(FlowSession lenderSession) {
        super(lenderSession);
    }

    @Override
    SignTransactionFlow signer(FlowSession session) {
        return new SignIou(session);
    }
}
