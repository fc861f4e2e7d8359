package org.cordalab.nodes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Networks of real key stores and signed files, in a directory of their own. */
class BootstrapTest {
    private static final Config NETWORK = ConfigFactory.parseString(String.join(
            "\n",
            "nodes = [",
            "  { name = partya, legalName = \"O=PartyA,L=London,C=GB\" }",
            "  { name = notary, legalName = \"O=Notary,L=London,C=GB\", notary { validating = false } }",
            "  { name = partyb, legalName = \"O=PartyB,L=New York,C=US\" }",
            "  { name = partyc, legalName = \"O=PartyC,L=Paris,C=FR\" }",
            "]",
            "parameters { minimumPlatformVersion = 4, maxMessageSize = 200MiB, maxTransactionSize = 200MiB }"));
    private static final Config PRESET = ConfigFactory.parseString("node { devMode = true }, jvmArgs = []");
    private static final int PLATFORM_VERSION = 4;

    @TempDir
    Path directory;

    @Test
    void theNotaryAndTheFirstPartiesAreMade() throws IOException {
        make(2);
        assertThat(names("nodes")).containsExactly("notary", "partya", "partyb");
        assertThat(names("node-infos")).containsExactly("nodeInfo-notary", "nodeInfo-partya", "nodeInfo-partyb");
        assertThat(names("nodes/partya/certificates"))
                .containsExactly("nodekeystore.jks", "sslkeystore.jks", "truststore.jks");
        assertThat(directory.resolve("network-parameters")).exists();
    }

    @Test
    void aPartyThatIsAddedLeavesTheOthersAndTheParametersAsTheyAre() throws IOException {
        make(2);
        byte[] parameters = Files.readAllBytes(directory.resolve("network-parameters"));
        byte[] keys = Files.readAllBytes(directory.resolve("nodes/partya/certificates/nodekeystore.jks"));
        make(3);
        assertThat(names("nodes")).containsExactly("notary", "partya", "partyb", "partyc");
        assertThat(directory.resolve("network-parameters")).hasBinaryContent(parameters);
        assertThat(directory.resolve("nodes/partya/certificates/nodekeystore.jks"))
                .hasBinaryContent(keys);
    }

    @Test
    void aPartyThatIsNoLongerWantedKeepsItsFiles() throws IOException {
        make(3);
        make(2);
        assertThat(names("nodes")).contains("partyc");
    }

    @Test
    void morePartiesThanTheNetworkHasAreRefused() {
        assertThatThrownBy(() -> make(4))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("PARTIES: 4 parties are wanted, and configs/network.conf has 3");
    }

    private void make(int parties) throws IOException {
        new Bootstrap(NETWORK, PRESET, directory, parties, PLATFORM_VERSION).run();
    }

    private List<String> names(String folder) throws IOException {
        try (Stream<Path> files = Files.list(directory.resolve(folder))) {
            return files.map(file -> file.getFileName().toString()).sorted().collect(Collectors.toList());
        }
    }
}
