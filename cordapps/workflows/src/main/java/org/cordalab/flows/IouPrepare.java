package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.util.ArrayList;
import java.util.List;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.StartableByRPC;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.states.IouState;
import org.cordalab.timing.TimedFlow;

/** Prepares IOUs for a measurement to update: the set-up of {@link IouUpdate}. */
@StartableByRPC
public class IouPrepare extends TimedFlow<List<String>> {
    private final int iouValue;
    private final Party otherParty;
    private final int count;

    /**
     * @param iouValue the number of units owed, 1 or more
     * @param otherParty the borrower
     * @param count the number of IOUs, each in its own transaction
     */
    public IouPrepare(int iouValue, Party otherParty, int count) {
        this.iouValue = iouValue;
        this.otherParty = otherParty;
        this.count = count;
    }

    /** Returns the IOUs' linear ids. */
    @Override
    @Suspendable
    protected List<String> run() throws FlowException {
        Arguments.requireCount("count", count, Arguments.COUNT_MAX);
        List<String> linearIds = new ArrayList<>(count);
        for (int made = 0; made < count; made++) {
            SignedTransaction issued = subFlow(new Iou(iouValue, otherParty));
            IouState iou = issued.getTx().outputsOfType(IouState.class).get(0);
            linearIds.add(iou.getLinearId().getId().toString());
        }
        return linearIds;
    }
}
