package org.cordalab.nodes;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigRenderOptions;
import com.typesafe.config.ConfigUtil;
import com.typesafe.config.ConfigValueFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.UnsupportedEncodingException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import net.corda.core.identity.CordaX500Name;

/**
 * Creates the lab's Corda network: identities, node infos, network parameters and each node's settings.
 *
 * <p>Identities and network parameters are created once and kept. A later run adds the files of new parties and
 * rewrites the rest; a party that is no longer in the network keeps its files. R3's own bootstrapper starts every node
 * twice to create the same files. This one needs only one JVM.
 *
 * <p>Usage: {@code Bootstrap <configs> <network> <nodes> <authority> <secrets>}, which are {@link Places}, with the
 * {@link Shape} in the environment. {@code <authority>} contains the network's own root, except in development mode,
 * and all {@link Passwords}. A node's settings come from these sources, in order of precedence: its place in the
 * network, the notary, the preset {@code nodes/<preset>.conf}, the database {@code databases/<database>.conf}, and
 * {@code network.conf} for all nodes.
 *
 * <p>Creates:
 *
 * <pre>
 * &lt;nodes&gt;/&lt;name&gt;/certificates/*.jks           key stores of one node
 * &lt;nodes&gt;/&lt;name&gt;/node.conf                    its settings, with its passwords
 * &lt;nodes&gt;/&lt;name&gt;/jvm.args                     its JVM flags, one per line
 * &lt;nodes&gt;/&lt;name&gt;/node-infos/*                 signed node infos of all nodes, as it reaches them
 * &lt;network&gt;/network-parameters              signed, for all nodes
 * &lt;network&gt;/identities                      the names of the nodes whose identities were created
 * &lt;network&gt;/bridge.env, parties, targets.json  the nodes for the bridge, Locust and Prometheus
 * &lt;network&gt;/database-targets.json           the exporter of the database for Prometheus, if there is one
 * &lt;network&gt;/links.json                      the proxies between nodes, with their latency and bandwidth
 * &lt;secrets&gt;/&lt;service&gt;/*                      the passwords of one service
 * </pre>
 */
public final class Bootstrap {
    static final int P2P_PORT = 10002;
    static final int RPC_PORT = 10003;
    private static final int RPC_ADMIN_PORT = 10043;
    private static final int METRICS_PORT = 9404;
    private static final String DATABASE_EXPORTER = "postgres-exporter:9187";
    /** Since Corda 4.6, a separate command creates the tables. An older node creates them when it starts. */
    private static final int MIGRATION_COMMAND_PLATFORM_VERSION = 8;
    /**
     * Corda 3 has its database defaults under quoted names. If a path has the same name, it is undefined which value is
     * used.
     */
    private static final int DATABASE_PATHS_PLATFORM_VERSION = 4;

    /** The file with the names of the nodes whose identities were created, one per line. */
    private static final String IDENTITIES = "identities";

    private static final String POSTGRES = "postgres";
    private static final String BROKER_PROPERTY = "-Dbrokerconfig.";

    private final Shape shape;
    private final Config network;
    private final Config preset;
    private final Config database;
    private final Config notary;
    private final Path directory;
    private final Path nodes;
    private final Path authority;
    private final Path secrets;
    private final List<Member> notaries;
    private final List<Member> parties;
    /** The names of all nodes that the network can ever have. */
    private final List<String> known;

    private final Proxies proxies;
    private final Passwords passwords;

    Bootstrap(Shape shape, Places places) {
        this.shape = shape;
        Path configs = places.configs;
        directory = places.network;
        nodes = places.nodes;
        authority = places.authority;
        secrets = places.secrets;
        network = parse(configs.resolve("network.conf"));
        preset = named(configs, "nodes", "NODE_PRESET", shape.preset);
        database = named(configs, "databases", "DATABASE", shape.database);
        notary = named(configs, "notaries", "NOTARY", shape.notary).resolve();
        List<Member> knownNotaries = Member.allOf(network.getConfigList("notaries"));
        List<Member> knownParties = Member.allOf(network.getConfigList("parties"));
        notaries = knownNotaries.subList(0, notary.getConfigList("members").size());
        if (shape.parties > knownParties.size()) {
            throw new ConfigException.Generic("PARTIES=" + shape.parties + " is more than the " + knownParties.size()
                    + " parties in configs/network.conf; set it to at most " + knownParties.size());
        }
        parties = knownParties.subList(0, shape.parties);
        List<Member> all =
                Stream.concat(knownNotaries.stream(), knownParties.stream()).collect(Collectors.toList());
        requireDifferent("name", all, member -> member.name);
        requireDifferent("organisation", all, Member::label);
        known = names(all);
        proxies = new Proxies(shape.links, names(members()), shape.database);
        passwords = new Passwords(authority, shape.environment());
    }

