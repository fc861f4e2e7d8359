package org.cordalab.nodes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import net.corda.core.schemas.MappedSchema;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class UnmanagedSchemasTest {
    private static final String NAME = UnmanagedSchemasTest.class.getName();

    @TempDir
    Path directory;

    @Test
    void aSchemaWithoutAnyFileIsListedWithItsJar() throws IOException {
        jar("own.jar", new Class<?>[] {IOUSchemaV1.class, Other.class});
        assertThat(lines("own.jar")).containsExactly("own.jar " + NAME + "$IOUSchemaV1");
    }

    @Test
    void theNameOfASchemaGivesThatOfItsFile() throws IOException {
        jar("own.jar", new Class<?>[] {IOUSchemaV1.class}, "migration/i-o-u-schema-v1.changelog-master.sql");
        assertThat(lines("own.jar")).isEmpty();
        jar("own.jar", new Class<?>[] {IOUSchemaV1.class}, "migration/iou-schema-v1.changelog-master.xml");
        assertThat(lines("own.jar")).hasSize(1);
    }

    @Test
    void aSchemaCanNameItsFileAlsoInAClassAbove() throws IOException {
        Class<?>[] classes = {Named.class, Base.class, Below.class};
        jar("own.jar", classes, "migration/named.changelog-master.xml", "migration/base.changelog-master.xml");
        assertThat(lines("own.jar")).isEmpty();
        jar("own.jar", classes, "migration/named.changelog-master.xml");
        assertThat(lines("own.jar")).containsExactly("own.jar " + NAME + "$Below");
    }

    @Test
    void filesAndClassesAboveMayBeInAnotherJar() throws IOException {
        jar("base.jar", new Class<?>[] {Base.class}, "migration/base.changelog-master.xml");
        jar("own.jar", new Class<?>[] {Below.class});
        assertThat(lines("own.jar", "base.jar")).isEmpty();
    }

    @Test
    void whatIsNoClassIsSkippedAndWhatIsNoJarRefused() throws IOException {
        jar("own.jar", new Class<?>[0], "com/example/Odd.class");
        assertThatThrownBy(() -> lines("own.jar")).isInstanceOf(IOException.class);
        assertThat(ClassFile.read(new ByteArrayInputStream(new byte[8]))).isNull();
    }

    private List<String> lines(String... names) throws IOException {
        UnmanagedSchemas schemas = new UnmanagedSchemas();
        for (String name : names) {
            schemas.read(directory.resolve(name).toString());
        }
        return schemas.lines();
    }

    private void jar(String name, Class<?>[] classes, String... empty) throws IOException {
        try (OutputStream stream = Files.newOutputStream(directory.resolve(name));
                ZipOutputStream jar = new ZipOutputStream(stream)) {
            for (Class<?> one : classes) {
                String file = one.getName().replace('.', '/') + ".class";
                jar.putNextEntry(new ZipEntry(file));
                try (InputStream content = one.getClassLoader().getResourceAsStream(file)) {
                    byte[] buffer = new byte[64 * 1024];
                    for (int read = content.read(buffer); read >= 0; read = content.read(buffer)) {
                        jar.write(buffer, 0, read);
                    }
                }
                jar.closeEntry();
            }
            for (String entry : Arrays.asList(empty)) {
                jar.putNextEntry(new ZipEntry(entry));
                jar.closeEntry();
            }
        }
    }

    static final class Other {}

    static final class IOUSchemaV1 extends MappedSchema {
        IOUSchemaV1() {
            super(Other.class, 1, Collections.emptyList());
        }
    }

    static final class Named extends MappedSchema {
        Named() {
            super(Other.class, 2, Collections.emptyList());
        }

        @Override
        public String getMigrationResource() {
            return "named.changelog-master";
        }
    }

    abstract static class Base extends MappedSchema {
        Base(int version) {
            super(Other.class, version, Collections.emptyList());
        }

        @Override
        public String getMigrationResource() {
            return "base.changelog-master";
        }
    }

    static final class Below extends Base {
        Below() {
            super(3);
        }
    }
}
