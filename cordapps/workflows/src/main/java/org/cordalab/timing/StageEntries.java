package org.cordalab.timing;

import java.util.Optional;

/**
 * Entries of the list of stages that a flow went through, each in one number, because the list is in every checkpoint:
 * the microseconds from the creation of the flow until the stage was entered, and in the lowest bits the stage. A stage
 * ends when the next one begins, the last one with the flow.
 */
final class StageEntries {
    private static final int STAGE_BITS = 8;
    private static final long STAGE_MASK = (1L << STAGE_BITS) - 1;
    /** The place of no stage. */
    private static final long CUT = STAGE_MASK;

    private static final Stage[] STAGES = Stage.values();

    private StageEntries() {}

    static long entry(Stage stage, long micros) {
        return micros << STAGE_BITS | stage.ordinal();
    }

    /** Returns the entry behind which the stages are not listed any more. */
    static long cut(long micros) {
        return micros << STAGE_BITS | CUT;
    }

    /** Returns the name of the stage; empty if the stages are not listed from here on. */
    static Optional<String> label(long entry) {
        long place = entry & STAGE_MASK;
        return place == CUT ? Optional.empty() : Optional.of(STAGES[(int) place].label());
    }

    static long micros(long entry) {
        return entry >> STAGE_BITS;
    }
}
