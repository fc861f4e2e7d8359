package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.util.Collections;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import net.corda.core.flows.FlowException;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import net.corda.core.transactions.TransactionBuilder;
import org.cordalab.services.Coins;
import org.cordalab.states.CashState;
import org.cordalab.timing.TimedFlow;

/** A flow that pays with a coin of this node. Its responder is a {@link CoinResponder}. */
abstract class CoinFlow extends TimedFlow<SignedTransaction> {
    /**
     * Makes {@code count} payments of {@code quantity} from a coin that was taken from {@link Coins}. If the payment
     * fails, the coin is returned there.
     */
    @Suspendable
    final SignedTransaction pay(StateRef coin, Party payee, long quantity, int count, boolean anonymous)
            throws FlowException {
        try {
            AbstractParty owner = anonymous ? subFlow(new FreshIdentity(payee)) : payee;
            StateAndRef<CashState> spent = StateRefs.own("coin", coin, CashState.class, getServiceHub());

            if (spent.getState().getData().getQuantity() < Math.multiplyExact(quantity, (long) count)) {
                throw new FlowException("coin must be worth " + quantity * count + " or more, but " + coin
                        + " is worth " + spent.getState().getData().getQuantity() + ".");
            }
            TransactionBuilder builder = Cash.pay(spent, owner, quantity, count);
            builder.verify(getServiceHub());
            SignedTransaction signed = getServiceHub().signInitialTransaction(builder);
            return finalise(signed, Collections.singletonList(initiateFlow(payee)));
        } catch (FlowException | RuntimeException e) {
            getServiceHub().cordaService(Coins.class).giveBack(CashState.class, coin);
            throw e;
        }
    }
}
