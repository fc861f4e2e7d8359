package org.cordalab.timing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import net.corda.core.crypto.SecureHash;
import org.junit.jupiter.api.Test;

/** Tests the list of the stages that a flow went through, in the order in which it entered them. */
class StageEntriesTest {
    @Test
    void aStageThatIsEnteredAgainIsListedAgain() {
        StageTimer timer = StageTimer.running();
        timer.start();
        timer.enter(Stage.BUILD);
        timer.enter(Stage.BUILD);
        timer.enter(Stage.FINALISE);
        timer.enter(Stage.BUILD);

        List<String> labels = labels(timer.end("ok"));
        assertEquals(5, labels.size());
        assertEquals("wait", labels.get(0));
        assertEquals("other", labels.get(1));
        assertEquals("build", labels.get(2));
        assertEquals("finalise", labels.get(3));
        assertEquals("build", labels.get(4));
    }

    @Test
    void theListedTimesAddUpToTheDurations() {
        StageTimer timer = StageTimer.running();
        timer.start();
        timer.enter(Stage.BUILD);
        timer.enter(Stage.SIGN);
        timer.enter(Stage.BUILD);
        Timing timing = timer.end("ok");

        long[] entries = timing.entries;
        long ended = timing.endedMicros - timing.createdMicros;
        long inBuild = 0;
        for (int place = 0; place < entries.length; place++) {
            long until = place + 1 < entries.length ? StageEntries.micros(entries[place + 1]) : ended;
            assertTrue(until >= StageEntries.micros(entries[place]));
            inBuild += label(entries[place]).equals("build") ? until - StageEntries.micros(entries[place]) : 0;
        }
        assertEquals(0, StageEntries.micros(entries[0]));
        assertEquals(timing.durations.getOrDefault(Stage.BUILD, 0L), inBuild);
    }

    @Test
    void aLongListEndsWithTheTimeFromWhichOnNothingIsListed() {
        StageTimer timer = StageTimer.running();
        for (int round = 0; round < StageTimer.ENTRIES_MAX; round++) {
            timer.enter(Stage.BUILD);
            timer.enter(Stage.SIGN);
        }

        List<String> labels = labels(timer.end("ok"));
        assertEquals(StageTimer.ENTRIES_MAX, labels.size());
        assertEquals("none", labels.get(StageTimer.ENTRIES_MAX - 1));
        assertEquals(1, labels.stream().filter("none"::equals).count());
    }

    @Test
    void theRowListsTheStagesWithTheirMilliseconds() {
        StageTimer timer = StageTimer.running();
        timer.start();
        timer.transaction(SecureHash.sha256("a transaction"));
        Timing timing = timer.end("ok");
        String row = timing.toJson("a flow id", "org.cordalab.flows.Iou", "initiator", "O=PartyA,L=London,C=GB");

        long started = timing.startedMicros - timing.createdMicros;
        String entries = String.format("[[\"wait\",0.000],[\"other\",%d.%03d]]", started / 1000, started % 1000);
        assertTrue(row.endsWith(",\"entries\":" + entries + "}"), row);
    }

    @Test
    void anEntryKeepsHoursToTheMicrosecond() {
        long hours = 100L * 3600 * 1_000_000 + 1;
        long entry = StageEntries.entry(Stage.RECORD, hours);
        assertEquals("record", label(entry));
        assertEquals(hours, StageEntries.micros(entry));
        assertEquals(hours, StageEntries.micros(StageEntries.cut(hours)));
    }

    private static String label(long entry) {
        return StageEntries.label(entry).orElse("none");
    }

    private static List<String> labels(Timing timing) {
        List<String> found = new ArrayList<>();
        for (long entry : timing.entries) {
            found.add(label(entry));
        }
        return found;
    }
}
