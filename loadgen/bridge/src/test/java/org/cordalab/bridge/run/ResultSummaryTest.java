package org.cordalab.bridge.run;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
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
                new Sample(Map.of("a", List.of(true)), "{\"a\":[true]}"));
    }

    @ParameterizedTest
    @MethodSource("samples")
    void writesSimpleValuesAsJson(Sample sample) {
        assertThat(ResultSummary.of(sample.value()).value()).hasToString(sample.json());
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