    public static void main(String[] args) {
        if (args.length != 5) {
            System.err.println("usage: Bootstrap <configs> <network> <nodes> <authority> <secrets>");
            System.exit(2);
        }
        try {
            Places places = new Places(
                    Paths.get(args[0]), Paths.get(args[1]), Paths.get(args[2]), Paths.get(args[3]), Paths.get(args[4]));
            new Bootstrap(new Shape(System.getenv()), places).run();
        } catch (ConfigException | IllegalArgumentException | ArithmeticException e) {
            // The message of a ConfigException gives file, line and key. The others are about names and numbers that
            // Corda refuses.
            System.err.println("bootstrap: " + e.getMessage());
            System.exit(2);
        } catch (IOException | UncheckedIOException e) {
            System.err.println(
                    "bootstrap: a volume cannot be read or written: " + e + "; check the free space of the disk");
            System.exit(1);
        }
    }

    private static Config parse(Path file) {
        return ConfigFactory.parseFile(file.toFile());
    }

    private static Config named(Path configs, String folder, String variable, String name) {
        Path file = configs.resolve(folder).resolve(name + ".conf");
        if (!Files.exists(file)) {
            throw new ConfigException.Generic(variable + "=" + name + " does not exist in configs/" + folder
                    + "/; available: " + filesOf(configs.resolve(folder)));
        }
        return parse(file);
    }

