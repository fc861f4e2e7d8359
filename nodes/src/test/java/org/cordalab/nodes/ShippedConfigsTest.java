package org.cordalab.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that each file in configs/ gives a network. */
class ShippedConfigsTest {
    private static final Path CONFIGS = Paths.get("..", "configs");

    @TempDir
    Path directory;

    static List<String> presets() throws IOException {
        return namesOf("nodes");
    }

    static List<String> notaries() throws IOException {
        return namesOf("notaries");
    }

    @ParameterizedTest
    @MethodSource("presets")
    void everyPresetCanBeRead(String preset) throws IOException {
        make("NODE_PRESET", preset);
        assertThat(directory.resolve("nodes/partya/jvm.args")).exists();
    }

    @ParameterizedTest
    @MethodSource("notaries")
    void everyNotaryCanBeMade(String notary) throws IOException {
        make("NOTARY", notary);
        assertThat(directory.resolve("network-parameters")).isNotEmptyFile();
    }

    private static List<String> namesOf(String folder) throws IOException {
        try (Stream<Path> files = Files.list(CONFIGS.resolve(folder))) {
            return files.map(file -> file.getFileName().toString().replaceFirst("\\.conf$", ""))
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    private void make(String variable, String value) throws IOException {
        Map<String, String> environment = new HashMap<>();
        environment.put("PARTIES", "2");
        environment.put("DATABASE", "postgres");
        environment.put("NOTARY", "simple");
        environment.put("NODE_PRESET", "stock");
        environment.put("DEV_MODE", "false");
        environment.put("LAB_PLATFORM_VERSION", "12");
        environment.put("CORDA_IMAGE", "example/corda-enterprise");
        environment.put("NODE_HEAP", "1g");
        environment.put("POSTGRES_POOL_SIZE", "10");
        environment.put("RPC_USER", "lab");
        environment.put(variable, value);
        Places places = new Places(
                CONFIGS,
                directory,
                directory.resolve("nodes"),
                directory.resolve("authority"),
                directory.resolve("secrets"));
        new Bootstrap(new Shape(environment), places).run();
    }
}
