package org.cordalab.bridge.stub;

import java.util.List;
import java.util.PriorityQueue;

/**
 * Works out when each flow ends. Follows from the plan and the times of the starts alone.
 *
 * <p>With a limit of flows served at once, a flow begins when one of the servers is free, in the order of the starts. A
 * flow that would end in a stall ends in the drain after it, and keeps its server until then.
 */
final class StubSchedule {

    private final StubPlan plan;
    /** The times at which the servers are free; empty if all flows are served at once. */
    private final PriorityQueue<Long> freeAt = new PriorityQueue<>();

    private long firstStart;
    private int started;

    StubSchedule(StubPlan plan) {
        this.plan = plan;
        plan.serveAtOnce().ifPresent(servers -> {
            for (int i = 0; i < servers; i++) {
                freeAt.add(Long.MIN_VALUE);
            }
        });
    }

    /**
     * One start.
     *
     * @param index number of the start, from 0
     * @param due when the flow ends, in the nanoseconds of the start
     */
    record Slot(int index, long due) {}

    /** Enters a start at a time in nanoseconds. The times of successive calls do not decrease. */
    Slot start(long now) {
        int index = started++;
        if (index == 0) {
            firstStart = now;
        }
        if (index >= plan.delayNanos().length) {
            return new Slot(index, now);
        }
        long begin = freeAt.isEmpty() ? now : Math.max(now, freeAt.poll());
        long due = afterStalls(begin + plan.delayNanos()[index], plan.stalls());
        plan.serveAtOnce().ifPresent(servers -> freeAt.add(due));
        return new Slot(index, due);
    }

    private long afterStalls(long due, List<StubPlan.Stall> stalls) {
        long end = due;
        for (StubPlan.Stall stall : stalls) {
            long from = firstStart + stall.at().toNanos();
            long until = from + stall.length().toNanos();
            if (end >= from && end < until) {
                end = until
                        + Math.round((double) (end - from)
                                / stall.length().toNanos()
                                * stall.drain().toNanos());
            }
        }
        return end;
    }
}
