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
 * The same settlement as {@link Settlement}, with every message to all parties sent at once and all answers awaited
 * together: what the stock flows cost is the difference between the two. Needs Corda 4.5.
 */
@InitiatingFlow
@StartableByRPC
public class SettlementParallel extends SettlementFlow {
    /** The first platform version whose flows can send to many at once: Corda 4.5. */
    static final int PLATFORM_MIN = 7;

    /** @param otherPartiesNames an even number of parties: those who pay, then those who deliver */
    public SettlementParallel(List<Party> otherPartiesNames) {
        this(otherPartiesNames, null);
    }

    /**
     * @param otherPartiesNames an even number of parties: those who pay, then those who deliver
     * @param states the assets, in the parties' order; without them each party takes any of its own
     */
    public SettlementParallel(List<Party> otherPartiesNames, List<String> states) {
        super(otherPartiesNames, states);
    }

    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        int platform = getServiceHub().getMyInfo().getPlatformVersion();
        if (platform < PLATFORM_MIN) {
            throw new FlowException("SettlementParallel needs platform version " + PLATFORM_MIN
                    + " (Corda 4.5), but this node has " + platform + ".");
        }
        return super.run();
    }

    @Override
    @Suspendable
    SignedTransaction complete(SignedTransaction signed, List<FlowSession> sessions) throws FlowException {
        return subFlow(new ParallelCompletion(this, signed, sessions));
    }
}
