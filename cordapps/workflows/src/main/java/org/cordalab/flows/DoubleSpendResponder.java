package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.flows.ReceiveTransactionFlow;
import net.corda.core.node.StatesToRecord;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.timing.TimedFlow;

/** The responder to {@link DoubleSpend}: has its transaction notarised at the same time as the other side. */
@InitiatedBy(DoubleSpend.class)
public class DoubleSpendResponder extends TimedFlow<SignedTransaction> {
    private final FlowSession session;

    public DoubleSpendResponder(FlowSession session) {
        this.session = session;
    }

    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        SignedTransaction second = subFlow(new ReceiveTransactionFlow(session, false, StatesToRecord.NONE));
        session.sendAndReceive(Boolean.class, true).unwrap(go -> go);
        session.send(DoubleSpend.notarise(this, second));
        return receiveFinality(session, null);
    }
}
