package org.cordalab.bridge.stub;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class StubScheduleTest {

    @Test
    void aFlowEndsAfterItsDelay() {
        var schedule = schedule(List.of(), Optional.empty(), 10, 20);

        assertThat(schedule.start(ms(100))).isEqualTo(new StubSchedule.Slot(0, ms(110)));
        assertThat(schedule.start(ms(105))).isEqualTo(new StubSchedule.Slot(1, ms(125)));
    }

    @Test
    void aFlowBeyondTheListEndsAtOnce() {
        var schedule = schedule(List.of(), Optional.empty(), 10);
        schedule.start(ms(100));

        assertThat(schedule.start(ms(101))).isEqualTo(new StubSchedule.Slot(1, ms(101)));
    }

    @Test
    void noFlowEndsInAStall() {
        // From 1100 to 3100 ms, because the first start is at 100 ms.
        var schedule = schedule(List.of(stall(1000, 2000)), Optional.empty(), 999, 1000, 2999, 3000);

        assertThat(ends(schedule, 100, 100, 100, 100)).containsExactly(ms(1099), ms(3100), ms(3100), ms(3100));
    }

    @Test
    void theBacklogOfAStallDrainsInOrder() {
        var draining = new StubPlan.Stall(Duration.ofMillis(100), Duration.ofMillis(100), Duration.ofMillis(50));
        var schedule = schedule(List.of(draining), Optional.empty(), 99, 100, 150, 198, 200);

        assertThat(ends(schedule, 0, 0, 0, 0, 0)).containsExactly(ms(99), ms(200), ms(225), ms(249), ms(200));
    }

    @Test
    void aStallThatFollowsAtOnceProlongsTheFirst() {
        var schedule = schedule(List.of(stall(10, 10), stall(20, 10)), Optional.empty(), 15);

        assertThat(ends(schedule, 0)).containsExactly(ms(30));
    }

    @Test
    void flowsWaitForAServerInTheOrderOfTheirStarts() {
        var schedule = schedule(List.of(), Optional.of(2), 100, 50, 10, 10, 10);

        assertThat(ends(schedule, 0, 0, 0, 1, 200)).containsExactly(ms(100), ms(50), ms(60), ms(70), ms(210));
    }

    @Test
    void aStalledFlowKeepsItsServer() {
        var schedule = schedule(List.of(stall(5, 100)), Optional.of(1), 10, 10);

        assertThat(ends(schedule, 0, 0)).containsExactly(ms(105), ms(115));
    }

    private static StubSchedule schedule(List<StubPlan.Stall> stalls, Optional<Integer> servers, long... delaysMs) {
        long[] delays =
                LongStream.of(delaysMs).map(TimeUnit.MILLISECONDS::toNanos).toArray();
        return new StubSchedule(
                new StubPlan(List.of(), null, null, delays, new BitSet(), new BitSet(), stalls, servers));
    }

    private static Long[] ends(StubSchedule schedule, long... startsMs) {
        return LongStream.of(startsMs)
                .mapToObj(start -> schedule.start(ms(start)).due())
                .toArray(Long[]::new);
    }

    private static StubPlan.Stall stall(long atMs, long lengthMs) {
        return new StubPlan.Stall(Duration.ofMillis(atMs), Duration.ofMillis(lengthMs), Duration.ZERO);
    }

    private static long ms(long ms) {
        return TimeUnit.MILLISECONDS.toNanos(ms);
    }
}
