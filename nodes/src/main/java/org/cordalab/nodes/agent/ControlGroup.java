package org.cordalab.nodes.agent;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;

/**
 * The control group of the container, version 1 or 2, as a process in the container sees it. What cannot be read is
 * null.
 */
final class ControlGroup {
    private static final double MICROSECONDS = 1e6;
    private static final double NANOSECONDS = 1e9;

    /** Version 1 has no word for "no limit", but a number close to the largest one. */
    private static final long LIMIT_BYTES_MAX = 1L << 60;

    private final Path root;

    /** Reads the files below {@code root}, which is {@code /sys/fs/cgroup} in a container. */
    ControlGroup(Path root) {
        this.root = root;
    }

    Double cpuSeconds() {
        Long used = field("cpu.stat", "usage_usec");
        if (used != null) {
            return used / MICROSECONDS;
        }
        Long nanoseconds = number("cpuacct/cpuacct.usage");
        return nanoseconds == null ? null : nanoseconds / NANOSECONDS;
    }

    Double cpuThrottledSeconds() {
        Long microseconds = field("cpu.stat", "throttled_usec");
        if (microseconds != null) {
            return microseconds / MICROSECONDS;
        }
        Long nanoseconds = field("cpu/cpu.stat", "throttled_time");
        if (nanoseconds != null) {
            return nanoseconds / NANOSECONDS;
        }
        // Without a limit, the kernel may not count it.
        return cpuSeconds() == null ? null : 0.0;
    }

    Long memoryBytes() {
        Long anonymous = field("memory.stat", "anon");
        return anonymous == null ? field("memory/memory.stat", "total_rss") : anonymous;
    }

    Long memoryLimitBytes() {
        Long second = number("memory.max");
        Long limit = second == null ? number("memory/memory.limit_in_bytes") : second;
        return limit == null || limit > LIMIT_BYTES_MAX ? null : limit;
    }

    /** Returns the number in the line {@code <name> <number>} of a file. */
    private Long field(String file, String name) {
        for (String line : lines(file)) {
            if (line.startsWith(name + " ")) {
                return parse(line.substring(name.length()));
            }
        }
        return null;
    }

    private Long number(String file) {
        List<String> lines = lines(file);
        return lines.isEmpty() ? null : parse(lines.get(0));
    }

    private List<String> lines(String file) {
        try {
            return Files.readAllLines(root.resolve(file), StandardCharsets.US_ASCII);
        } catch (IOException e) {
            return Collections.emptyList();
        }
    }

    private static Long parse(String text) {
        try {
            return Long.valueOf(text.trim());
        } catch (NumberFormatException e) {
            return null;
        }
    }
}
