package org.cordalab.bridge.run;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.security.PublicKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import net.corda.core.contracts.StateRef;
import net.corda.core.contracts.UniqueIdentifier;
import net.corda.core.crypto.Crypto;
import net.corda.core.crypto.SecureHash;
import net.corda.core.identity.AnonymousParty;
import net.corda.core.utilities.EncodingUtils;
import org.cordalab.bridge.flow.SampleClasses;
import org.cordalab.bridge.flow.TestParties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ResultSummaryTest {

    record Sample(Object value, String json) {}

    static Iterable<Sample> samples() {
        return Arrays.asList(
                new Sample(null, "null"),
                new Sample(true, "true"),
                new Sample(7, "7"),
                new Sample(9007199254740993L, "9007199254740993"),
                new Sample(new BigDecimal("1.10"), "1.10"),
                new Sample(1.5, "1.5"),
                new Sample(Double.NaN, "\"NaN\""),
                new Sample("text", "\"text\""),
                new Sample(Duration.ofSeconds(1), "\"PT1S\""),
                new Sample(List.of("a", 1, List.of()), "[\"a\",1,[]]"),
                new Sample(Set.of("a"), "[\"a\"]"),
                new Sample(new String[] {"a", "b"}, "[\"a\",\"b\"]"),
                new Sample(new byte[] {1, 2}, "\"AQI=\""),
                new Sample(Optional.empty(), "null"),
                new Sample(Map.of("a", List.of(true)), "{\"a\":[true]}"));
    }

    @ParameterizedTest
    @MethodSource("samples")
    void writesSimpleValuesAsJson(Sample sample) {
        assertThat(ResultSummary.of(sample.value()).value()).hasToString(sample.json());
    }

    @Test
    void writesCordasValuesAsArgumentsHaveThem() {
        PublicKey key = Crypto.generateKeyPair().getPublic();
        StateRef ref = new StateRef(SecureHash.randomSHA256(), 2);

        assertThat(text(key)).isEqualTo(EncodingUtils.toBase58String(key));
        assertThat(text(new AnonymousParty(key))).isEqualTo(EncodingUtils.toBase58String(key));
        assertThat(text(TestParties.PARTY_B))
                .isEqualTo(TestParties.PARTY_B.getName().toString());
        assertThat(text(SampleClasses.State.at(ref))).isEqualTo(ref.toString());
        assertThat(text(new UniqueIdentifier("x", new UUID(0, 1)))).isEqualTo("x_" + new UUID(0, 1));
    }

    private static String text(Object value) {
        return ResultSummary.of(value).value().textValue();
    }

    @Test
    void cutsLongTexts() {
        assertThat(ResultSummary.of("x".repeat(5000)).value().textValue()).hasSize(1001);
    }

    @Test
    void endsAListThatIsTooLong() {
        JsonNode list = ResultSummary.of(Collections.nCopies(ResultSummary.MAX_VALUES + 5, 1))
                .value();

        assertThat(list).hasSize(ResultSummary.MAX_VALUES);
        assertThat(list.get(list.size() - 1).textValue()).isEqualTo("…");
    }

    @Test
    void asksForTheMemoryOfALongResultBeforeItTakesIt() {
        List<Long> asked = new ArrayList<>();
        ResultSummary.of(Collections.nCopies(900, 1), asked::add);
        assertThat(asked).isEmpty();

        long bytes =
                ResultSummary.of(Collections.nCopies(10_000, 1), asked::add).bytes();

        assertThat(asked).hasSizeGreaterThan(5).isSorted();
        assertThat(asked.getLast()).isGreaterThanOrEqualTo(bytes);
        assertThat(asked.getFirst()).isLessThan(bytes / 2);
    }

    @Test
    void countsTheDigitsOfNumbers() {
        BigInteger number = BigInteger.TWO.pow(800_000);

        assertThat(ResultSummary.of(number).bytes()).isGreaterThan(100_000);
        assertThat(ResultSummary.of(new BigDecimal(number, 5)).bytes()).isGreaterThan(100_000);
    }

    @Test
    void survivesAToStringThatThrows() {
        var hostile = new Object() {
            @Override
            public String toString() {
                throw new IllegalStateException("no");
            }
        };

        assertThat(ResultSummary.of(hostile).value().textValue()).contains("ResultSummaryTest");
    }
}
