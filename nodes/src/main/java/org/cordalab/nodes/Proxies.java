package org.cordalab.nodes;

import com.typesafe.config.ConfigException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The proxies of the service {@code links}: one for each direction in which the two ends of a link connect to each
 * other. Nodes get the address of the proxy instead of the other end's.
 */
final class Proxies {
    static final String HOST = "links";
    private static final String DATABASE_HOST = "postgres";
    private static final int DATABASE_PORT = 5432;
    /** The prefix of the names of the notary and of its cluster's members. */
    private static final String NOTARY = "notary";

    private static final int FIRST_PORT = 20000;

    private final List<Proxy> proxies = new ArrayList<>();

    Proxies(List<Link> links, List<String> nodes, String database) {
        for (Link link : links) {
            String ends = link.from + "-" + link.to;
            if (!nodes.contains(link.from)) {
                throw unknown(ends, link.from, nodes);
            }
            if (link.to.equals(DATABASE_HOST)) {
                if (!database.equals(DATABASE_HOST)) {
                    throw new ConfigException.Generic(
                            "LINKS: " + ends + " is a link to PostgreSQL, but DATABASE=" + database);
                }
                add(link, link.from, new Address(DATABASE_HOST, DATABASE_PORT));
            } else if (!nodes.contains(link.to) || link.to.equals(link.from)) {
                throw unknown(ends, link.to, nodes);
            } else if (link.from.startsWith(NOTARY) && link.to.startsWith(NOTARY)) {
                throw new ConfigException.Generic(
                        "LINKS: " + ends + " is between members of the notary, whose consensus does not use links");
            } else {
                add(link, link.from, new Address(link.to, Bootstrap.P2P_PORT));
                add(link, link.to, new Address(link.from, Bootstrap.P2P_PORT));
            }
        }
    }

    private static ConfigException unknown(String ends, String end, List<String> nodes) {
        return new ConfigException.Generic("LINKS: " + ends + " cannot have the end " + end
                + "; a link connects one of " + String.join(", ", nodes) + " with another one or with "
                + DATABASE_HOST);
    }

    private void add(Link link, String from, Address to) {
        if (find(from, to.host).isPresent()) {
            throw new ConfigException.Generic("LINKS: " + link.from + "-" + link.to + " is listed twice");
        }
        proxies.add(new Proxy(link, from, to, FIRST_PORT + proxies.size()));
    }

    private Optional<Proxy> find(String from, String to) {
        return proxies.stream()
                .filter(proxy -> proxy.from.equals(from) && proxy.to.host.equals(to))
                .findFirst();
    }

    Address p2pAddress(String reader, String node) {
        return find(reader, node)
                .map(proxy -> new Address(HOST, proxy.port))
                .orElseGet(() -> new Address(node, Bootstrap.P2P_PORT));
    }

    String databaseAddress(String node) {
        return find(node, DATABASE_HOST)
                .map(proxy -> new Address(HOST, proxy.port))
                .orElseGet(() -> new Address(DATABASE_HOST, DATABASE_PORT))
                .toString();
    }

    /** Returns the file for the service {@code links}: name, port, upstream, latency and bandwidth of every proxy. */
    String toJson() {
        List<Map<String, Object>> entries = new ArrayList<>();
        for (Proxy proxy : proxies) {
            Map<String, Object> entry = new LinkedHashMap<>();
            entry.put("name", proxy.from + "-" + proxy.to.host);
            entry.put("listen", "0.0.0.0:" + proxy.port);
            entry.put("upstream", proxy.to.toString());
            entry.put("latency_ms", proxy.link.latencyMillis);
            entry.put("kilobytes_per_second", proxy.link.kilobytesPerSecond);
            entries.add(entry);
        }
        return Json.render(entries);
    }

    private static final class Proxy {
        final Link link;
        final String from;
        final Address to;
        final int port;

        Proxy(Link link, String from, Address to, int port) {
            this.link = link;
            this.from = from;
            this.to = to;
            this.port = port;
        }
    }
}
