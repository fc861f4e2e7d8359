package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.security.SignatureException;
import java.util.Collections;
import net.corda.core.contracts.StateRef;
import net.corda.core.contracts.TransactionVerificationException;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.node.StatesToRecord;
import net.corda.core.transactions.SignedTransaction;

/** The side of one party of {@link SettlementParallel}. */
@InitiatedBy(SettlementParallel.class)
public class SettlementParallelResponder extends SettlementParty {
    public SettlementParallelResponder(FlowSession exchangeSession) {
        super(exchangeSession);
    }

    @Override
    @Suspendable
    SignedTransaction complete(StateRef offered, AssetKind kind) throws FlowException {
        SettlementProposal proposal =
                exchange().receive(SettlementProposal.class).unwrap(received -> received);
        for (SignedTransaction past : proposal.getHistory()) {
            if (getServiceHub().getValidatedTransactions().getTransaction(past.getId()) == null) {
                verify(past, true);
                getServiceHub().recordTransactions(StatesToRecord.NONE, Collections.singletonList(past));
            }
        }
        SignedTransaction proposed = proposal.getTransaction();
        check(proposed, offered, kind);
        verify(proposed, false);
        exchange().send(getServiceHub().createSignature(proposed));

        SignedTransaction recorded = exchange().receive(SignedTransaction.class).unwrap(received -> received);
        if (!recorded.getId().equals(proposed.getId())) {
            throw new FlowException("The exchange sent a different transaction from the one signed.");
        }
        verify(recorded, true);
        getServiceHub().recordTransactions(StatesToRecord.ONLY_RELEVANT, Collections.singletonList(recorded));
        return recorded;
    }

    private void verify(SignedTransaction transaction, boolean checkSufficientSignatures) throws FlowException {
        try {
            transaction.verify(getServiceHub(), checkSufficientSignatures);
        } catch (SignatureException | TransactionVerificationException e) {
            throw new FlowException("The exchange sent an invalid transaction: " + e.getMessage(), e);
        }
    }
}
