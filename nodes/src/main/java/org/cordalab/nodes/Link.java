package org.cordalab.nodes;

import com.typesafe.config.ConfigException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The latency and bandwidth between two nodes, or between a node and its database. */
final class Link {
    private static final Pattern FORM = Pattern.compile(
            "([a-z][a-z0-9]*)-([a-z][a-z0-9]*)=(?:\\+(\\d{1,5})ms)?,?(?:(\\d{1,6}(?:\\.\\d+)?)(k|m)bit)?");
    private static final double KILOBITS_PER_KILOBYTE = 8;
    private static final double KILO = 1000;

    final String from;
    final String to;
    /** Milliseconds added to the round-trip time. */
    final int latencyMillis;
    /** The limit in each direction; 0 for none. */
    final int kilobytesPerSecond;

    private Link(String from, String to, int latencyMillis, int kilobytesPerSecond) {
        this.from = from;
        this.to = to;
        this.latencyMillis = latencyMillis;
        this.kilobytesPerSecond = kilobytesPerSecond;
    }

    /** Parses links such as {@code partya-partyb=+40ms partya-postgres=+8ms,10mbit}. */
    static List<Link> parse(String text) {
        List<Link> links = new ArrayList<>();
        for (String word : text.trim().split("\\s+")) {
            if (word.isEmpty()) {
                continue;
            }
            Matcher matcher = FORM.matcher(word);
            if (!matcher.matches() || matcher.group(3) == null && matcher.group(4) == null) {
                throw new ConfigException.Generic(
                        "LINKS: \"" + word
                                + "\" is not of the form partya-partyb=+40ms, partya-partyb=10mbit or partya-postgres=+8ms,10mbit");
            }
            int latency = matcher.group(3) == null ? 0 : Integer.parseInt(matcher.group(3));
            double kilobits = matcher.group(4) == null
                    ? 0
                    : Double.parseDouble(matcher.group(4)) * (matcher.group(5).equals("m") ? KILO : 1);
            links.add(new Link(
                    matcher.group(1), matcher.group(2), latency, (int) Math.ceil(kilobits / KILOBITS_PER_KILOBYTE)));
        }
        return links;
    }
}
