package org.cordalab.bridge.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import net.corda.core.serialization.SerializationCustomSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CordappSerializersTest {

    /** A type that Corda cannot serialise without help. */
    public static final class Odd {}

    public static final class Proxy {}

    public static final class OddSerializer implements SerializationCustomSerializer<Odd, Proxy> {
        @Override
        public Proxy toProxy(Odd odd) {
            return new Proxy();
        }

        @Override
        public Odd fromProxy(Proxy proxy) {
            return new Odd();
        }
    }

    @Test
    void findsThoseOfCordappsOnly(@TempDir Path folder) throws IOException {
        String inCordapp = folderWithSerializer(folder.resolve("cordapps/one")).toString();
        String elsewhere = folderWithSerializer(folder.resolve("lib/one")).toString();

        assertThat(CordappSerializers.find(elsewhere)).isEmpty();
        assertThat(CordappSerializers.find(elsewhere + File.pathSeparator + inCordapp))
                .singleElement()
                .isInstanceOf(OddSerializer.class);
    }

    private static Path folderWithSerializer(Path classes) throws IOException {
        String name = OddSerializer.class.getName().replace('.', '/') + ".class";
        Path file = classes.resolve(name);
        Files.createDirectories(file.getParent());
        try (InputStream original = OddSerializer.class.getClassLoader().getResourceAsStream(name)) {
            Files.copy(original, file);
        }
        return classes;
    }
}
