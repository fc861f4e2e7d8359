package org.cordalab.nodes.agent;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ContainerTest {
    private static final String HEADER = "Inter-|   Receive  |  Transmit\n face |bytes    packets |bytes\n";

    /** The fields between the bytes that were received and those that were sent. */
    private static final String BETWEEN = " 1 0 0 0 0 0 0 ";

    @TempDir
    Path directory;

    @Test
    void bothVersionsOfControlGroupsAreRead() throws IOException {
        write("first/cpuacct/cpuacct.usage", "1500000000\n");
        write("first/cpu/cpu.stat", "nr_periods 4\nnr_throttled 1\nthrottled_time 250000000\n");
        write("first/memory/memory.stat", "rss 1\ntotal_cache 9\ntotal_rss 4096\n");
        write("first/memory/memory.limit_in_bytes", "8192\n");
        write("second/cpu.stat", "usage_usec 1500000\nuser_usec 1000000\nthrottled_usec 250000\n");
        write("second/memory.stat", "anon 4096\nfile 9\n");
        write("second/memory.max", "8192\n");
        for (String version : new String[] {"first", "second"}) {
            Container container = container(version);
            assertThat(container.getCpuSeconds()).isEqualTo(1.5);
            assertThat(container.getCpuThrottledSeconds()).isEqualTo(0.25);
            assertThat(container.getMemoryBytes()).isEqualTo(4096);
            assertThat(container.getMemoryLimitBytes()).isEqualTo(8192);
        }
    }

    @Test
    void withoutALimitOfTheCpuNothingIsThrottled() throws IOException {
        write("groups/cpu.stat", "usage_usec 1500000\n");
        assertThat(container("groups").getCpuThrottledSeconds()).isZero();
    }

    @Test
    void noLimitOfTheMemoryIsNoNumber() throws IOException {
        write("first/memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("second/memory.max", "max\n");
        assertThat(container("first").getMemoryLimitBytes()).isNull();
        assertThat(container("second").getMemoryLimitBytes()).isNull();
    }

    @Test
    void whatTheKernelDoesNotTellIsNull() {
        Container container = container("nothing");
        assertThat(container.getCpuSeconds()).isNull();
        assertThat(container.getCpuThrottledSeconds()).isNull();
        assertThat(container.getMemoryBytes()).isNull();
        assertThat(container.getNetworkReceivedBytes()).isNull();
        assertThat(container.getDiskFreeBytes()).isNull();
        assertThat(container.getDatabaseFileBytes()).isNull();
    }

    @Test
    void theLoopbackInterfaceIsNotTheNetwork() throws IOException {
        String own = "lo: 900" + BETWEEN + "900\n";
        String others = "eth0: 1000" + BETWEEN + "2000\neth1: 5" + BETWEEN + "7\n";
        write("interfaces", HEADER + own + others);
        Container container = container("nothing");
        assertThat(container.getNetworkReceivedBytes()).isEqualTo(1005);
        assertThat(container.getNetworkSentBytes()).isEqualTo(2007);
    }

    @Test
    void theDiskAndTheFileOfTheDatabaseAreThoseOfItsFolder() throws IOException {
        write("data/persistence.mv.db", "12345");
        Container container = container("nothing");
        assertThat(container.getDatabaseFileBytes()).isEqualTo(5);
        assertThat(container.getDiskFreeBytes()).isPositive();
    }

    @Test
    void theAgentRegistersWhatTheExporterReads() throws Exception {
        NodeAgent.premain(directory.toString());
        MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
        ObjectName name = new ObjectName(NodeAgent.CONTAINER);
        assertThat(beans.getAttribute(name, "DiskFreeBytes")).isInstanceOf(Long.class);
        beans.unregisterMBean(name);
    }

    private Container container(String groups) {
        return new Container(directory.resolve(groups), directory.resolve("interfaces"), directory.resolve("data"));
    }

    private void write(String name, String text) throws IOException {
        Path file = directory.resolve(name);
        Files.createDirectories(file.getParent());
        Files.write(file, text.getBytes(StandardCharsets.US_ASCII));
    }
}
