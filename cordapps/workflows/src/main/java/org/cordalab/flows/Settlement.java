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
 * R3's settlement of stock against cash, with Corda's own CollectSignaturesFlow and FinalityFlow. In open-source Corda,
 * these flows process the parties one after the other.
 */
@InitiatingFlow
@StartableByRPC
public class Settlement extends SettlementFlow {
    /** @param otherPartiesNames an even number of parties: first those that pay, then those that deliver */
    public Settlement(List<Party> otherPartiesNames) {
        this(otherPartiesNames, null);
    }

    /**
     * @param otherPartiesNames an even number of parties: first those that pay, then those that deliver
     * @param states references to the assets, in the order of the parties; if null, each party offers any of its assets
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
