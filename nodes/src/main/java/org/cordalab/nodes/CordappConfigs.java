package org.cordalab.nodes;

import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * Checks the settings of CorDapps before a node reads them.
 *
 * <p>Usage: {@code CordappConfigs <file> …}
 */
public final class CordappConfigs {
    private CordappConfigs() {}

    public static void main(String[] args) {
        boolean isSound = true;
        for (String file : args) {
            String problem = problem(Paths.get(file));
            if (problem != null) {
                System.err.println("bootstrap: " + problem);
                isSound = false;
            }
        }
        System.exit(isSound ? 0 : 2);
    }

    /** Returns why a node or its CorDapp could not read a file; null if they could. */
    static String problem(Path file) {
        String shown = "cordapps/extra/config/" + file.getFileName();
        try {
            boolean isResolved = ConfigFactory.parseFile(file.toFile()).isResolved();
            return isResolved ? null : shown + ": has a ${...}, which Corda does not replace; write the value itself";
        } catch (ConfigException e) {
            return e.getMessage().replace(file.toString(), shown);
        }
    }
}
