package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import net.corda.core.flows.StartableByRPC;
import org.cordalab.timing.TimedFlow;

/** Does nothing. Its duration is the cost of starting and ending a flow. */
@StartableByRPC
public class Empty extends TimedFlow<Void> {
    @Override
    @Suspendable
    protected Void run() {
        return null;
    }
}
