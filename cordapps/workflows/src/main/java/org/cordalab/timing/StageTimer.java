package org.cordalab.timing;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.FinalityFlow;
import net.corda.core.flows.FinalityFlow.Companion.BROADCASTING;
import net.corda.core.flows.FinalityFlow.Companion.NOTARISING;
import net.corda.core.flows.NotaryFlow.Client.Companion.VALIDATING;
import net.corda.core.utilities.ProgressTracker;

/**
 * Measures how long one flow spends in each stage. It is part of the flow's checkpoints, so a flow that is restored
 * after a restart continues to count. It is not thread-safe: a flow runs on one thread at a time.
 *
 * <p>While stage timing is off ({@link StageRows}), a new timer is idle: it keeps nothing, and all of its methods return
 * at once. It stays so for the whole flow.
 */
public final class StageTimer {
    /**
     * The most entries of the list of stages. It is part of every checkpoint, and a flow may repeat its stages as often
     * as its caller asks for. What comes later is only in the durations.
     */
    static final int ENTRIES_MAX = 200;

    private static final int ENTRIES_FIRST = 16;
    private static final int UNSET = 0;

    // Null in an idle timer.
    private final long[] microsOfStage;
    // The stages in the order in which they were entered, see StageEntries; null in an idle timer.
    private long[] entries;
    private int entryCount;
    private final long createdMicros;
    private long startedMicros = UNSET;
    private long enteredMicros;
    private long notarisedMicros = UNSET;
    private long recordedMicros = UNSET;
    private Stage stage = Stage.WAIT;
    private String transactionId;

    private StageTimer(long[] microsOfStage, long createdMicros) {
        this.microsOfStage = microsOfStage;
        this.createdMicros = createdMicros;
        this.enteredMicros = createdMicros;
        if (microsOfStage != null) {
            entries = new long[ENTRIES_FIRST];
            note(StageEntries.entry(stage, 0));
        }
    }

    /** Returns the timer of a flow that is created now. It is idle if stage timing is off. */
    static StageTimer ofNewFlow() {
        return StageRows.areTimed() ? running() : idle();
    }

    /** Starts with {@link Stage#WAIT}. Must be created together with the flow. */
    static StageTimer running() {
        return new StageTimer(new long[Stage.values().length], WallClock.micros());
    }

    static StageTimer idle() {
        return new StageTimer(null, UNSET);
    }

    /** Returns whether nothing is measured. */
    boolean isIdle() {
        return microsOfStage == null;
    }

    /** Ends the current stage and begins {@code next}. The time of a stage that is entered again accumulates. */
    public void enter(Stage next) {
        if (!isIdle()) {
            enter(next, WallClock.micros());
        }
    }

    /** Sets the flow's transaction. The last call counts. */
    public void transaction(SecureHash id) {
        if (!isIdle()) {
            transactionId = id.toString();
        }
    }

    /** Records that the notary's signature has arrived. */
    public void notarised() {
        if (!isIdle()) {
            notarisedMicros = WallClock.micros();
        }
    }

    /** Records that this node has committed the transaction. */
    public void recorded() {
        if (!isIdle()) {
            recordedMicros = WallClock.micros();
        }
    }

    /**
     * Distinguishes {@link Stage#NOTARISE} from {@link Stage#FINALISE} by the progress of Corda's own FinalityFlow. The
     * observer is not part of a checkpoint. If a flow is restored during finality, the rest counts as finalising.
     */
    public void observe(FinalityFlow finality) {
        if (!isIdle()) {
            finality.getProgressTracker().getChanges().subscribe(this::onChange, error -> {});
        }
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
        if (!isIdle()) {
            startedMicros = WallClock.micros();
            enter(Stage.OTHER, startedMicros);
        }
    }

    /**
     * Ends the last stage and returns the times in microseconds since 1970, and the durations in microseconds. An idle
     * timer has none to return.
     */
    Timing end(String outcome) {
        long ended = WallClock.micros();
        enter(stage, ended);
        Map<Stage, Long> durations = new EnumMap<>(Stage.class);
        for (Stage each : Stage.values()) {
            // Stages that the flow never entered are left out.
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
                durations,
                Arrays.copyOf(entries, entryCount));
    }

    private void enter(Stage next, long now) {
        microsOfStage[stage.ordinal()] += now - enteredMicros;
        enteredMicros = now;
        if (next != stage) {
            // A flow that was restored after a restart has the clock of another process.
            long sinceCreation = Math.max(0, now - createdMicros);
            // The last entry says from when on the stages are not listed.
            boolean isLast = entryCount == ENTRIES_MAX - 1;
            note(isLast ? StageEntries.cut(sinceCreation) : StageEntries.entry(next, sinceCreation));
        }
        stage = next;
    }

    private void note(long entry) {
        if (entryCount == ENTRIES_MAX) {
            return;
        }
        if (entryCount == entries.length) {
            entries = Arrays.copyOf(entries, Math.min(ENTRIES_MAX, 2 * entries.length));
        }
        entries[entryCount++] = entry;
    }
}
