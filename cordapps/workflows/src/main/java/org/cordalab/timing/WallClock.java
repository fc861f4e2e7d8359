package org.cordalab.timing;

import java.util.concurrent.TimeUnit;

/**
 * The wall clock in microseconds, read from the monotonic clock that was aligned with it once: a step of the wall clock
 * cannot bend a duration, and processes of one machine agree to within a millisecond.
 */
final class WallClock {
    private static final long OFFSET_MICROS =
            TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis()) - monotonicMicros();

    private WallClock() {}

    /** Microseconds since 1970. */
    static long micros() {
        return OFFSET_MICROS + monotonicMicros();
    }

    private static long monotonicMicros() {
        return TimeUnit.NANOSECONDS.toMicros(System.nanoTime());
    }
}
