package org.cordalab.timing;

import co.paralleluniverse.fibers.Suspendable;
import java.util.Collection;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.CollectSignaturesFlow;
import net.corda.core.flows.FinalityFlow;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowLogic;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.transactions.SignedTransaction;

/**
 * A flow that records how long each of its stages took ({@link StageStatistics}, {@link StageRows}). The timing adds no
 * message, checkpoint or check to the flow.
 */
public abstract class TimedFlow<T> extends FlowLogic<T> {
    // Created with the flow, on the RPC thread, so that the wait for the flow thread is included.
    private final StageTimer stages = StageTimer.ofNewFlow();

    /** Does the work of the flow. */
    @Suspendable
    protected abstract T run() throws FlowException;

    @Override
    @Suspendable
    public final T call() throws FlowException {
        stages.start();
        try {
            T result = run();
            keep("ok");
            return result;
        } catch (FlowException | RuntimeException e) {
            keep("failed");
            throw e;
        }
    }

    /** Returns the timer, to which the flow reports its stages. */
    protected final StageTimer stages() {
        return stages;
    }

    /** Runs Corda's own signature collection, as {@link Stage#COLLECT_SIGNATURES}. */
    @Suspendable
    protected final SignedTransaction collectSignatures(SignedTransaction signed, Collection<FlowSession> sessions)
            throws FlowException {
        stages.transaction(signed.getId());
        stages.enter(Stage.COLLECT_SIGNATURES);
        return subFlow(new CollectSignaturesFlow(signed, sessions));
    }

    /** Runs Corda's own finality, as {@link Stage#NOTARISE} and {@link Stage#FINALISE}. */
    @Suspendable
    protected final SignedTransaction finalise(SignedTransaction signed, Collection<FlowSession> sessions)
            throws FlowException {
        stages.transaction(signed.getId());
        FinalityFlow finality = Finality.of(signed, sessions);
        stages.observe(finality);
        stages.enter(Stage.FINALISE);
        return subFlow(finality);
    }

    /**
     * Runs a responder's part of finality, as {@link Stage#RECORD}.
     *
     * @param expected the transaction that this node has signed; null if its signature was not needed
     */
    @Suspendable
    protected final SignedTransaction receiveFinality(FlowSession session, SignedTransaction expected)
            throws FlowException {
        stages.enter(Stage.RECORD);
        SecureHash expectedId = expected == null ? null : expected.getId();
        SignedTransaction recorded = Finality.receive(this, session, expectedId);
        stages.recorded();
        stages.transaction(recorded.getId());
        return recorded;
    }

    private void keep(String outcome) {
        if (stages.isIdle()) {
            return;
        }
        Timing timing = stages.end(outcome);
        String role = getClass().isAnnotationPresent(InitiatedBy.class) ? "responder" : "initiator";
        StageStatistics.record(getClass().getSimpleName(), role, timing);
        // Read here, because the row is encoded after the flow has ended.
        String flowId = getRunId().getUuid().toString();
        String flow = getClass().getName();
        String node = getOurIdentity().getName().toString();
        StageRows.write(() -> timing.toJson(flowId, flow, role, node));
    }
}
