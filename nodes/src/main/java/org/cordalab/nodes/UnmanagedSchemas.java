package org.cordalab.nodes;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * Lists the schemas of CorDapps that have no Liquibase files to create their tables: {@code <jar> <class>}, one per
 * line.
 *
 * <p>The rules are Corda's. A schema is a class that extends {@code MappedSchema}. It either names its Liquibase file,
 * or its own name does: that of {@code IouSchemaV1} is {@code migration/iou-schema-v1.changelog-master.xml}. The class
 * files are only read: the classes need libraries that are not here.
 *
 * <p>Usage: {@code UnmanagedSchemas <jar> …}
 */
public final class UnmanagedSchemas {
    private static final String SCHEMA = "net/corda/core/schemas/MappedSchema";
    private static final String FOLDER = "migration/";
    private static final String[] EXTENSIONS = {".xml", ".sql", ".yml", ".json"};
    private static final String NAMED_EXTENSION = ".xml";

    private final Map<String, ClassFile> classes = new HashMap<>();
    /** File name of its jar by class. */
    private final Map<String, String> jars = new HashMap<>();

    private final Set<String> liquibaseFiles = new HashSet<>();

    public static void main(String[] args) {
        UnmanagedSchemas schemas = new UnmanagedSchemas();
        for (String file : args) {
            try {
                schemas.read(file);
            } catch (IOException e) {
                System.err.println("bootstrap: " + file + " cannot be read as a jar: " + e.getMessage());
                System.exit(2);
            }
        }
        schemas.lines().forEach(System.out::println);
    }

    void read(String file) throws IOException {
        String jarName = Paths.get(file).getFileName().toString();
        try (ZipFile jar = new ZipFile(file)) {
            for (ZipEntry entry : Collections.list(jar.entries())) {
                if (entry.getName().startsWith(FOLDER)) {
                    liquibaseFiles.add(entry.getName());
                } else if (entry.getName().endsWith(".class")
                        && !entry.getName().startsWith("META-INF/")) {
                    add(jarName, jar, entry);
                }
            }
        }
    }

    private void add(String jarName, ZipFile jar, ZipEntry entry) throws IOException {
        ClassFile file;
        try (InputStream content = jar.getInputStream(entry)) {
            file = ClassFile.read(content);
        }
        if (file != null) {
            classes.put(file.name, file);
            jars.put(file.name, jarName);
        }
    }

    /** Returns the sorted lines. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        for (ClassFile one : classes.values()) {
            if (!one.isAbstract && isSchema(one) && !hasFile(one)) {
                lines.add(jars.get(one.name) + " " + one.name.replace('/', '.'));
            }
        }
        Collections.sort(lines);
        return lines;
    }

    private boolean isSchema(ClassFile file) {
        ClassFile above = file;
        // No chain is longer than the number of classes, unless the jars are made up.
        for (int i = 0; above != null && i <= classes.size(); i++) {
            if (SCHEMA.equals(above.superclass)) {
                return true;
            }
            above = classes.get(above.superclass);
        }
        return false;
    }

    private boolean hasFile(ClassFile schema) {
        String byName = FOLDER + hyphenated(schema.simpleName()) + ".changelog-master";
        for (String extension : EXTENSIONS) {
            if (liquibaseFiles.contains(byName + extension)) {
                return true;
            }
        }
        for (ClassFile one = schema; one != null; one = classes.get(one.superclass)) {
            for (String text : one.texts) {
                if (liquibaseFiles.contains(FOLDER + text + NAMED_EXTENSION)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Returns a class name as Corda does: {@code IOUSchemaV1} is {@code i-o-u-schema-v1}. */
    private static String hyphenated(String className) {
        return className.replaceAll("(?<!^)(?=[A-Z])", "-").toLowerCase(Locale.ROOT);
    }
}
