package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import net.corda.core.flows.FlowLogic;
import net.corda.core.flows.StartableByRPC;

/** Does nothing: what remains of its time is the cost of starting and ending any flow. */
@StartableByRPC
public class Empty extends FlowLogic<Void> {
    @Override
    @Suspendable
    public Void call() {
        return null;
    }
}
