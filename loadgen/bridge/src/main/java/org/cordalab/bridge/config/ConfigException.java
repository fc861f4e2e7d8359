package org.cordalab.bridge.config;

import java.util.List;

/** The environment does not make a configuration; holds every mistake that was found. */
public final class ConfigException extends RuntimeException {

    private final List<String> mistakes;

    ConfigException(List<String> mistakes) {
        super(String.join("; ", mistakes));
        this.mistakes = List.copyOf(mistakes);
    }

    /** One sentence per mistake. */
    public List<String> mistakes() {
        return mistakes;
    }
}
