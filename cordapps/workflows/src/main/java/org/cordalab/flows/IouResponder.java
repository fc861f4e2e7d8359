package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.util.List;
import net.corda.core.contracts.ContractState;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowLogic;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.flows.ReceiveFinalityFlow;
import net.corda.core.flows.SignTransactionFlow;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.states.IouState;

/** The borrower's side of {@link Iou}: signs an IOU whose value is below {@value #VALUE_LIMIT}, and records it. */
@InitiatedBy(Iou.class)
public class IouResponder extends FlowLogic<SignedTransaction> {
    /** The first value that is refused; 100 as in the published benchmark. */
    static final int VALUE_LIMIT = 100;

    private final FlowSession lenderSession;

    public IouResponder(FlowSession lenderSession) {
        this.lenderSession = lenderSession;
    }

    @Override
    @Suspendable
    public SignedTransaction call() throws FlowException {
        SignedTransaction signed = subFlow(new SignIou(lenderSession));
        return subFlow(new ReceiveFinalityFlow(lenderSession, signed.getId()));
    }

    /** Signs what the contract allows and {@link #checkTransaction} accepts. */
    private static final class SignIou extends SignTransactionFlow {
        SignIou(FlowSession lenderSession) {
            super(lenderSession);
        }

        @Override
        protected void checkTransaction(SignedTransaction transaction) throws FlowException {
            List<ContractState> outputs = transaction.getTx().getOutputStates();
            if (outputs.size() != 1 || !(outputs.get(0) instanceof IouState)) {
                throw new FlowException("This is not the issue of one IOU.");
            }
            int value = ((IouState) outputs.get(0)).getValue();
            if (value >= VALUE_LIMIT) {
                throw new FlowException(
                        "An IOU is accepted only if its value is below " + VALUE_LIMIT + ", but it is " + value + ".");
            }
        }
    }
}
