package org.cordalab.nodes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SchemasTest {
    private static final String SHA256_OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    @TempDir
    Path directory;

    @Test
    void onlyLiquibaseFilesAreListedWithTheirDigest() throws IOException {
        Path jar = jar("own.jar", "migration/", "migration/own.changelog-master.xml", "com/example/Own.class");
        assertThat(Schemas.of(jar.toString()))
                .containsExactly(SHA256_OF_NOTHING + " migration/own.changelog-master.xml");
    }

    @Test
    void aJarWithoutSchemasHasNone() throws IOException {
        assertThat(Schemas.of(
                        jar("own.jar", "com/example/db/migration/Own.class").toString()))
                .isEmpty();
    }

    @Test
    void whatIsNoJarIsRefused() throws IOException {
        Path text = directory.resolve("text.jar");
        Files.write(text, "no jar".getBytes(StandardCharsets.UTF_8));
        assertThatThrownBy(() -> Schemas.of(text.toString())).isInstanceOf(ZipException.class);
    }

    private Path jar(String name, String... entries) throws IOException {
        Path file = directory.resolve(name);
        try (OutputStream stream = Files.newOutputStream(file);
                ZipOutputStream jar = new ZipOutputStream(stream)) {
            for (String entry : Arrays.asList(entries)) {
                jar.putNextEntry(new ZipEntry(entry));
                jar.closeEntry();
            }
        }
        return file;
    }
}
