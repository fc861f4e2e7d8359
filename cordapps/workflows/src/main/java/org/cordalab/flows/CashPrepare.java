package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Currency;
import java.util.List;
import net.corda.core.contracts.Amount;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.StartableByRPC;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import net.corda.core.transactions.TransactionBuilder;
import org.cordalab.timing.TimedFlow;

/** Prepares coins for a measurement to spend: the set-up of {@link CashRepeatedPay}. */
@StartableByRPC
public class CashPrepare extends TimedFlow<List<String>> {
    private static final int COINS_PER_TRANSACTION = 100;

    private final Amount<Currency> amount;
    private final int count;
    private final Party notaryName;

    /**
     * @param amount the positive amount of each coin
     * @param count the number of coins
     */
    public CashPrepare(Amount<Currency> amount, int count) {
        this(amount, count, null);
    }

    /**
     * @param amount the positive amount of each coin
     * @param count the number of coins
     * @param notaryName the notary for later payments of these coins; null for the first of the network
     */
    public CashPrepare(Amount<Currency> amount, int count, Party notaryName) {
        this.amount = amount;
        this.count = count;
        this.notaryName = notaryName;
    }

    /** Returns references to the coins. */
    @Override
    @Suspendable
    protected List<String> run() throws FlowException {
        Arguments.requirePositive("amount", amount.getQuantity());
        Arguments.requireCount("count", count, Arguments.COUNT_MAX);
        Party notary = Arguments.notary(notaryName, getServiceHub());
        List<String> coins = new ArrayList<>(count);
        while (coins.size() < count) {
            int next = Math.min(COINS_PER_TRANSACTION, count - coins.size());
            TransactionBuilder builder = Cash.issue(amount, next, getOurIdentity(), notary);
            SignedTransaction issued =
                    finalise(getServiceHub().signInitialTransaction(builder), Collections.emptyList());
            coins.addAll(StateRefs.ofOutputs(issued));
        }
        return coins;
    }
}
