package org.cordalab.timing;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes one line of JSON for every flow that has ended, to the file in the environment variable {@value
 * #FILE_VARIABLE}. Without the variable, there are no rows. A flow only puts its row into a bounded queue and never
 * waits; a single thread encodes and writes the rows.
 *
 * <p>While a file of the same name with the suffix {@value #SWITCH_SUFFIX} exists, stage timing is off: flows that are
 * created meanwhile are not timed at all, so they also enter no {@link StageStatistics}. The thread that writes the rows
 * looks for the file, so no flow does.
 */
public final class StageRows implements StageRowsMBean {
    static final String FILE_VARIABLE = "LAB_STAGES_FILE";
    static final String SWITCH_SUFFIX = ".off";
    static final int QUEUE_ROWS_MAX = 65_536;
    static final long FILE_BYTES_MAX = 512L * 1024 * 1024;
    static final long FLUSH_MILLIS = 500;

    private static final Logger LOG = LoggerFactory.getLogger(StageRows.class);
    private static final StageRows INSTANCE = fromEnvironment();

    private final Path file;
    private final Path offFile;
    private final BlockingQueue<Supplier<String>> queue = new ArrayBlockingQueue<>(QUEUE_ROWS_MAX);
    private final LongAdder written = new LongAdder();
    private final LongAdder dropped = new LongAdder();
    private volatile boolean on;

    StageRows(Path file) {
        this.file = file;
        this.offFile = file.resolveSibling(file.getFileName() + SWITCH_SUFFIX);
        this.on = !Files.exists(offFile);
        Thread writer = new Thread(this::write, "stage-rows");
        writer.setDaemon(true);
        writer.start();
    }

    /** Returns whether a flow that is created now is timed. */
    static boolean areTimed() {
        return INSTANCE == null || INSTANCE.isOn();
    }

    /** Queues a row, which is encoded later. Drops it if there is no file or the queue is full. */
    static void write(Supplier<String> row) {
        if (INSTANCE != null) {
            INSTANCE.offer(row);
        }
    }

    void offer(Supplier<String> row) {
        if (!queue.offer(row)) {
            dropped.increment();
        }
    }

    @Override
    public long getWritten() {
        return written.sum();
    }

    @Override
    public long getDropped() {
        return dropped.sum();
    }

    @Override
    public boolean isOn() {
        return on;
    }

    private static StageRows fromEnvironment() {
        String file = System.getenv(FILE_VARIABLE);
        if (file == null || file.isEmpty()) {
            return null;
        }
        StageRows rows = new StageRows(Paths.get(file));
        StageStatistics.Mbeans.register(rows, "org.cordalab:type=StageRows");
        return rows;
    }

    private void write() {
        try (OutputStream out = new BufferedOutputStream(
                Files.newOutputStream(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND))) {
            long bytes = Files.size(file);
            long flushed = System.nanoTime();
            while (true) {
                Supplier<String> row = queue.poll(FLUSH_MILLIS, TimeUnit.MILLISECONDS);
                if (row != null) {
                    byte[] line = (row.get() + "\n").getBytes(StandardCharsets.UTF_8);
                    if (bytes + line.length > FILE_BYTES_MAX) {
                        dropped.increment();
                    } else {
                        out.write(line);
                        bytes += line.length;
                        written.increment();
                    }
                }
                if (row == null || System.nanoTime() - flushed > TimeUnit.MILLISECONDS.toNanos(FLUSH_MILLIS)) {
                    out.flush();
                    on = !Files.exists(offFile);
                    flushed = System.nanoTime();
                }
            }
        } catch (IOException e) {
            LOG.warn("cannot write stage rows to {}; all further rows are dropped", file, e);
            dropAll();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Counts all rows as dropped, those in the queue and those still to come. */
    private void dropAll() {
        try {
            while (true) {
                queue.take();
                dropped.increment();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
