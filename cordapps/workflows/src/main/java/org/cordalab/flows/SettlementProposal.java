package org.cordalab.flows;

import java.util.List;
import net.corda.core.serialization.CordaSerializable;
import net.corda.core.transactions.SignedTransaction;

/** A transaction to sign, with its backchain, oldest first. */
@CordaSerializable
public final class SettlementProposal {
    private final SignedTransaction transaction;
    private final List<SignedTransaction> history;

    public SettlementProposal(SignedTransaction transaction, List<SignedTransaction> history) {
        this.transaction = transaction;
        this.history = history;
    }

    public SignedTransaction getTransaction() {
        return transaction;
    }

    public List<SignedTransaction> getHistory() {
        return history;
    }
}
