package org.cordalab.nodes;

import com.typesafe.config.ConfigException;
import java.util.List;
import java.util.Map;

/** The shape of the network, from environment variables. */
final class Shape {
    private static final String LAB_IMAGE = "corda-lab/node:";

    final int parties;
    final String database;
    final String notary;
    final String preset;
    final boolean devMode;
    final List<Link> links;
    final int platformVersion;
    /** Whether the nodes run in an image that the lab has not built. */
    final boolean ownImage;

    private final Map<String, String> environment;

    Shape(Map<String, String> environment) {
        this.environment = environment;
        parties = number("PARTIES");
        database = text("DATABASE");
        notary = text("NOTARY");
        preset = text("NODE_PRESET");
        devMode = flag("DEV_MODE");
        links = Link.parse(environment.getOrDefault("LINKS", ""));
        platformVersion = number("LAB_PLATFORM_VERSION");
        ownImage = !environment.getOrDefault("CORDA_IMAGE", LAB_IMAGE).startsWith(LAB_IMAGE);
    }

    /** Returns the variables that node settings may refer to as {@code ${NAME}}. */
    Map<String, String> environment() {
        return environment;
    }

    private String text(String name) {
        String value = environment.getOrDefault(name, "").trim();
        if (value.isEmpty()) {
            throw new ConfigException.Generic(name + " is not set; its default is in .env");
        }
        return value;
    }

    private int number(String name) {
        String value = text(name);
        try {
            return Integer.parseInt(value);
        } catch (NumberFormatException e) {
            throw new ConfigException.Generic(name + "=" + value + " is not a whole number", e);
        }
    }

    private boolean flag(String name) {
        String value = text(name);
        if (!value.equals("true") && !value.equals("false")) {
            throw new ConfigException.Generic(name + "=" + value + " is neither true nor false");
        }
        return value.equals("true");
    }
}
