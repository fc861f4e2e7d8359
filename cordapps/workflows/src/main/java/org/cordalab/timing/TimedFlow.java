package org.cordalab.timing;

import co.paralleluniverse.fibers.Suspendable;
import java.util.Collection;
import net.corda.core.flows.CollectSignaturesFlow;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowLogic;
import net.corda.core.flows.FlowSession;
import net.corda.core.transactions.SignedTransaction;

/** A flow of which the lab knows when a node created it and when it ended, also before Corda 4.10 ({@link FlowSpan}). */
public abstract class TimedFlow<T> extends FlowLogic<T> {
    // Created with the flow, on the RPC thread, so that the wait for the flow thread is included.
    private final long createdMillis = FlowSpan.isOn() ? System.currentTimeMillis() : 0;

    /** Does the work of the flow. */
    @Suspendable
    protected abstract T run() throws FlowException;

    @Override
    @Suspendable
    public final T call() throws FlowException {
        boolean succeeded = false;
        try {
            T result = run();
            succeeded = true;
            return result;
        } finally {
            // A flow of which this node began when it kept spans may end when it keeps none.
            if (createdMillis != 0 && FlowSpan.isOn()) {
                FlowSpan.write(this, createdMillis, succeeded);
            }
        }
    }

    @Suspendable
    protected final SignedTransaction collectSignatures(SignedTransaction signed, Collection<FlowSession> sessions)
            throws FlowException {
        return subFlow(new CollectSignaturesFlow(signed, sessions));
    }

    @Suspendable
    protected final SignedTransaction finalise(SignedTransaction signed, Collection<FlowSession> sessions)
            throws FlowException {
        return subFlow(Finality.of(signed, sessions));
    }

    /** @param expected the transaction that this node has signed; null if its signature was not needed */
    @Suspendable
    protected final SignedTransaction receiveFinality(FlowSession session, SignedTransaction expected)
            throws FlowException {
        return Finality.receive(this, session, expected == null ? null : expected.getId());
    }
}
