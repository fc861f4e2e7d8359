package org.cordalab.flows;

import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.SignTransactionFlow;
import net.corda.core.transactions.SignedTransaction;

/** Signs every transaction whose only output is of a certain class. */
final class SignAs extends SignTransactionFlow {
    private final Class<?> kind;

    SignAs(FlowSession session, Class<?> kind) {
        super(session);
        this.kind = kind;
    }

    @Override
    protected void checkTransaction(SignedTransaction transaction) throws FlowException {
        if (transaction.getTx().getOutputStates().size() != 1
                || !kind.isInstance(transaction.getTx().getOutputStates().get(0))) {
            throw new FlowException("The transaction's only output must be of type " + kind.getSimpleName() + ".");
        }
    }
}
