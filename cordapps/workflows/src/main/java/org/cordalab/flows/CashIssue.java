package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.util.Collections;
import java.util.Currency;
import net.corda.core.contracts.Amount;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.StartableByRPC;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import net.corda.core.transactions.TransactionBuilder;
import org.cordalab.timing.TimedFlow;

/** R3's <em>Issue</em>: issues one coin to this node. No other party and no notary takes part. */
@StartableByRPC
public class CashIssue extends TimedFlow<SignedTransaction> {
    private final Amount<Currency> amount;
    private final Party notaryName;

    /** @param amount the positive amount to issue */
    public CashIssue(Amount<Currency> amount) {
        this(amount, null);
    }

    /**
     * @param amount the positive amount to issue
     * @param notaryName the notary for a later payment of this coin; null for the first of the network
     */
    public CashIssue(Amount<Currency> amount, Party notaryName) {
        this.amount = amount;
        this.notaryName = notaryName;
    }

    /** Returns the transaction, recorded by this node. */
    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        Arguments.requirePositive("amount", amount.getQuantity());
        Party notary = Arguments.notary(notaryName, getServiceHub());

        TransactionBuilder builder = Cash.issue(amount, 1, getOurIdentity(), notary);
        builder.verify(getServiceHub());
        SignedTransaction signed = getServiceHub().signInitialTransaction(builder);
        return finalise(signed, Collections.emptyList());
    }
}
