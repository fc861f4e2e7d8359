package org.cordalab.bridge.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ContainerMetricsTest {

    @TempDir
    Path directory;

    @Test
    void bothVersionsOfControlGroupsAreRead() throws IOException {
        write("first/cpuacct/cpuacct.usage", "1500000000\n");
        write("first/cpu/cpu.stat", "nr_throttled 1\nthrottled_time 250000000\n");
        write("first/memory/memory.stat", "total_cache 9\ntotal_rss 4096\n");
        write("first/memory/memory.limit_in_bytes", "8192\n");
        write("second/cpu.stat", "usage_usec 1500000\nthrottled_usec 250000\n");
        write("second/memory.stat", "anon 4096\nfile 9\n");
        write("second/memory.max", "8192\n");
        for (String version : new String[] {"first", "second"}) {
            ContainerMetrics metrics = metrics(version);
            assertThat(metrics.cpuSeconds()).hasValue(1.5);
            assertThat(metrics.cpuThrottledSeconds()).hasValue(0.25);
            assertThat(metrics.memoryBytes()).hasValue(4096);
            assertThat(metrics.memoryLimitBytes()).hasValue(8192);
        }
    }

    @Test
    void withoutLimitsNothingIsThrottledAndThereIsNoLimit() throws IOException {
        write("first/cpuacct/cpuacct.usage", "1\n");
        write("first/memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("second/cpu.stat", "usage_usec 1\n");
        write("second/memory.max", "max\n");
        for (String version : new String[] {"first", "second"}) {
            assertThat(metrics(version).cpuThrottledSeconds()).hasValue(0);
            assertThat(metrics(version).memoryLimitBytes()).isEmpty();
        }
    }

    @Test
    void theTimeOfTheMachineIsThatOfAllCores() throws IOException {
        write("stat", "cpu  100 0 50 800 10 5 5 30 90 0\ncpu0 50 0 25 400 5 2 3 15 45 0\n");
        assertThat(metrics("nothing").hostSeconds()).hasValue(10);
        assertThat(metrics("nothing").hostStolenSeconds()).hasValue(0.3);
    }

    @Test
    void whatCannotBeReadIsNotOnThePage() {
        PrometheusRegistry registry = new PrometheusRegistry();
        metrics("nothing").register(registry);
        String page = new String(MetricsPage.of(registry, null).body(), StandardCharsets.UTF_8);
        assertThat(page.lines().filter(line -> !line.startsWith("#"))).isEmpty();
    }

    @Test
    void whatCanBeReadIsOnThePage() throws IOException {
        write("groups/cpu.stat", "usage_usec 1500000\n");
        PrometheusRegistry registry = new PrometheusRegistry();
        metrics("groups").register(registry);
        String page = new String(MetricsPage.of(registry, null).body(), StandardCharsets.UTF_8);
        assertThat(page).contains("container_cpu_seconds_total 1.5\n");
    }

    private ContainerMetrics metrics(String groups) {
        return new ContainerMetrics(directory.resolve(groups), directory.resolve("stat"));
    }

    private void write(String name, String text) throws IOException {
        Path file = directory.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }
}
