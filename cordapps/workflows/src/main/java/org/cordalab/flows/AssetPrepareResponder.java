package org.cordalab.flows;

import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.flows.SignTransactionFlow;
import org.cordalab.states.Asset;

/** The responder to {@link AssetPrepare}: signs and records one transfer. */
@InitiatedBy(AssetPrepare.class)
public class AssetPrepareResponder extends SigningResponder {
    public AssetPrepareResponder(FlowSession ownerSession) {
        super(ownerSession);
    }

    @Override
    SignTransactionFlow signer(FlowSession session) {
        return new SignAs(session, Asset.class);
    }
}
