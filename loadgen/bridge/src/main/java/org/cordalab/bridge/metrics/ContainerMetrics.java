package org.cordalab.bridge.metrics;

import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.DoubleStream;

/**
 * What the container of the bridge uses, and the CPU time of the machine, as the kernel counts them.
 *
 * <p>The control group is version 1 or 2. A value that cannot be read is left out of the page.
 */
final class ContainerMetrics {

    private static final double MICROSECONDS = 1e6;
    private static final double NANOSECONDS = 1e9;

    /** Unit of the times in {@code /proc/stat}: 100 for each second on every Linux that Docker supports. */
    private static final double TICKS = 100;

    /** Version 1 has no word for "no limit", but a number close to the largest one. */
    private static final double LIMIT_BYTES_MAX = 0x1p60;

    /** User, nice, system, idle, waiting for a disk, interrupts (two kinds), stolen. Guests are in user time. */
    private static final int CPU_FIELDS = 8;

    private static final int STOLEN_FIELD = 7;

    private final Path groups;
    private final Path stat;

    /**
     * Reads the files of a container.
     *
     * @param groups the folder of the control groups, {@code /sys/fs/cgroup}
     * @param stat the CPU time of the machine, {@code /proc/stat}
     */
    ContainerMetrics(Path groups, Path stat) {
        this.groups = groups;
        this.stat = stat;
    }

    /** Exports all values from now on. */
    void register(PrometheusRegistry registry) {
        String cpu = "CPU time of all processes of the container.";
        counter(registry, "container_cpu_seconds", cpu, this::cpuSeconds);
        String throttled = "Time for which the container wanted the CPU, but had used up its share of it.";
        counter(registry, "container_cpu_throttled_seconds", throttled, this::cpuThrottledSeconds);
        String memory = "Memory that the processes of the container have allocated, without the page cache.";
        gauge(registry, "container_memory_bytes", memory, this::memoryBytes);
        String limit = "Memory that the container may use.";
        gauge(registry, "container_memory_limit_bytes", limit, this::memoryLimitBytes);
        String host = "CPU time of all cores of the machine, idle or not.";
        counter(registry, "host_cpu_seconds", host, this::hostSeconds);
        String stolen = "CPU time that the hypervisor gave to other virtual machines.";
        counter(registry, "host_cpu_stolen_seconds", stolen, this::hostStolenSeconds);
    }

    OptionalDouble cpuSeconds() {
        OptionalDouble microseconds = field("cpu.stat", "usage_usec");
        if (microseconds.isPresent()) {
            return scaled(microseconds, MICROSECONDS);
        }
        return scaled(number("cpuacct/cpuacct.usage"), NANOSECONDS);
    }

    OptionalDouble cpuThrottledSeconds() {
        OptionalDouble microseconds = field("cpu.stat", "throttled_usec");
        if (microseconds.isPresent()) {
            return scaled(microseconds, MICROSECONDS);
        }
        OptionalDouble nanoseconds = field("cpu/cpu.stat", "throttled_time");
        if (nanoseconds.isPresent() || cpuSeconds().isEmpty()) {
            return scaled(nanoseconds, NANOSECONDS);
        }
        // Without a limit, the kernel may not count it.
        return OptionalDouble.of(0);
    }

    OptionalDouble memoryBytes() {
        OptionalDouble anonymous = field("memory.stat", "anon");
        return anonymous.isPresent() ? anonymous : field("memory/memory.stat", "total_rss");
    }

    OptionalDouble memoryLimitBytes() {
        OptionalDouble second = number("memory.max");
        OptionalDouble limit = second.isPresent() ? second : number("memory/memory.limit_in_bytes");
        return limit.orElse(0) > LIMIT_BYTES_MAX ? OptionalDouble.empty() : limit;
    }

    OptionalDouble hostSeconds() {
        double[] ticks = hostTicks();
        return ticks.length == 0
                ? OptionalDouble.empty()
                : OptionalDouble.of(DoubleStream.of(ticks).sum() / TICKS);
    }

    OptionalDouble hostStolenSeconds() {
        double[] ticks = hostTicks();
        return ticks.length == 0 ? OptionalDouble.empty() : OptionalDouble.of(ticks[STOLEN_FIELD] / TICKS);
    }

    /** Returns the fields of the first line of {@code /proc/stat}, which is about all cores; empty if it is unknown. */
    private double[] hostTicks() {
        List<String> lines = lines(stat);
        String[] fields = lines.isEmpty() ? new String[0] : lines.get(0).split(" +");
        if (fields.length <= CPU_FIELDS || !fields[0].equals("cpu")) {
            return new double[0];
        }
        double[] ticks = new double[CPU_FIELDS];
        for (int i = 0; i < CPU_FIELDS; i++) {
            ticks[i] = Double.parseDouble(fields[i + 1]);
        }
        return ticks;
    }

    private static OptionalDouble scaled(OptionalDouble value, double unit) {
        return value.isPresent() ? OptionalDouble.of(value.getAsDouble() / unit) : value;
    }

    /** Returns the number in the line {@code <name> <number>} of a file of the control group. */
    private OptionalDouble field(String file, String name) {
        for (String line : lines(groups.resolve(file))) {
            if (line.startsWith(name + " ")) {
                return parse(line.substring(name.length()));
            }
        }
        return OptionalDouble.empty();
    }

    private OptionalDouble number(String file) {
        List<String> lines = lines(groups.resolve(file));
        return lines.isEmpty() ? OptionalDouble.empty() : parse(lines.get(0));
    }

    private static OptionalDouble parse(String text) {
        try {
            return OptionalDouble.of(Long.parseLong(text.strip()));
        } catch (NumberFormatException e) {
            return OptionalDouble.empty();
        }
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file, StandardCharsets.US_ASCII);
        } catch (IOException e) {
            return List.of();
        }
    }

    /** A value, or none if it cannot be read. */
    private interface Reading {
        OptionalDouble read();
    }

    private static void counter(PrometheusRegistry registry, String name, String help, Reading reading) {
        CounterWithCallback.builder()
                .name(name)
                .help(help)
                .callback(callback -> reading.read().ifPresent(callback::call))
                .register(registry);
    }

    private static void gauge(PrometheusRegistry registry, String name, String help, Reading reading) {
        GaugeWithCallback.builder()
                .name(name)
                .help(help)
                .callback(callback -> reading.read().ifPresent(callback::call))
                .register(registry);
    }
}
