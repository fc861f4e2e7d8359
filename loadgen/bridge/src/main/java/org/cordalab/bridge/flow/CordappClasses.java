package org.cordalab.bridge.flow;

import java.util.Optional;
import java.util.regex.Pattern;

/** Finds classes of CorDapps by names that come from requests. */
public final class CordappClasses {

    private static final int MAX_NAME_CHARS = 512;
    private static final Pattern NAME =
            Pattern.compile("[\\p{L}_$][\\p{L}\\p{N}_$]*(\\.[\\p{L}_$][\\p{L}\\p{N}_$]*)*+");

    private CordappClasses() {}

    /** Returns the class with this name, without running its static initialisers; empty if there is none. */
    public static Optional<Class<?>> find(String name) {
        ClassLoader cordapps = CordappClasses.class.getClassLoader();
        // A class loader remembers every class that it was asked to load for ever, but the name of a resource only
        // until memory is short. So it is asked to load only what there is.
        if (name.length() > MAX_NAME_CHARS
                || !NAME.matcher(name).matches()
                || cordapps.getResource(name.replace('.', '/') + ".class") == null) {
            return Optional.empty();
        }
        try {
            return Optional.of(Class.forName(name, false, cordapps));
        } catch (ClassNotFoundException | LinkageError e) {
            return Optional.empty();
        }
    }
}
