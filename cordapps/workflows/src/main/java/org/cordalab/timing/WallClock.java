package org.cordalab.timing;

import java.util.concurrent.TimeUnit;

/**
 * The wall clock in microseconds, read from the monotonic clock, which is aligned with it once. Adjustments of the wall
 * clock therefore do not distort durations, and processes on one machine agree to within a millisecond.
 */
final class WallClock {
    private static final long OFFSET_MICROS =
            TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis()) - monotonicMicros();

    private WallClock() {}

    /** Returns the microseconds since 1970. */
    static long micros() {
        return OFFSET_MICROS + monotonicMicros();
    }

    private static long monotonicMicros() {
        return TimeUnit.NANOSECONDS.toMicros(System.nanoTime());
    }
}
