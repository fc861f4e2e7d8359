package org.cordalab.bridge.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.charset.StandardCharsets;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {

    @Test
    void readsWhatItWrites() {
        byte[] json = Json.write(Json.object().put("name", "Zoë").put("value", 1));

        assertThat(Json.read(json).get("name").textValue()).isEqualTo("Zoë");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"a\": 1,             | Line 1, column",
                "{\"a\": 1, \"a\": 2}   | Duplicate field 'a'",
                "{} {}                  | Line 1, column 4",
                "{'a': 1}               | Line 1, column",
                "{\"a\": NaN}           | NaN",
                "{\"a\": 01}            | zero",
            })
    void refusesWhatIsNotJson(String text, String detail) {
        assertThatThrownBy(() -> read(text)).isInstanceOf(Problem.class).hasMessageContaining(detail);
    }

    @Test
    void namesTheLine() {
        assertThatThrownBy(() -> read("{\n  \"a\": 1,\n  b: 2\n}")).hasMessageStartingWith("Line 3, column 4: ");
    }

    @Test
    void refusesAnEmptyBody() {
        assertThatThrownBy(() -> read("")).hasMessage("The body is empty.");
    }

    @Test
    void refusesDeepNestingBeforeItCostsMuch() {
        var problem = catchThrowableOfType(Problem.class, () -> read("[".repeat(500_000)));

        assertThat(problem.type()).isEqualTo(ProblemType.MALFORMED_JSON);
        assertThat(problem).hasMessageContaining("deeper than 64 levels");
    }

    @Test
    void refusesEndlessNumbers() {
        assertThatThrownBy(() -> read("[" + "9".repeat(500_000) + "]")).hasMessageContaining("1000 characters");
    }

    @Test
    void refusesMoreValuesThanABodyNeeds() {
        assertThatThrownBy(() -> read("[" + "0,".repeat(100_000) + "0]")).hasMessageContaining("100000 values");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1e1001", "-1.5E+99999", "1e-1000000000", "1e99999999999999999999"})
    void refusesNumbersWithWhichNoOneCanCalculate(String number) {
        assertThatThrownBy(() -> read("[" + number + "]")).hasMessageContaining("exponent beyond 1000");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1e1000", "0.5E-10", "1e0000000000005"})
    void readsNumbersWithOrdinaryExponents(String number) {
        assertThat(read("[" + number + "]").toString()).isNotEmpty();
    }

    @Test
    void replacesHalvesOfSurrogatePairsOnly() {
        assertThat(Json.clean("a\ud83d\ude00b")).isEqualTo("a\ud83d\ude00b");
        assertThat(Json.clean("a\ud83db\udc00")).isEqualTo("a\ufffdb\ufffd");
    }

    private static Object read(String text) {
        return Json.read(text.getBytes(StandardCharsets.UTF_8));
    }
}
