package org.cordalab.bridge.node;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import net.corda.core.internal.ClassLoadingUtilsKt;
import net.corda.core.serialization.SerializationCustomSerializer;

/**
 * Finds the serialisers that CorDapps provide for their own types.
 *
 * <p>By default, the RPC client searches the whole class path, which takes over two seconds of CPU time. Only CorDapps
 * have such serialisers.
 */
final class CordappSerializers {

    /** The folder of the CorDapps, the same as on a node. */
    private static final Path FOLDER = Path.of("cordapps");

    private CordappSerializers() {}

    /** Creates one instance of every serialiser in the CorDapps on this class path. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    static Set<SerializationCustomSerializer<?, ?>> find(String classPath) {
        URL[] cordapps = Arrays.stream(classPath.split(File.pathSeparator))
                .map(Path::of)
                .filter(path -> path.getParent() != null
                        && FOLDER.equals(path.getParent().getFileName()))
                .map(CordappSerializers::url)
                .toArray(URL[]::new);
        // The classes themselves are loaded by its parent, the class loader of everything else.
        try (var loader = new URLClassLoader(cordapps, CordappSerializers.class.getClassLoader())) {
            return (Set) ClassLoadingUtilsKt.createInstancesOfClassesImplementing(
                    loader, SerializationCustomSerializer.class, null);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static URL url(Path path) {
        try {
            return path.toUri().toURL();
        } catch (MalformedURLException e) {
            throw new UncheckedIOException(e);
        }
    }
}
