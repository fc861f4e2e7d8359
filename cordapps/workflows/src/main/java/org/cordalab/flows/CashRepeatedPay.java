package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.math.BigDecimal;
import java.util.Currency;
import net.corda.core.contracts.Amount;
import net.corda.core.contracts.StateRef;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.InitiatingFlow;
import net.corda.core.flows.StartableByRPC;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.services.Coins;
import org.cordalab.states.CashState;

/**
 * The paying half of R3's <em>Issue + Repeated Pay</em>: one transaction with several payments of one unit each to
 * another party, and the change. {@link CashPrepare} issues the coin beforehand.
 */
@InitiatingFlow
@StartableByRPC
public class CashRepeatedPay extends CoinFlow {
    /** The maximum number of payments in one transaction. */
    static final int STATES_MAX = 1_000;

    /** The value of one payment, in the currency's smallest unit. */
    static final long PAYMENT =
            Amount.fromDecimal(BigDecimal.ONE, Currency.getInstance("USD")).getQuantity();

    private final Party otherPartyName;
    private final int numberOfStatesPerTx;
    private final String coin;
    private final boolean anonymousIdentities;

    /**
     * @param otherPartyName the payee
     * @param numberOfStatesPerTx the number of payments of one unit
     */
    public CashRepeatedPay(Party otherPartyName, int numberOfStatesPerTx) {
        this(otherPartyName, numberOfStatesPerTx, null, false);
    }

    /**
     * @param otherPartyName the payee
     * @param numberOfStatesPerTx the number of payments of one unit
     * @param coin a reference to the coin to spend, as returned by {@link CashPrepare}
     */
    public CashRepeatedPay(Party otherPartyName, int numberOfStatesPerTx, String coin) {
        this(otherPartyName, numberOfStatesPerTx, coin, false);
    }

    /**
     * @param otherPartyName the payee
     * @param numberOfStatesPerTx the number of payments of one unit
     * @param coin a reference to the coin to spend, as returned by {@link CashPrepare}; null for any coin of this node
     * @param anonymousIdentities whether the payee is identified by a fresh key instead of its name
     */
    public CashRepeatedPay(Party otherPartyName, int numberOfStatesPerTx, String coin, boolean anonymousIdentities) {
        this.otherPartyName = otherPartyName;
        this.numberOfStatesPerTx = numberOfStatesPerTx;
        this.coin = coin;
        this.anonymousIdentities = anonymousIdentities;
    }

    /** Returns the transaction, recorded by both parties. */
    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        Arguments.requireCount("numberOfStatesPerTx", numberOfStatesPerTx, STATES_MAX);
        Arguments.requireOther("otherPartyName", otherPartyName, getServiceHub());

        return pay(select(), otherPartyName, PAYMENT, numberOfStatesPerTx, anonymousIdentities);
    }

    private StateRef select() throws FlowException {
        Coins coins = getServiceHub().cordaService(Coins.class);
        if (coin != null) {
            StateRef given = StateRefs.parse("coin", coin);
            coins.reserve(CashState.class, given);
            return given;
        }
        long needed = PAYMENT * numberOfStatesPerTx;
        StateRef taken = coins.take(CashState.class, needed);
        if (taken == null) {
            throw new FlowException(
                    "This node has no free coin worth " + needed + " or more: prepare some with CashPrepare.");
        }
        return taken;
    }
}
