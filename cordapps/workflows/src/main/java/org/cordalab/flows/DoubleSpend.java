package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Currency;
import java.util.List;
import net.corda.core.contracts.Amount;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.crypto.TransactionSignature;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatingFlow;
import net.corda.core.flows.NotaryError;
import net.corda.core.flows.NotaryException;
import net.corda.core.flows.NotaryFlow;
import net.corda.core.flows.SendTransactionFlow;
import net.corda.core.flows.StartableByRPC;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import net.corda.core.transactions.TransactionBuilder;
import org.cordalab.states.CashState;
import org.cordalab.timing.TimedFlow;

/**
 * Tries to spend one coin twice, to check that the notary refuses it. At the same time, this node and another one ask
 * the notary to sign two different transactions that consume the same state. The flow succeeds if the notary refuses
 * exactly one of them because of the conflict, and fails otherwise.
 */
@InitiatingFlow
@StartableByRPC
public class DoubleSpend extends TimedFlow<SignedTransaction> {
    private static final Amount<Currency> AMOUNT = new Amount<>(100, Currency.getInstance("USD"));

    private final Party otherPartyName;

    /** @param otherPartyName the party that has the second transaction notarised, and the payee of both */
    public DoubleSpend(Party otherPartyName) {
        this.otherPartyName = otherPartyName;
    }

    /** Returns the notarised transaction, recorded by both parties. */
    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        Arguments.requireOther("otherPartyName", otherPartyName, getServiceHub());
        Party notary = Arguments.notary(null, getServiceHub());

        SignedTransaction issued = finalise(
                getServiceHub().signInitialTransaction(Cash.issue(AMOUNT, 1, getOurIdentity(), notary)),
                Collections.emptyList());
        StateAndRef<CashState> coin = issued.getTx().outRef(0);
        SignedTransaction first = payment(coin, 1);
        SignedTransaction second = payment(coin, 2);

        FlowSession session = initiateFlow(otherPartyName);
        subFlow(new SendTransactionFlow(session, second));
        session.receive(Boolean.class).unwrap(ready -> ready);
        session.send(true);

        List<TransactionSignature> ofFirst = notarise(this, first);
        @SuppressWarnings("unchecked")
        List<TransactionSignature> ofSecond =
                (List<TransactionSignature>) session.receive(List.class).unwrap(answer -> answer);
        if (ofFirst.isEmpty() == ofSecond.isEmpty()) {
            throw new FlowException("DOUBLE SPEND of " + coin.getRef() + ": the notary "
                    + (ofFirst.isEmpty() ? "refused both transactions." : "signed both transactions."));
        }
        SignedTransaction winner =
                ofFirst.isEmpty() ? second.withAdditionalSignatures(ofSecond) : first.withAdditionalSignatures(ofFirst);
        return finalise(winner, Collections.singletonList(session));
    }

    /** Returns a payment of the whole coin in {@code parts}. Different numbers of parts give different transactions. */
    private SignedTransaction payment(StateAndRef<CashState> coin, int parts) {
        AbstractParty payee = otherPartyName;
        TransactionBuilder builder = Cash.pay(coin, payee, AMOUNT.getQuantity() / parts, parts);
        return getServiceHub().signInitialTransaction(builder);
    }

    /** Returns the notary's signatures; empty if the notary refused because the input is already spent. */
    @Suspendable
    static List<TransactionSignature> notarise(TimedFlow<?> flow, SignedTransaction transaction) throws FlowException {
        try {
            return new ArrayList<>(flow.subFlow(new NotaryFlow.Client(transaction)));
        } catch (NotaryException e) {
            if (e.getError() instanceof NotaryError.Conflict) {
                return new ArrayList<>();
            }
            throw e;
        }
    }
}
