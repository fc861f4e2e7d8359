package org.cordalab.nodes;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigRenderOptions;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Makes the Corda network of the lab: identities, node infos, network parameters and each node's settings.
 *
 * <p>Identities and network parameters are made once and kept: a later run adds what a new party needs and rewrites the
 * settings only; a party that is no longer wanted keeps its files. R3's own bootstrapper starts every node twice for this;
 * the same files come out of one JVM here.
 *
 * <p>Usage: {@code Bootstrap <network.conf> <preset.conf> <directory> <parties> <platform version>}: how many of the
 * parties of {@code network.conf} are wanted, in its order, and the platform version of their nodes. Leaves in {@code
 * <directory>}:
 *
 * <pre>
 * nodes/&lt;name&gt;/certificates/*.jks   key stores of one node
 * nodes/&lt;name&gt;/node.conf            its settings
 * nodes/&lt;name&gt;/jvm.args             its JVM flags, one a line
 * node-infos/nodeInfo-*             one signed node info per node, for all
 * network-parameters                signed, for all
 * </pre>
 */
public final class Bootstrap {
    private static final int P2P_PORT = 10002;
    private static final int RPC_PORT = 10003;
    private static final int RPC_ADMIN_PORT = 10043;

    private final Config network;
    private final Config preset;
    private final Path directory;
    private final int parties;
    private final int platformVersion;

    Bootstrap(Config network, Config preset, Path directory, int parties, int platformVersion) {
        this.network = network;
        this.preset = preset;
        this.directory = directory;
        this.parties = parties;
        this.platformVersion = platformVersion;
    }

    public static void main(String[] args) throws IOException {
        if (args.length != 5) {
            System.err.println(
                    "usage: Bootstrap <network.conf> <preset.conf> <directory> <parties> <platform version>");
            System.exit(2);
        }
        try {
            new Bootstrap(
                            parse(args[0]),
                            parse(args[1]),
                            Paths.get(args[2]),
                            Integer.parseInt(args[3]),
                            Integer.parseInt(args[4]))
                    .run();
        } catch (ConfigException e) {
            // The message of a ConfigException names file, line and key.
            System.err.println("bootstrap: " + e.getMessage());
            System.exit(2);
        }
    }

    private static Config parse(String file) {
        return ConfigFactory.parseFile(Paths.get(file).toFile()).resolve();
    }

    void run() throws IOException {
        List<Member> members = members();
        Path nodeInfos = Files.createDirectories(directory.resolve("node-infos"));
        try (NetworkMaker maker = new NetworkMaker()) {
            for (Member member : members) {
                Path nodeDirectory =
                        Files.createDirectories(directory.resolve("nodes").resolve(member.name));
                if (!Files.exists(nodeDirectory.resolve("certificates"))) {
                    // Made beside and renamed, so that an interrupted run leaves no half identity.
                    Path unfinished = directory.resolve("unfinished");
                    deleteRecursively(unfinished);
                    byte[] nodeInfo =
                            maker.createIdentity(unfinished, member.legalName, member.name, P2P_PORT, platformVersion);
                    Files.write(nodeInfos.resolve("nodeInfo-" + member.name), nodeInfo);
                    Files.move(unfinished.resolve("certificates"), nodeDirectory.resolve("certificates"));
                    System.out.println("made the identity of " + member.legalName);
                }
                writeSettings(nodeDirectory, member);
            }
            if (!Files.exists(directory.resolve("network-parameters"))) {
                List<NetworkMaker.Notary> notaries = members.stream()
                        .filter(member -> member.notary != null)
                        .map(member -> new NetworkMaker.Notary(
                                directory.resolve("nodes").resolve(member.name),
                                member.notary.getBoolean("validating")))
                        .collect(Collectors.toList());
                maker.createNetworkParameters(directory, network.getConfig("parameters"), notaries);
                System.out.println("made the network parameters");
            }
        }
        System.out.println("the network of " + members.size() + " nodes is ready");
    }

    /** The notaries and the first {@code parties} of the other members. */
    private List<Member> members() {
        List<Member> members = new ArrayList<>();
        int found = 0;
        for (Config node : network.getConfigList("nodes")) {
            Member member = Member.of(node);
            if (member.notary != null || found++ < parties) {
                members.add(member);
            }
        }
        if (found < parties) {
            throw new ConfigException.Generic(
                    "PARTIES: " + parties + " parties are wanted, and configs/network.conf has " + found
                            + "; set it to at most " + found + " or add members there");
        }
        return members;
    }

    private void writeSettings(Path nodeDirectory, Member member) throws IOException {
        Config own = ConfigFactory.parseString(String.join(
                "\n",
                "myLegalName = \"" + member.legalName + "\"",
                "p2pAddress = \"" + member.name + ":" + P2P_PORT + "\"",
                "rpcSettings.address = \"0.0.0.0:" + RPC_PORT + "\"",
                "rpcSettings.adminAddress = \"127.0.0.1:" + RPC_ADMIN_PORT + "\""));
        if (member.notary != null) {
            own = own.withValue("notary", member.notary.root());
        }
        Config settings = own.withFallback(preset.getConfig("node"));
        ConfigRenderOptions format = ConfigRenderOptions.defaults()
                .setOriginComments(false)
                .setComments(false)
                .setJson(false);
        write(nodeDirectory.resolve("node.conf"), settings.root().render(format));
        write(nodeDirectory.resolve("jvm.args"), String.join("\n", preset.getStringList("jvmArgs")) + "\n");
    }

    /** Writes a file whole or not at all. */
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
        final Config notary;

        private Member(String name, String legalName, Config notary) {
            this.name = name;
            this.legalName = legalName;
            this.notary = notary;
        }

        static Member of(Config node) {
            return new Member(
                    node.getString("name"),
                    node.getString("legalName"),
                    node.hasPath("notary") ? node.getConfig("notary") : null);
        }
    }
}
