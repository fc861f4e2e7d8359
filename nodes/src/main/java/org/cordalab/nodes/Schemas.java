package org.cordalab.nodes;

import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collections;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * Lists the Liquibase files of CorDapps, which create the tables of their schemas: {@code <sha256> <name>}, one per
 * line.
 *
 * <p>If all of them have run on a node's database, it needs no migration, whatever else has changed in the jars.
 *
 * <p>Usage: {@code Schemas <jar> …}
 */
public final class Schemas {
    /** The folder in which Corda looks for them. */
    private static final String FOLDER = "migration/";

    private static final int BUFFER_BYTES = 64 * 1024;

    private Schemas() {}

    public static void main(String[] args) throws IOException {
        SortedSet<String> lines = new TreeSet<>();
        for (String file : args) {
            try {
                lines.addAll(of(file));
            } catch (IOException e) {
                System.err.println("bootstrap: " + file + " cannot be read as a jar: " + e.getMessage());
                System.exit(2);
            }
        }
        lines.forEach(System.out::println);
    }

    static SortedSet<String> of(String file) throws IOException {
        SortedSet<String> lines = new TreeSet<>();
        try (ZipFile jar = new ZipFile(file)) {
            for (ZipEntry entry : Collections.list(jar.entries())) {
                if (entry.getName().startsWith(FOLDER) && !entry.isDirectory()) {
                    lines.add(sha256(jar, entry) + " " + entry.getName());
                }
            }
        }
        return lines;
    }

    private static String sha256(ZipFile jar, ZipEntry entry) throws IOException {
        MessageDigest digest;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
        byte[] buffer = new byte[BUFFER_BYTES];
        try (InputStream content = jar.getInputStream(entry)) {
            for (int read = content.read(buffer); read >= 0; read = content.read(buffer)) {
                digest.update(buffer, 0, read);
            }
        }
        return String.format("%064x", new BigInteger(1, digest.digest()));
    }
}
