package org.cordalab.bridge.config;

import java.util.List;

/** Thrown if the environment is not a valid configuration. Holds every mistake that was found. */
public final class ConfigException extends RuntimeException {

    private final List<String> mistakes;

    /**
     * @param mistakes one sentence each, which names the variable
     */
    public ConfigException(List<String> mistakes) {
        super(String.join("; ", mistakes));
        this.mistakes = List.copyOf(mistakes);
    }

    /** Returns one sentence per mistake. */
    public List<String> mistakes() {
        return mistakes;
    }
}
