package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.timing.TimedFlow;

/** The payee's side of a {@link CoinFlow}: records the payment, which the payee does not need to sign. */
abstract class CoinResponder extends TimedFlow<SignedTransaction> {
    private final FlowSession payerSession;

    CoinResponder(FlowSession payerSession) {
        this.payerSession = payerSession;
    }

    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        return receiveFinality(payerSession, null);
    }

    /** The payee of {@link CashIssueAndPay}. */
    @InitiatedBy(CashIssueAndPay.class)
    public static class OfIssueAndPay extends CoinResponder {
        public OfIssueAndPay(FlowSession payerSession) {
            super(payerSession);
        }
    }

    /** The payee of {@link CashRepeatedPay}. */
    @InitiatedBy(CashRepeatedPay.class)
    public static class OfRepeatedPay extends CoinResponder {
        public OfRepeatedPay(FlowSession payerSession) {
            super(payerSession);
        }
    }
}
