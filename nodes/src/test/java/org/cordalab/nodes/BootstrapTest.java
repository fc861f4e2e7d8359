package org.cordalab.nodes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import net.corda.nodeapi.internal.crypto.X509KeyStore;
import net.corda.nodeapi.internal.crypto.X509Utilities;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests networks with real key stores and signed files, each in its own directory. */
class BootstrapTest {
    @TempDir
    Path folder;

    private Path configs;
    private Path directory;

    @BeforeEach
    void settings() throws IOException {
        configs = folder.resolve("configs");
        directory = Files.createDirectories(folder.resolve("network"));
        write(
                "network.conf",
                "notaries = [",
                "  { name = notary, legalName = \"O=Notary,L=London,C=GB\" }",
                "  { name = notary2, legalName = \"O=Notary2,L=London,C=GB\" }",
                "]",
                "parties = [",
                "  { name = partya, legalName = \"O=PartyA,L=London,C=GB\" }",
                "  { name = partyb, legalName = \"O=PartyB,L=New York,C=US\" }",
                "  { name = partyc, legalName = \"O=PartyC,L=Paris,C=FR\" }",
                "]",
                "node { rpcUsers = [{ username = ${RPC_USER}, password = ${RPC_PASSWORD} }] }",
                "parameters { minimumPlatformVersion = 4, maxMessageSize = 200MiB, maxTransactionSize = 200MiB }");
        write("nodes/stock.conf", "node {}", "jvmArgs = []");
        write("nodes/paid.conf", "enterprise = true", "jvmArgs = []");
        write(
                "nodes/quick.conf",
                "jvmArgs = [-Xint, \"-Xms\"${NODE_HEAP}]",
                "broker { journalBufferTimeout_NIO = 20000000 }");
        write("nodes/quicker.conf", "include \"quick.conf\"", "jvmArgs = ${jvmArgs} [-Xbatch]");
        write("databases/h2.conf", "node.dataSourceProperties.dataSource.url = \"jdbc:h2:mem\"");
        write(
                "databases/postgres.conf",
                "node.dataSourceProperties.dataSource.url = \"jdbc:postgresql://\"${DATABASE_ADDRESS}\"/\"${NODE_NAME}",
                "node.dataSourceProperties.dataSource.password = ${POSTGRES_PASSWORD}");
        write("notaries/simple.conf", "members = [{}]", "notary { validating = false }");
        write("notaries/late.conf", "members = [{}]", "platformVersionMin = 5", "notary { validating = false }");
        write("notaries/pair.conf", "members = [{}, {}]", "notary { validating = false }");
        write("notaries/jpa.conf", "members = [{}]", "database = postgres", "notary { validating = false }");
        write(
                "notaries/raft.conf",
                "members = [{ raft.clusterAddresses = [] }, { raft.clusterAddresses = [\"notary:1\"] }]",
                "service { key = shared }",
                "notary { validating = false, serviceLegalName = \"O=Raft,L=London,C=GB\" }");
        write(
                "notaries/bft.conf",
                "members = [{}, {}]",
                "service { key = composite, threshold = 1 }",
                "notary { validating = false, serviceLegalName = \"O=BFT,L=London,C=GB\" }");
    }

