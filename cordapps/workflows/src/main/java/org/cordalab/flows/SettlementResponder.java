package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import net.corda.core.contracts.StateRef;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.flows.SignTransactionFlow;
import net.corda.core.transactions.SignedTransaction;

/** The side of one party of {@link Settlement}. */
@InitiatedBy(Settlement.class)
public class SettlementResponder extends SettlementParty {
    public SettlementResponder(FlowSession exchangeSession) {
        super(exchangeSession);
    }

    @Override
    @Suspendable
    SignedTransaction complete(StateRef offered, AssetKind kind) throws FlowException {
        SignedTransaction signed = subFlow(new Sign(this, offered, kind));
        return receiveFinality(exchange(), signed);
    }

    private static final class Sign extends SignTransactionFlow {
        private final SettlementParty party;
        private final StateRef offered;
        private final AssetKind kind;

        Sign(SettlementParty party, StateRef offered, AssetKind kind) {
            super(party.exchange());
            this.party = party;
            this.offered = offered;
            this.kind = kind;
        }

        @Override
        protected void checkTransaction(SignedTransaction transaction) throws FlowException {
            party.check(transaction, offered, kind);
        }
    }
}
