package org.cordalab.flows;

import java.util.List;
import net.corda.core.contracts.ContractState;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.SignTransactionFlow;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.states.IouState;
import org.cordalab.timing.StageTimer;

/** Signs valid IOUs with a value below {@value #VALUE_LIMIT}. */
final class SignIou extends SignTransactionFlow {
    /** The lowest value that is refused: 100, as in the published benchmark. */
    static final int VALUE_LIMIT = 100;

    private final StageTimer stages;

    SignIou(FlowSession session, StageTimer stages) {
        // Corda 3 has no constructor without a tracker.
        super(session, tracker());
        this.stages = stages;
    }

    @Override
    protected void checkTransaction(SignedTransaction transaction) throws FlowException {
        // Known from here on, so that the row of a refusal names what was refused.
        stages.transaction(transaction.getId());
        List<ContractState> outputs = transaction.getTx().getOutputStates();
        if (outputs.size() != 1 || !(outputs.get(0) instanceof IouState)) {
            throw new FlowException("The transaction's only output must be an IOU.");
        }
        int value = ((IouState) outputs.get(0)).getValue();
        if (value >= VALUE_LIMIT) {
            throw new FlowException(
                    "An IOU is accepted only if its value is below " + VALUE_LIMIT + ", but it is " + value + ".");
        }
    }
}
