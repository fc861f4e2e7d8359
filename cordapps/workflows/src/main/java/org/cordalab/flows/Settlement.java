package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.util.List;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatingFlow;
import net.corda.core.flows.StartableByRPC;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;

/**
 * R3's settlement of stock against cash with Corda's own CollectSignaturesFlow and FinalityFlow, which in open-source
 * Corda go through the parties one after the other.
 */
@InitiatingFlow
@StartableByRPC
public class Settlement extends SettlementFlow {
    /** @param otherPartiesNames an even number of parties: those who pay, then those who deliver */
    public Settlement(List<Party> otherPartiesNames) {
        this(otherPartiesNames, null);
    }

    /**
     * @param otherPartiesNames an even number of parties: those who pay, then those who deliver
     * @param states the assets, in the parties' order; without them each party takes any of its own
     */
    public Settlement(List<Party> otherPartiesNames, List<String> states) {
        super(otherPartiesNames, states);
    }

    @Override
    @Suspendable
    SignedTransaction complete(SignedTransaction signed, List<FlowSession> sessions) throws FlowException {
        return finalise(collectSignatures(signed, sessions), sessions);
    }
}
