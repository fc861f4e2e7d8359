package org.cordalab.flows;

import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.SignTransactionFlow;
import net.corda.core.transactions.SignedTransaction;

/** Signs every transaction with one output of a certain kind. */
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
            throw new FlowException("This is not a transaction with one " + kind.getSimpleName() + ".");
        }
    }
}