    @Test
    void theNotaryAndTheFirstPartiesAreMade() throws IOException {
        make("PARTIES", "2");
        assertThat(names("nodes")).containsExactly("notary", "partya", "partyb");
        assertThat(names("nodes/partyb/node-infos"))
                .containsExactly("nodeInfo-notary", "nodeInfo-partya", "nodeInfo-partyb");
        assertThat(names("nodes/partya/certificates"))
                .containsExactly("nodekeystore.jks", "sslkeystore.jks", "truststore.jks");
        assertThat(directory.resolve("network-parameters")).exists();
        assertThat(directory.resolve("bridge.env"))
                .hasContent("BRIDGE_NODES=Notary=notary:10003,PartyA=partya:10003,PartyB=partyb:10003");
        assertThat(directory.resolve("parties")).hasContent("PartyA,PartyB");
        assertThat(ConfigFactory.parseString("all = " + text("targets.json"))
                        .getConfigList("all")
                        .get(1)
                        .getStringList("targets"))
                .containsExactly("partya:9404");
        assertThat(directory.resolve("database-targets.json")).hasContent("[]");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Société Générale",
                "Trusted Auditor",
                "O'Brien & Söhne",
                "Cash $HOME",
                "`touch here` $(touch here)",
                "Bank 100% *.?#",
            })
    void anyOrganisationReachesTheBridgeAndTheLoadGeneratorWhole(String organisation)
            throws IOException, InterruptedException {
        String network = text("../configs/network.conf").replace("O=PartyB,", "O=" + organisation + ",");
        write("network.conf", network.split("\n"));
        make("PARTIES", "2");
        assertThat(decoded(sourced("bridge.env", "BRIDGE_NODES")))
                .isEqualTo("Notary=notary:10003,PartyA=partya:10003," + organisation + "=partyb:10003");
        assertThat(decoded(text("parties"))).isEqualTo("PartyA," + organisation + "\n");
        assertThat(directory.resolve("here")).doesNotExist();
        assertThat(settingsOf("partyb").getString("myLegalName")).contains(organisation);
    }

    @Test
    void twoNodesOfOneNameAreRefusedWithBothPlaces() throws IOException {
        String network = text("../configs/network.conf");
        write(
                "network.conf",
                network.replace("O=PartyB,L=New York", "O=partya,L=New York").split("\n"));
        assertRefused("configs/network.conf: partya (line 6) and partyb (line 7) have the same organisation");
        write("network.conf", network.replace("name = partyc", "name = partyb").split("\n"));
        assertRefused("configs/network.conf: partyb (line 7) and partyb (line 8) have the same name");
    }

    @Test
    void aNameThatCordaOrTheBridgeRefusesIsRefusedWithItsPlace() throws IOException {
        String network = text("../configs/network.conf");
        write("network.conf", network.replace("O=PartyB,L=New York", "O=PartyB").split("\n"));
        assertRefused("configs/network.conf: partyb (line 7): legalName is not valid");
        write(
                "network.conf",
                network.replace("O=PartyB,L=New York", "O=A/S,L=Paris").split("\n"));
        assertRefused("configs/network.conf: partyb (line 7): the organisation A/S has a slash");
    }

    @Test
    void aPartyThatIsAddedLeavesTheOthersAndTheParametersAsTheyAre() throws IOException {
        make("PARTIES", "2");
        byte[] parameters = Files.readAllBytes(directory.resolve("network-parameters"));
        byte[] keys = Files.readAllBytes(directory.resolve("nodes/partya/certificates/nodekeystore.jks"));
        make("PARTIES", "3");
        assertThat(names("nodes")).containsExactly("notary", "partya", "partyb", "partyc");
        assertThat(directory.resolve("network-parameters")).hasBinaryContent(parameters);
        assertThat(directory.resolve("nodes/partya/certificates/nodekeystore.jks"))
                .hasBinaryContent(keys);
    }

    @Test
    void aPartyThatIsNoLongerWantedKeepsItsFiles() throws IOException {
        make("PARTIES", "3");
        make("PARTIES", "2");
        assertThat(names("nodes")).contains("partyc");
        assertThat(directory.resolve("parties")).hasContent("PartyA,PartyB");
    }

    @Test
    void inProductionEveryKeyComesFromARootOfTheNetworksOwn() throws IOException {
        make();
        Config settings = settingsOf("partya");
        String password = settings.getString("keyStorePassword");
        assertThat(settings.getBoolean("devMode")).isFalse();
        assertThat(password).hasSize(32).isNotEqualTo(Authority.development().keyStorePassword);
        X509KeyStore trusted = X509KeyStore.Companion.fromFile(
                directory.resolve("nodes/partya/certificates/truststore.jks"),
                settings.getString("trustStorePassword"),
                false);
        assertThat(trusted.getCertificate(X509Utilities.CORDA_ROOT_CA))
                .isEqualTo(Authority.own(folder.resolve("authority")).root.getCertificate())
                .isNotEqualTo(Authority.development().root.getCertificate());
        make("PARTIES", "3");
        assertThat(settingsOf("partyc").getString("keyStorePassword")).isEqualTo(password);
    }

    @Test
    void inDevelopmentModeTheKeysAreCordasOwn() throws IOException {
        make("DEV_MODE", "true");
        assertThat(settingsOf("partya").getBoolean("devMode")).isTrue();
        assertThat(settingsOf("partya").getString("keyStorePassword"))
                .isEqualTo(Authority.development().keyStorePassword);
        assertThat(Authority.isIn(folder.resolve("authority"))).isFalse();
    }

    @Test
    void settingsComeFromPresetDatabaseAndNetwork() throws IOException {
        make("DATABASE", "postgres", "NODE_PRESET", "quick");
        assertThat(settingsOf("partyb").getString("dataSourceProperties.dataSource.url"))
                .isEqualTo("jdbc:postgresql://postgres:5432/partyb");
        assertThat(settingsOf("partyb").getConfigList("rpcUsers").get(0).getString("username"))
                .isEqualTo("lab");
        assertThat(text("database-targets.json")).contains("\"postgres-exporter:9187\"");
        assertThat(directory.resolve("nodes/partyb/jvm.args"))
                .hasContent("-Xint\n-Xms1g\n-Dbrokerconfig.journalBufferTimeout_NIO=20000000");
    }

    @Test
    void aPresetCanIncludeAnotherAndAddToIt() throws IOException {
        make("NODE_PRESET", "quicker");
        assertThat(directory.resolve("nodes/partyb/jvm.args"))
                .hasContent("-Xint\n-Xms1g\n-Xbatch\n-Dbrokerconfig.journalBufferTimeout_NIO=20000000");
    }

    @Test
    void aNodeThatMakesItsTablesItselfIsToldTo() throws IOException {
        make("LAB_PLATFORM_VERSION", "7");
        assertThat(settingsOf("partya").getBoolean("database.initialiseSchema")).isTrue();
        make("LAB_PLATFORM_VERSION", "8");
        assertThat(settingsOf("partya").hasPath("database")).isFalse();
    }

    @Test
    void aNetworkWhoseAuthorityIsGoneIsRefused() throws IOException {
        make();
        Files.delete(folder.resolve("authority/password"));
        assertThatThrownBy(this::make).hasMessageContaining("down --volumes");
    }

    @Test
    void aNetworkInWhichANodeHasLostItsKeysIsRefused() throws IOException {
        make("NOTARY", "raft", "PARTIES", "2");
        assertThat(text("identities")).isEqualTo("notary\nnotary2\npartya\npartyb\n");
        make("NOTARY", "raft", "PARTIES", "3");
        delete("nodes/partyb/certificates");
        assertThatThrownBy(() -> make("NOTARY", "raft", "PARTIES", "3"))
                .hasMessageContaining("the keys of partyb are missing")
                .hasMessageContaining("down --volumes");
    }

    @Test
    void aCorda3NodeFindsTheDatabaseUnderTheNameOfItsOwnDefaults() throws IOException {
        make("LAB_PLATFORM_VERSION", "3");
        assertThat(settingsOf("partya").getString("dataSourceProperties.\"dataSource.url\""))
                .isEqualTo("jdbc:h2:mem");
        assertThat(settingsOf("partya").hasPath("dataSourceProperties.dataSource"))
                .isFalse();
        assertThat(settingsOf("partya").hasPath("dataSourceProperties.connectionInitSql"))
                .isFalse();
        make("LAB_PLATFORM_VERSION", "3", "DATABASE", "postgres");
        assertThat(settingsOf("partya").getString("dataSourceProperties.connectionInitSql"))
                .contains("hibernate_sequence");
    }

    @Test
    void theNodesOfAClusterShareOneKeyOrHaveOneEach() throws IOException {
        make("NOTARY", "raft");
        assertThat(names("nodes")).contains("notary", "notary2");
        assertThat(serviceKey("notary")).isEqualTo(serviceKey("notary2"));
        assertThat(settingsOf("notary2").getStringList("notary.raft.clusterAddresses"))
                .containsExactly("notary:1");
        assertThat(settingsOf("notary2").getString("notary.serviceLegalName")).isEqualTo("O=Raft,L=London,C=GB");
        assertThat(settingsOf("partya").hasPath("notary")).isFalse();

        directory = Files.createDirectories(folder.resolve("another"));
        make("NOTARY", "bft");
        assertThat(serviceKey("notary")).isNotEqualTo(serviceKey("notary2"));
    }

    @Test
    void aLinkPutsProxiesBetweenItsEnds() throws IOException {
        make("DATABASE", "postgres", "LINKS", "partya-partyb=+40ms partya-postgres=+8ms,10mbit");
        List<? extends Config> proxies =
                ConfigFactory.parseString("all = " + text("links.json")).getConfigList("all");
        assertThat(proxies.stream().map(proxy -> proxy.getString("name")).collect(Collectors.toList()))
                .containsExactly("partya-partyb", "partyb-partya", "partya-postgres");
        assertThat(proxies.get(2).getInt("kilobytes_per_second")).isEqualTo(1250);
        assertThat(proxies.get(2).getInt("latency_ms")).isEqualTo(8);
        assertThat(settingsOf("partya").getString("dataSourceProperties.dataSource.url"))
                .contains("links:20002");
        assertThat(settingsOf("partyb").getString("dataSourceProperties.dataSource.url"))
                .contains("postgres:5432");
        assertThat(text("nodes/partya/node-infos/nodeInfo-partyb")).contains("links");
        assertThat(text("nodes/partyc/node-infos/nodeInfo-partyb")).doesNotContain("links");
    }

    @Test
    void whatCannotBeIsRefusedByItsName() {
        assertRefused("PARTIES=4 is more than the 3 parties in configs/network.conf", "PARTIES", "4");
        assertRefused("PARTIES=many is not a whole number", "PARTIES", "many");
        assertRefused(
                "NODE_PRESET=fast does not exist in configs/nodes/; available: paid, quick, quicker, stock",
                "NODE_PRESET",
                "fast");
        assertRefused("NODE_PRESET=paid needs Corda Enterprise", "NODE_PRESET", "paid");
        assertRefused("DEV_MODE=yes is neither true nor false", "DEV_MODE", "yes");
        assertRefused("NOTARY=late needs platform version 5", "NOTARY", "late");
        assertRefused("NOTARY=jpa keeps its records in postgres; set DATABASE=postgres", "NOTARY", "jpa");
        assertRefused("configs/notaries/pair.conf has 2 members but no service", "NOTARY", "pair");
        assertRefused("\"partya-partyb\" is not of the form", "LINKS", "partya-partyb");
        assertRefused("cannot have the end partyx", "LINKS", "partya-partyx=+1ms");
        assertRefused("is a link to PostgreSQL, but DATABASE=h2", "LINKS", "partya-postgres=+1ms");
        assertRefused("is listed twice", "LINKS", "partya-partyb=+1ms partyb-partya=+2ms");
    }

    @Test
    void everyPasswordIsGeneratedOnceAndGivenOnlyToThoseThatNeedIt() throws IOException {
        make("DATABASE", "postgres");
        String rpc = secret("bridge/rpc-password");
        assertThat(rpc).hasSize(32);
        assertThat(secret("jmeter/rpc-password")).isEqualTo(rpc);
        assertThat(rpcPasswordOf("partya")).isEqualTo(rpc);
        assertThat(databasePasswordOf("partya")).isEqualTo(secret("postgres/partya"));
        assertThat(databasePasswordOf("partyb")).isEqualTo(secret("postgres/partyb"));
        assertThat(secret("postgres-exporter/password")).isEqualTo(secret("postgres/exporter"));
        assertThat(new String[] {
                    rpc,
                    secret("grafana/admin-password"),
                    secret("postgres/lab"),
                    secret("postgres/exporter"),
                    secret("postgres/partya"),
                    secret("postgres/partyb"),
                    // A party that may join later: the database creates its roles only once.
                    secret("postgres/partyc")
                })
                .doesNotHaveDuplicates();
        make("DATABASE", "postgres", "PARTIES", "2");
        assertThat(secret("bridge/rpc-password")).isEqualTo(rpc);
    }

    @Test
    void noKeyAndNoPasswordIsInTheFolderThatEveryServiceSees() throws IOException {
        make("DATABASE", "postgres");
        List<String> passwords = new ArrayList<>();
        for (String file : new String[] {"bridge/rpc-password", "grafana/admin-password", "postgres/partya"}) {
            passwords.add(secret(file));
        }
        passwords.add(settingsOf("partya").getString("keyStorePassword"));
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.filter(Files::isRegularFile)
                    .filter(file -> !file.startsWith(directory.resolve("nodes")))
                    .collect(Collectors.toList())) {
                String content = new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
                assertThat(content).as(file.toString()).doesNotContain(passwords);
                assertThat(file.toString()).doesNotEndWith(".jks");
            }
        }
    }

    @Test
    void aPasswordOfTheEnvironmentIsUsed() throws IOException {
        make("DATABASE", "postgres", "RPC_PASSWORD", "mine", "POSTGRES_PASSWORD", "theirs");
        assertThat(rpcPasswordOf("partya")).isEqualTo("mine").isEqualTo(secret("bridge/rpc-password"));
        assertThat(databasePasswordOf("partya")).isEqualTo("theirs").isEqualTo(secret("postgres/partya"));
        // The database keeps the passwords with which it was created.
        make("DATABASE", "postgres");
        assertThat(databasePasswordOf("partya")).isEqualTo("theirs");
        assertThat(rpcPasswordOf("partya")).isNotEqualTo("mine");
        assertRefused(
                "POSTGRES_PASSWORD is not the password with which",
                "DATABASE",
                "postgres",
                "POSTGRES_PASSWORD",
                "another");
    }

    private String secret(String file) throws IOException {
        return new String(Files.readAllBytes(folder.resolve("secrets").resolve(file)), StandardCharsets.UTF_8);
    }

    private String rpcPasswordOf(String node) {
        return settingsOf(node).getConfigList("rpcUsers").get(0).getString("password");
    }

    private String databasePasswordOf(String node) {
        return settingsOf(node).getString("dataSourceProperties.dataSource.password");
    }

    private void assertRefused(String words, String... values) {
        assertThatThrownBy(() -> make(values))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining(words);
    }

    private void make(String... values) throws IOException {
        Map<String, String> environment = new HashMap<>();
        environment.put("PARTIES", "3");
        environment.put("DATABASE", "h2");
        environment.put("NOTARY", "simple");
        environment.put("NODE_PRESET", "stock");
        environment.put("DEV_MODE", "false");
        environment.put("LAB_PLATFORM_VERSION", "4");
        environment.put("RPC_USER", "lab");
        environment.put("NODE_HEAP", "1g");
        for (int index = 0; index < values.length; index += 2) {
            environment.put(values[index], values[index + 1]);
        }
        Places places = new Places(
                configs, directory, directory.resolve("nodes"), folder.resolve("authority"), folder.resolve("secrets"));
        new Bootstrap(new Shape(environment), places).run();
    }

    private void delete(String name) throws IOException {
        try (Stream<Path> files = Files.list(directory.resolve(name))) {
            for (Path file : files.collect(Collectors.toList())) {
                Files.delete(file);
            }
        }
        Files.delete(directory.resolve(name));
    }

    private void write(String name, String... lines) throws IOException {
        Path file = configs.resolve(name);
        Files.createDirectories(file.getParent());
        Files.write(file, String.join("\n", lines).getBytes(StandardCharsets.UTF_8));
    }

    private String text(String name) throws IOException {
        return new String(Files.readAllBytes(directory.resolve(name)), StandardCharsets.UTF_8);
    }

    /** Returns the value of a variable after a shell has read a file of variables, as that of the bridge does. */
    private String sourced(String file, String variable) throws IOException, InterruptedException {
        Process shell = new ProcessBuilder("bash", "-euc", "source ./" + file + "; printf %s \"$" + variable + "\"")
                .directory(directory.toFile())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (Scanner output = new Scanner(shell.getInputStream(), "UTF-8").useDelimiter("\\A")) {
            String value = output.hasNext() ? output.next() : "";
            assertThat(shell.waitFor()).isZero();
            return value;
        }
    }

    private static String decoded(String text) throws IOException {
        return URLDecoder.decode(text, "UTF-8");
    }

    private Config settingsOf(String node) {
        return ConfigFactory.parseFile(
                directory.resolve("nodes").resolve(node).resolve("node.conf").toFile());
    }

    private Object serviceKey(String node) {
        return X509KeyStore.Companion.fromFile(
                        directory.resolve("nodes").resolve(node).resolve("certificates/nodekeystore.jks"),
                        settingsOf(node).getString("keyStorePassword"),
                        false)
                .getPublicKey(ServiceKey.ALIAS);
    }

    private List<String> names(String folder) throws IOException {
        try (Stream<Path> files = Files.list(directory.resolve(folder))) {
            return files.map(file -> file.getFileName().toString()).sorted().collect(Collectors.toList());
        }
    }
}
