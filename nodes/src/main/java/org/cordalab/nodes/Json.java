package org.cordalab.nodes;

import com.typesafe.config.ConfigRenderOptions;
import com.typesafe.config.ConfigValueFactory;

/** Renders maps, lists, strings and numbers as JSON. */
final class Json {
    private Json() {}

    static String render(Object value) {
        return ConfigValueFactory.fromAnyRef(value)
                        .render(ConfigRenderOptions.concise().setFormatted(true))
                + "\n";
    }
}