    private static String filesOf(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(file -> file.endsWith(".conf"))
                    .map(file -> file.substring(0, file.length() - ".conf".length()))
                    .sorted()
                    .collect(Collectors.joining(", "));
        } catch (IOException e) {
            return "none (" + e + ")";
        }
    }

    void run() throws IOException {
        int platformMin = notary.hasPath("platformVersionMin") ? notary.getInt("platformVersionMin") : 0;
        if (shape.platformVersion < platformMin) {
            throw new ConfigException.Generic("NOTARY=" + shape.notary + " needs platform version " + platformMin
                    + " or newer, but this version of Corda has " + shape.platformVersion);
        }
        if (notaries.size() > 1 && !notary.hasPath("service")) {
            throw new ConfigException.Generic("NOTARY=" + shape.notary + ": configs/notaries/" + shape.notary
                    + ".conf has " + notaries.size() + " members but no service, so they would be independent notaries,"
                    + " and the lab has one; leave one member, or add the service whose key the members share, as in"
                    + " raft.conf and bft.conf");
        }
        if (notary.hasPath("database") && !notary.getString("database").equals(shape.database)) {
            throw new ConfigException.Generic("NOTARY=" + shape.notary + " keeps its records in "
                    + notary.getString("database") + "; set DATABASE=" + notary.getString("database"));
        }
        if (preset.hasPath("enterprise") && preset.getBoolean("enterprise") && !shape.ownImage) {
            throw new ConfigException.Generic(
                    "NODE_PRESET=" + shape.preset + " needs Corda Enterprise; set CORDA_IMAGE to an image of your own");
        }
        if (!shape.devMode && Files.exists(directory.resolve("network-parameters")) && !Authority.isIn(authority)) {
            throw new ConfigException.Generic(
                    "the keys of the network's authority are missing: their volume was removed, or an older"
                            + " lab created the network; delete it with `scripts/lab down --volumes`");
        }
        requireKeys();
        passwords.handOut(secrets);
        if (shape.database.equals(POSTGRES)) {
            passwords.handOutDatabase(secrets, known);
        }
        Authority signer = shape.devMode ? Authority.development() : Authority.own(authority);
        try (NetworkMaker maker = new NetworkMaker(signer)) {
            if (!Files.exists(directory.resolve("network-parameters"))) {
                makeNotary(maker);
            }
            for (Member party : parties) {
                if (!Files.exists(of(party).resolve("certificates"))) {
                    makeKeyStores(maker, party, Collections.emptyList());
                }
            }
            for (int index = 0; index < members().size(); index++) {
                writeSettings(members().get(index), index, signer);
            }
            writeNodeInfos(maker);
        }
        writeAddresses();
        write(directory.resolve("links.json"), proxies.toJson());
        System.out.println("the network of " + members().size() + " nodes is ready");
    }

    /** Refuses two nodes with the same value of a field: of one organisation, the lab would see only one node. */
    private static void requireDifferent(String field, List<Member> members, Function<Member, String> value) {
        Map<String, Member> first = new HashMap<>();
        for (Member member : members) {
            Member other = first.putIfAbsent(value.apply(member).toLowerCase(Locale.ROOT), member);
            if (other != null) {
                throw new ConfigException.Generic("configs/network.conf: " + other.place() + " and " + member.place()
                        + " have the same " + field + ", " + value.apply(member) + "; change one of them");
            }
        }
    }

    /** Refuses a network in which a node has lost its identity: a new one would not be that of its ledger. */
    private void requireKeys() throws IOException {
        if (!Files.exists(directory.resolve("network-parameters"))) {
            return;
        }
        for (String name : identities()) {
            if (!Files.exists(nodes.resolve(name).resolve("certificates"))) {
                throw new ConfigException.Generic("the keys of " + name + " are missing: their volume was removed;"
                        + " delete the network with `scripts/lab down --volumes`");
            }
        }
    }

    /** Returns the names of the nodes whose identities were created. A network of an older lab has no list of them. */
    private List<String> identities() throws IOException {
        Path file = directory.resolve(IDENTITIES);
        if (Files.exists(file)) {
            return Files.readAllLines(file, StandardCharsets.UTF_8);
        }
        return known.stream()
                .filter(name -> Files.exists(nodes.resolve(name).resolve("certificates")))
                .collect(Collectors.toList());
    }

    private List<Member> members() {
        return Stream.concat(notaries.stream(), parties.stream()).collect(Collectors.toList());
    }

    private Path of(Member member) {
        return nodes.resolve(member.name);
    }

    /** Creates the identities of all nodes of the notary, and then the network parameters, which complete it. */
    private void makeNotary(NetworkMaker maker) throws IOException {
        List<ServiceKey> keys = serviceKeys();
        for (int index = 0; index < notaries.size(); index++) {
            deleteRecursively(of(notaries.get(index)).resolve("certificates"));
            makeKeyStores(
                    maker, notaries.get(index), keys.isEmpty() ? keys : Collections.singletonList(keys.get(index)));
        }
        Config parameters = network.getConfig("parameters");
        maker.createNetworkParameters(
                directory,
                parameters,
                Math.min(parameters.getInt("minimumPlatformVersion"), shape.platformVersion),
                of(notaries.get(0)),
                notary.getBoolean("notary.validating"));
        System.out.println("created the network parameters");
    }

    private List<ServiceKey> serviceKeys() {
        if (!notary.hasPath("service")) {
            return Collections.emptyList();
        }
        String legalName = notary.getString("notary.serviceLegalName");
        return notary.getString("service.key").equals("shared")
                ? ServiceKey.shared(legalName, notaries.size())
                : ServiceKey.composite(legalName, notaries.size(), notary.getInt("service.threshold"));
    }

    private void makeKeyStores(NetworkMaker maker, Member member, List<ServiceKey> services) throws IOException {
        // Created elsewhere and then renamed, so that an interrupted run leaves no incomplete identity. It is in the
        // node's own folder, because that is a volume of its own.
        Path unfinished = Files.createDirectories(of(member)).resolve("unfinished");
        deleteRecursively(unfinished);
        maker.createKeyStores(unfinished, member.legalName, services);
        Files.move(unfinished.resolve("certificates"), of(member).resolve("certificates"));
        deleteRecursively(unfinished);
        Set<String> known = new TreeSet<>(identities());
        known.add(member.name);
        write(directory.resolve(IDENTITIES), String.join("\n", known) + "\n");
        System.out.println("created the identity of " + member.legalName);
    }

    private void writeSettings(Member member, int index, Authority signer) throws IOException {
        Config own = ConfigFactory.parseString(String.join(
                "\n",
                "myLegalName = " + ConfigUtil.quoteString(member.legalName),
                "p2pAddress = \"" + member.name + ":" + P2P_PORT + "\"",
                "rpcSettings.address = \"0.0.0.0:" + RPC_PORT + "\"",
                "rpcSettings.adminAddress = \"127.0.0.1:" + RPC_ADMIN_PORT + "\"",
                "devMode = " + shape.devMode,
                "keyStorePassword = \"" + signer.keyStorePassword + "\"",
                "trustStorePassword = \"" + signer.trustStorePassword + "\""));
        if (index < notaries.size()) {
            Config one = notary.getConfigList("members").get(index).withFallback(notary.getConfig("notary"));
            own = own.withValue("notary", one.root());
        }
        if (shape.platformVersion < MIGRATION_COMMAND_PLATFORM_VERSION) {
            // In development mode, this is the default.
            own = own.withValue("database.initialiseSchema", ConfigValueFactory.fromAnyRef(true));
        }
        Map<String, String> values = new HashMap<>(shape.environment());
        values.put("NODE_NAME", member.name);
        values.put("DATABASE_ADDRESS", proxies.databaseAddress(member.name));
        values.put("RPC_PASSWORD", passwords.rpc());
        if (shape.database.equals(POSTGRES)) {
            values.put("POSTGRES_PASSWORD", passwords.database(member.name));
        }
        Config settings = own.withFallback(nodeOf(preset))
                .withFallback(nodeOf(database))
                .withFallback(nodeOf(network))
                .resolveWith(ConfigValueFactory.fromMap(values).toConfig());
        if (shape.platformVersion < DATABASE_PATHS_PLATFORM_VERSION) {
            settings = settings.withValue("dataSourceProperties", ofCorda3(settings.getConfig("dataSourceProperties")));
        }
        ConfigRenderOptions format = ConfigRenderOptions.defaults()
                .setOriginComments(false)
                .setComments(false)
                .setJson(false);
        write(of(member).resolve("node.conf"), settings.root().render(format));
        // Not resolveWith, which fails if a preset adds to a list of the one that it includes.
        Config flagsOf = preset.withoutPath("node")
                .withFallback(ConfigValueFactory.fromMap(values))
                .resolve();
        List<String> flags = new ArrayList<>(flagsOf.getStringList("jvmArgs"));
        if (flagsOf.hasPath("broker")) {
            flagsOf.getConfig("broker").entrySet().stream()
                    .map(entry -> BROKER_PROPERTY + entry.getKey() + "="
                            + entry.getValue().unwrapped())
                    .sorted()
                    .forEach(flags::add);
        }
        write(of(member).resolve("jvm.args"), String.join("\n", flags) + "\n");
    }

    /** Returns the same settings without nesting: {@code "dataSource.url"} instead of {@code dataSource { url }}. */
    private ConfigObject ofCorda3(Config database) {
        Map<String, Object> flat = new HashMap<>();
        database.entrySet()
                .forEach(entry -> flat.put(
                        String.join(".", ConfigUtil.splitPath(entry.getKey())),
                        entry.getValue().unwrapped()));
        if (shape.database.equals(POSTGRES)) {
            // Otherwise, a node that creates its tables mistakes the sequence in another node's schema for its own.
            flat.put("connectionInitSql", "CREATE SEQUENCE IF NOT EXISTS hibernate_sequence");
        }
        return ConfigValueFactory.fromMap(flat);
    }

    private static Config nodeOf(Config config) {
        return config.hasPath("node") ? config.getConfig("node") : ConfigFactory.empty();
    }

    /** Writes the infos of all nodes for every node, newer than those that it may already have. */
    private void writeNodeInfos(NetworkMaker maker) throws IOException {
        long serial = System.currentTimeMillis();
        for (Member reader : members()) {
            Path unfinished = of(reader).resolve("node-infos.unfinished");
            deleteRecursively(unfinished);
            Files.createDirectories(unfinished);
            for (Member member : members()) {
                Address address = proxies.p2pAddress(reader.name, member.name);
                byte[] info = maker.nodeInfo(of(member), address.host, address.port, shape.platformVersion, serial);
                Files.write(unfinished.resolve("nodeInfo-" + member.name), info);
            }
            deleteRecursively(of(reader).resolve("node-infos"));
            Files.move(unfinished, of(reader).resolve("node-infos"));
        }
    }

    private void writeAddresses() throws IOException {
        Map<String, String> targets = new LinkedHashMap<>();
        members().forEach(member -> targets.put(member.label(), member.name));
        write(
                directory.resolve("bridge.env"),
                "BRIDGE_NODES="
                        + targets.entrySet().stream()
                                .map(entry -> encoded(entry.getKey()) + "=" + entry.getValue() + ":" + RPC_PORT)
                                .collect(Collectors.joining(","))
                        + "\n");
        write(
                directory.resolve("parties"),
                parties.stream().map(member -> encoded(member.label())).collect(Collectors.joining(",")) + "\n");
        List<Map<String, Object>> scraped = new ArrayList<>();
        targets.forEach((label, host) -> {
            Map<String, Object> entry = new LinkedHashMap<>();
            entry.put("targets", Collections.singletonList(host + ":" + METRICS_PORT));
            entry.put("labels", Collections.singletonMap("node", label));
            scraped.add(entry);
        });
        write(directory.resolve("targets.json"), Json.render(scraped));
        Map<String, Object> exporter =
                Collections.singletonMap("targets", Collections.singletonList(DATABASE_EXPORTER));
        write(
                directory.resolve("database-targets.json"),
                Json.render(
                        shape.database.equals(POSTGRES)
                                ? Collections.singletonList(exporter)
                                : Collections.emptyList()));
    }

    /** Returns a text without any character that has a meaning in a list, in a file of variables, or in a shell. */
    private static String encoded(String text) {
        try {
            return URLEncoder.encode(text, "UTF-8").replace("+", "%20").replace("*", "%2A");
        } catch (UnsupportedEncodingException e) {
            throw new IllegalStateException(e);
        }
    }

    private static List<String> names(List<Member> members) {
        return members.stream().map(member -> member.name).collect(Collectors.toList());
    }

    /** Writes a file atomically. */
    private static void write(Path file, String content) throws IOException {
        Path unfinished = file.resolveSibling(file.getFileName() + ".unfinished");
        Files.write(unfinished, content.getBytes(StandardCharsets.UTF_8));
        Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
    }

    private static void deleteRecursively(Path path) throws IOException {
        if (!Files.exists(path)) {
            return;
        }
        List<Path> paths;
        try (Stream<Path> walk = Files.walk(path)) {
            paths = walk.collect(Collectors.toList());
        }
        for (int i = paths.size() - 1; i >= 0; i--) {
            Files.delete(paths.get(i));
        }
    }

    /** One node of the network as {@code network.conf} describes it. */
    private static final class Member {
        final String name;
        final String legalName;
        private final int line;
        private final String organisation;

        private Member(Config config) {
            name = config.getString("name");
            legalName = config.getString("legalName");
            line = config.origin().lineNumber();
            try {
                organisation = CordaX500Name.parse(legalName).getOrganisation();
            } catch (IllegalArgumentException e) {
                throw new ConfigException.Generic(
                        "configs/network.conf: " + place() + ": legalName is not valid: " + e.getMessage(), e);
            }
            if (organisation.contains("/")) {
                throw new ConfigException.Generic("configs/network.conf: " + place() + ": the organisation "
                        + organisation + " has a slash, which paths of the bridge's API cannot have; leave it out");
            }
        }

        static List<Member> allOf(List<? extends Config> configs) {
            return configs.stream().map(Member::new).collect(Collectors.toList());
        }

        /** Returns the organisation, which is the node's name in the lab. */
        String label() {
            return organisation;
        }

        /** Returns where the node is in {@code network.conf}, for messages. */
        String place() {
            return name + " (line " + line + ")";
        }
    }
}
