package org.cordalab.nodes.agent;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;

/** Reads the files in which the kernel counts what the container uses, each time that it is asked. */
final class Container implements ContainerMBean {
    /** Fields of a line in {@code /proc/net/dev}, after the name of the interface. */
    private static final int RECEIVED_FIELD = 0;

    private static final int SENT_FIELD = 8;

    private static final String DATABASE_FILE = "persistence.mv.db";

    private final ControlGroup group;
    private final Path interfaces;
    private final File data;

    /**
     * Reads the files of a container.
     *
     * @param groups the folder of the control groups, {@code /sys/fs/cgroup}
     * @param interfaces the counters of the network interfaces, {@code /proc/net/dev}
     * @param data the folder of the database
     */
    Container(Path groups, Path interfaces, Path data) {
        this.group = new ControlGroup(groups);
        this.interfaces = interfaces;
        this.data = data.toFile();
    }

    @Override
    public Double getCpuSeconds() {
        return group.cpuSeconds();
    }

    @Override
    public Double getCpuThrottledSeconds() {
        return group.cpuThrottledSeconds();
    }

    @Override
    public Long getMemoryBytes() {
        return group.memoryBytes();
    }

    @Override
    public Long getMemoryLimitBytes() {
        return group.memoryLimitBytes();
    }

    @Override
    public Long getNetworkReceivedBytes() {
        return networkBytes(RECEIVED_FIELD);
    }

    @Override
    public Long getNetworkSentBytes() {
        return networkBytes(SENT_FIELD);
    }

    @Override
    public Long getDiskFreeBytes() {
        return data.isDirectory() ? data.getUsableSpace() : null;
    }

    @Override
    public Long getDatabaseFileBytes() {
        File file = new File(data, DATABASE_FILE);
        return file.isFile() ? file.length() : null;
    }

    /** Adds up a field over all interfaces except the loopback interface. Returns null without interfaces. */
    private Long networkBytes(int field) {
        Long total = null;
        for (String line : interfaceLines()) {
            int colon = line.indexOf(':');
            if (colon < 0 || line.substring(0, colon).trim().equals("lo")) {
                continue;
            }
            String[] fields = line.substring(colon + 1).trim().split("\\s+");
            total = (total == null ? 0 : total) + Long.parseLong(fields[field]);
        }
        return total;
    }

    private List<String> interfaceLines() {
        try {
            return Files.readAllLines(interfaces, StandardCharsets.US_ASCII);
        } catch (IOException e) {
            return Collections.emptyList();
        }
    }
}
