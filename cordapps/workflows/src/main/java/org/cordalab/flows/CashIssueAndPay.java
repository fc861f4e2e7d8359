package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.util.Collections;
import java.util.Currency;
import net.corda.core.contracts.Amount;
import net.corda.core.contracts.StateRef;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.InitiatingFlow;
import net.corda.core.flows.StartableByRPC;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import net.corda.core.transactions.TransactionBuilder;
import org.cordalab.services.Coins;
import org.cordalab.states.CashState;

/** R3's <em>Issue + Pay</em>: issues a coin to this node and pays it to another party. The payment needs the notary. */
@InitiatingFlow
@StartableByRPC
public class CashIssueAndPay extends CoinFlow {
    private final Amount<Currency> amount;
    private final Party otherPartyName;
    private final boolean useCoinSelection;
    private final boolean anonymousIdentities;
    private final Party notaryName;

    /**
     * @param amount the positive amount to issue and pay
     * @param otherPartyName the payee
     */
    public CashIssueAndPay(Amount<Currency> amount, Party otherPartyName) {
        this(amount, otherPartyName, false, false, null);
    }

    /**
     * @param amount the positive amount to issue and pay
     * @param otherPartyName the payee
     * @param useCoinSelection whether any coin of this node may be spent, instead of the one just issued
     * @param anonymousIdentities whether the payee is identified by a fresh key instead of its name
     */
    public CashIssueAndPay(
            Amount<Currency> amount, Party otherPartyName, boolean useCoinSelection, boolean anonymousIdentities) {
        this(amount, otherPartyName, useCoinSelection, anonymousIdentities, null);
    }

    /**
     * @param amount the positive amount to issue and pay
     * @param otherPartyName the payee
     * @param useCoinSelection whether any coin of this node may be spent, instead of the one just issued
     * @param anonymousIdentities whether the payee is identified by a fresh key instead of its name
     * @param notaryName the notary of both transactions; null for the first of the network
     */
    public CashIssueAndPay(
            Amount<Currency> amount,
            Party otherPartyName,
            boolean useCoinSelection,
            boolean anonymousIdentities,
            Party notaryName) {
        this.amount = amount;
        this.otherPartyName = otherPartyName;
        this.useCoinSelection = useCoinSelection;
        this.anonymousIdentities = anonymousIdentities;
        this.notaryName = notaryName;
    }

    /** Returns the payment, recorded by both parties. */
    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        Arguments.requirePositive("amount", amount.getQuantity());
        Arguments.requireOther("otherPartyName", otherPartyName, getServiceHub());
        Party notary = Arguments.notary(notaryName, getServiceHub());

        TransactionBuilder issue = Cash.issue(amount, 1, getOurIdentity(), notary);
        issue.verify(getServiceHub());
        SignedTransaction issued = finalise(getServiceHub().signInitialTransaction(issue), Collections.emptyList());

        StateRef coin = new StateRef(issued.getId(), 0);
        Coins coins = getServiceHub().cordaService(Coins.class);
        StateRef selected = useCoinSelection ? coins.take(CashState.class, amount.getQuantity()) : null;
        if (selected == null) {
            coins.reserve(CashState.class, coin);
        } else {
            coin = selected;
        }
        return pay(coin, otherPartyName, amount.getQuantity(), 1, anonymousIdentities);
    }
}
