package org.cordalab.timing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import net.corda.core.crypto.SecureHash;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that a file switches the timing of stages off and on again, and what a flow then keeps. */
class StageSwitchTest {
    private static final long NOTICED_SECONDS_MAX = 30;

    @TempDir
    Path folder;

    private Path file;
    private Path offFile;

    @BeforeEach
    void nameTheFiles() {
        file = folder.resolve("stages.ndjson");
        offFile = folder.resolve("stages.ndjson.off");
    }

    @Test
    void theTimingIsOnUnlessTheFileExists() throws Exception {
        StageRows rows = new StageRows(file);
        assertTrue(rows.isOn());
        Files.createFile(offFile);
        await(rows, false);
        Files.delete(offFile);
        await(rows, true);
    }

    @Test
    void theFileIsAlsoNoticedWhileRowsAreWritten() throws Exception {
        StageRows rows = new StageRows(file);
        Files.createFile(offFile);
        long deadline = deadline();
        while (rows.isOn() && System.nanoTime() < deadline) {
            rows.offer(() -> "{}");
        }
        assertFalse(rows.isOn());
    }

    @Test
    void aFlowThatIsCreatedWhileTheFileExistsIsNotTimed() throws IOException {
        Files.createFile(offFile);
        assertFalse(new StageRows(file).isOn());
    }

    @Test
    void aTimerWithoutRowsFileRuns() {
        assertFalse(StageTimer.ofNewFlow().isIdle());
    }

    @Test
    void anIdleTimerAcceptsEverything() {
        StageTimer timer = StageTimer.idle();
        timer.start();
        timer.enter(Stage.BUILD);
        timer.transaction(SecureHash.sha256("a transaction"));
        timer.notarised();
        timer.recorded();
        assertTrue(timer.isIdle());
    }

    private static void await(StageRows rows, boolean on) throws InterruptedException {
        long deadline = deadline();
        while (rows.isOn() != on && System.nanoTime() < deadline) {
            Thread.sleep(10);
        }
        assertEquals(on, rows.isOn());
    }

    private static long deadline() {
        return System.nanoTime() + NOTICED_SECONDS_MAX * 1_000_000_000L;
    }
}
