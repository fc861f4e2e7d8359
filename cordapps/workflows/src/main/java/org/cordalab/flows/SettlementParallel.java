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
 * The same settlement as {@link Settlement}, but every message is sent to all parties at once, and all answers are
 * awaited together. The difference between the two is the cost of Corda's own flows. Needs Corda 4.5.
 */
@InitiatingFlow
@StartableByRPC
public class SettlementParallel extends SettlementFlow {
    /** The first platform version whose flows can send to several parties at once: Corda 4.5. */
    static final int PLATFORM_MIN = 7;

    /** @param otherPartiesNames an even number of parties: first those that pay, then those that deliver */
    public SettlementParallel(List<Party> otherPartiesNames) {
        this(otherPartiesNames, null);
    }

    /**
     * @param otherPartiesNames an even number of parties: first those that pay, then those that deliver
     * @param states references to the assets, in the order of the parties; if null, each party offers any of its assets
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
