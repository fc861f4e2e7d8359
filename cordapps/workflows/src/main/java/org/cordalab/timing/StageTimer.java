package org.cordalab.timing;

import java.util.EnumMap;
import java.util.Map;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.FinalityFlow;
import net.corda.core.flows.FinalityFlow.Companion.BROADCASTING;
import net.corda.core.flows.FinalityFlow.Companion.NOTARISING;
import net.corda.core.flows.NotaryFlow.Client.Companion.VALIDATING;
import net.corda.core.utilities.ProgressTracker;

/**
 * Where the time of one flow goes. It belongs to the flow's state: a checkpoint keeps it, so that a flow that is restored
 * after a restart goes on counting. Not for two threads at a time; a flow has one.
 */
public final class StageTimer {
    private static final int UNSET = 0;

    private final long[] microsOfStage = new long[Stage.values().length];
    private final long createdMicros;
    private long startedMicros = UNSET;
    private long enteredMicros;
    private long notarisedMicros = UNSET;
    private long recordedMicros = UNSET;
    private Stage stage = Stage.WAIT;
    private String transactionId;

    /** Starts with {@link Stage#WAIT}: make it where the flow is made. */
    StageTimer() {
        createdMicros = WallClock.micros();
        enteredMicros = createdMicros;
    }

    /** Ends the stage before and begins this one; one entered again goes on. */
    public void enter(Stage next) {
        enter(next, WallClock.micros());
    }

    /** Names the transaction that the flow is about; the last one named counts. */
    public void transaction(SecureHash id) {
        transactionId = id.toString();
    }

    /** The notary's signature is there. */
    public void notarised() {
        notarisedMicros = WallClock.micros();
    }

    /** This node has committed the transaction. */
    public void recorded() {
        recordedMicros = WallClock.micros();
    }

    /**
     * Tells {@link Stage#NOTARISE} from {@link Stage#FINALISE} by the steps that Corda's own FinalityFlow reports. The
     * observer is not part of a checkpoint: of a flow restored in the midst of it all is counted as finalising.
     */
    public void observe(FinalityFlow finality) {
        finality.getProgressTracker().getChanges().subscribe(this::onChange, error -> {});
    }

    private void onChange(ProgressTracker.Change change) {
        if (!(change instanceof ProgressTracker.Change.Position)) {
            return;
        }
        ProgressTracker.Step step = ((ProgressTracker.Change.Position) change).getNewStep();
        if (step == NOTARISING.INSTANCE) {
            enter(Stage.NOTARISE);
        } else if (step == VALIDATING.INSTANCE) {
            notarised();
            enter(Stage.FINALISE, notarisedMicros);
        } else if (step == BROADCASTING.INSTANCE) {
            recorded();
        }
    }

    void start() {
        startedMicros = WallClock.micros();
        enter(Stage.OTHER, startedMicros);
    }

    /** Ends the last stage and gives the whole, with times in microseconds since 1970 and durations in microseconds. */
    Timing end(String outcome) {
        long ended = WallClock.micros();
        enter(stage, ended);
        Map<Stage, Long> durations = new EnumMap<>(Stage.class);
        for (Stage each : Stage.values()) {
            // Most flows know most stages; those a flow never entered are left out.
            if (microsOfStage[each.ordinal()] > 0) {
                durations.put(each, microsOfStage[each.ordinal()]);
            }
        }
        return new Timing(
                outcome,
                transactionId,
                createdMicros,
                startedMicros == UNSET ? ended : startedMicros,
                ended,
                notarisedMicros == UNSET ? null : notarisedMicros,
                recordedMicros == UNSET ? null : recordedMicros,
                durations);
    }

    private void enter(Stage next, long now) {
        microsOfStage[stage.ordinal()] += now - enteredMicros;
        enteredMicros = now;
        stage = next;
    }
}
