package org.cordalab.flows;

import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.SignTransactionFlow;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.timing.StageTimer;

/** Signs every transaction whose only output is of a certain class. */
final class SignAs extends SignTransactionFlow {
    private final StageTimer stages;
    private final Class<?> kind;

    SignAs(FlowSession session, StageTimer stages, Class<?> kind) {
        super(session);
        this.stages = stages;
        this.kind = kind;
    }

    @Override
    protected void checkTransaction(SignedTransaction transaction) throws FlowException {
        // Known from here on, so that the row of a refusal names what was refused.
        stages.transaction(transaction.getId());
        if (transaction.getTx().getOutputStates().size() != 1
                || !kind.isInstance(transaction.getTx().getOutputStates().get(0))) {
            throw new FlowException("The transaction's only output must be of type " + kind.getSimpleName() + ".");
        }
    }
}
