package org.cordalab.flows;

import java.util.List;
import net.corda.core.contracts.ContractState;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.SignTransactionFlow;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.states.IouState;

/** Signs valid IOUs with a value below {@value #VALUE_LIMIT}. */
final class SignIou extends SignTransactionFlow {
    /** The lowest value that is refused: 100, as in the published benchmark. */
    static final int VALUE_LIMIT = 100;

    SignIou(FlowSession session) {
        // Corda 3 has no constructor without a tracker.
        super(session, tracker());
    }

    @Override
    protected void checkTransaction(SignedTransaction transaction) throws FlowException {
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
