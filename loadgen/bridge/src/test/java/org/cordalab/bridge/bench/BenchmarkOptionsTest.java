package org.cordalab.bridge.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class BenchmarkOptionsTest {

    @Test
    void readsAllOptions() {
        assertThat(
                        of(
                                "--node PartyA --flow Iou --args {} --in-flight 20 --client-ids yes --warm-up 5 --duration 30 --count 100"))
                .isEqualTo(new BenchmarkOptions(
                        "PartyA",
                        "Iou",
                        "{}",
                        20,
                        true,
                        Duration.ofSeconds(5),
                        Duration.ofSeconds(30),
                        Optional.of(100)));
    }

    @Test
    void hasStandards() {
        assertThat(of("--node PartyA --flow Empty"))
                .isEqualTo(new BenchmarkOptions(
                        "PartyA", "Empty", "{}", 1, false, Duration.ZERO, Duration.ofSeconds(60), Optional.empty()));
    }

    @Test
    void saysWhatIsWrong() {
        assertThatThrownBy(() -> of("--flow Iou")).hasMessage("--node is missing");
        assertThatThrownBy(() -> of("--nodes PartyA")).hasMessage("Unknown option --nodes");
        assertThatThrownBy(() -> of("--node")).hasMessage("--node needs a value");
        assertThatThrownBy(() -> of("--node A --flow B --in-flight 0"))
                .hasMessage("--in-flight must be a whole number of at least 1, but is \"0\"");
    }

    @Test
    void aWordIsYesOrNo() {
        assertThatThrownBy(() -> of("--node A --flow B --client-ids maybe"))
                .hasMessage("--client-ids must be yes or no, but is \"maybe\"");
    }

    private static BenchmarkOptions of(String commandLine) {
        return BenchmarkOptions.of(commandLine.split(" "));
    }
}
