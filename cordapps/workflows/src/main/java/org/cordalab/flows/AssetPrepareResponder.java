package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.states.Asset;
import org.cordalab.timing.Stage;
import org.cordalab.timing.TimedFlow;

/** The other side of {@link AssetPrepare}: signs one transfer and records it. */
@InitiatedBy(AssetPrepare.class)
public class AssetPrepareResponder extends TimedFlow<SignedTransaction> {
    private final FlowSession ownerSession;

    public AssetPrepareResponder(FlowSession ownerSession) {
        this.ownerSession = ownerSession;
    }

    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        stages().enter(Stage.SIGN);
        SignedTransaction signed = subFlow(new SignAs(ownerSession, Asset.class));
        return receiveFinality(ownerSession, signed);
    }
}
