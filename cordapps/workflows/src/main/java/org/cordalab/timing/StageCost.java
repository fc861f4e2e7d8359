package org.cordalab.timing;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import net.corda.core.crypto.SecureHash;

/**
 * Measures the cost of timing the stages of a flow. It repeats everything that a {@link TimedFlow} does in addition to
 * its work, including the row in a file and the histograms. {@code docs/performance.md} has the command that runs it in
 * a node's image.
 *
 * <p>Prints one line of JSON per batch. {@code cpu_us_per_flow} is the CPU time of the whole JVM, including its
 * compiler and the writer thread. {@code caller_us_per_flow} is the time by which the timing delays the flow itself.
 */
public final class StageCost {
    private static final int[] BATCHES = {100, 1_000, 10_000, 10_000, 10_000};
    private static final long WRITTEN_SECONDS_MAX = 60;

    private StageCost() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        Path file = Files.createTempFile("stages", ".ndjson");
        try {
            StageRows rows = new StageRows(file);
            SecureHash transaction = SecureHash.sha256("a transaction");
            // The histograms are registered once for each flow class. A node has done so before it is measured.
            time(rows, transaction);
            long expected = 1;
            for (int flows : BATCHES) {
                expected += flows;
                measure(rows, transaction, flows, expected);
            }
        } finally {
            Files.deleteIfExists(file);
        }
    }

    private static void measure(StageRows rows, SecureHash transaction, int flows, long expected)
            throws InterruptedException {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long cpuNanos = system.getProcessCpuTime();
        long startNanos = System.nanoTime();
        for (int flow = 0; flow < flows; flow++) {
            time(rows, transaction);
        }
        long callerNanos = System.nanoTime() - startNanos;
        long deadline = System.nanoTime() + WRITTEN_SECONDS_MAX * 1_000_000_000L;
        while (rows.getWritten() + rows.getDropped() < expected) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("the rows were not written within " + WRITTEN_SECONDS_MAX + " s");
            }
            Thread.sleep(1);
        }
        cpuNanos = system.getProcessCpuTime() - cpuNanos;
        System.out.println(String.format(
                Locale.ROOT,
                "{\"flows\":%d,\"caller_us_per_flow\":%.3f,\"cpu_us_per_flow\":%.3f,\"rows_dropped\":%d}",
                flows,
                callerNanos / 1e3 / flows,
                cpuNanos / 1e3 / flows,
                rows.getDropped()));
    }

    /** Times a notarised flow of two parties, which has more stages than most. */
    private static void time(StageRows rows, SecureHash transaction) {
        StageTimer stages = StageTimer.running();
        stages.start();
        stages.enter(Stage.SELECT);
        stages.enter(Stage.BUILD);
        stages.enter(Stage.VERIFY);
        stages.enter(Stage.SIGN);
        stages.transaction(transaction);
        stages.enter(Stage.COLLECT_SIGNATURES);
        stages.enter(Stage.NOTARISE);
        stages.notarised();
        stages.enter(Stage.FINALISE);
        stages.recorded();
        Timing timing = stages.end("ok");
        StageStatistics.record("StageCost", "initiator", timing);
        rows.offer(() -> timing.toJson(
                "00000000-0000-0000-0000-000000000000",
                "org.cordalab.flows.Iou",
                "initiator",
                "O=PartyA,L=London,C=GB"));
    }
}
