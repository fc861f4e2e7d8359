package org.cordalab.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CordappConfigsTest {
    @TempDir
    Path directory;

    @Test
    void settingsThatCanBeReadAreSound() throws IOException {
        assertThat(problem("issuableCurrencies = [GBP, USD]", "limits { daily = 5 }"))
                .isNull();
    }

    @Test
    void aMistakeIsNamedWithItsFileAndLine() throws IOException {
        assertThat(problem("limit = 5", "currencies = [GBP"))
                .startsWith("cordapps/extra/config/own.conf: 2: ")
                .doesNotContain(directory.toString());
    }

    @Test
    void whatCordaDoesNotReplaceIsRefused() throws IOException {
        assertThat(problem("url = ${SERVICE_URL}"))
                .isEqualTo("cordapps/extra/config/own.conf: has a ${...}, which Corda does not replace;"
                        + " write the value itself");
    }

    private String problem(String... lines) throws IOException {
        Path file = directory.resolve("own.conf");
        Files.write(file, String.join("\n", lines).getBytes(StandardCharsets.UTF_8));
        return CordappConfigs.problem(file);
    }
}
