package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import net.corda.core.flows.StartableByRPC;
import org.cordalab.timing.TimedFlow;

/** Does nothing: what remains of its time is the cost of starting and ending any flow. */
@StartableByRPC
public class Empty extends TimedFlow<Void> {
    @Override
    @Suspendable
    protected Void run() {
        return null;
    }
}
