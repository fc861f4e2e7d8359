package org.cordalab.bridge.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.cordalab.bridge.flow.TestParties.NOTARY;
import static org.cordalab.bridge.flow.TestParties.PARTY_A;
import static org.cordalab.bridge.flow.TestParties.PARTY_B;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Currency;
import java.util.List;
import java.util.UUID;
import net.corda.core.contracts.Amount;
import net.corda.core.contracts.UniqueIdentifier;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.FlowLogic;
import net.corda.core.utilities.OpaqueBytes;
import net.corda.finance.flows.CashIssueAndPaymentFlow;
import net.corda.finance.flows.CashIssueFlow;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ArgumentParserTest {

    private static final String MANY = """
            {
              "number": 9007199254740993,
              "truth": true,
              "text": "5",
              "decimal": 1.10,
              "colour": "GREEN",
              "hash": "7633BA4F8F578AB410EECAFFD388604F2D6B01E9F4D4DEF9098ECA92121E11D5",
              "amount": "100.50 GBP",
              "id": {"externalId": "x", "id": "c5084132-4f88-49e4-a4ce-c53242e731f0"},
              "parties": ["O=PartyB,L=New York,C=US", "PartyA"],
              "lines": [{"label": "one", "value": 1}],
              "bytes": "AQI="
            }
            """;

    private final ArgumentParser parser = new ArgumentParser(ArgumentMapper.create(TestParties.directory()));

    @Test
    void readsTheArgumentsOfAnIou() {
        FlowCall call = parse(SampleFlows.Iou.class, "{'otherParty': 'O=PartyB,L=New York,C=US', 'iouValue': 7}");

        assertThat(call.arguments()).containsExactly(7, PARTY_B);
        assertThat(call.shortName()).isEqualTo("Iou");
    }

    @Test
    @Timeout(30)
    void refusesTextsThatWouldTakeHoursOrAllMemory() {
        for (String hostile : List.of(
                MANY.replace("100.50 GBP", "1e1000000000 GBP"),
                MANY.replace("100.50 GBP", "9".repeat(500_000) + " GBP"),
                MANY.replace("1.10", "\"1e-1000000000\""),
                MANY.replace("1.10", "\"" + "9".repeat(500_000) + "\""),
                MANY.replace("\"PartyA\"", "\"" + "2".repeat(900_000) + "\""))) {
            var problem = catchThrowableOfType(Problem.class, () -> parse(SampleFlows.Many.class, hostile));
            assertThat(problem.type()).isEqualTo(ProblemType.INVALID_ARGUMENT);
        }
    }

    @Test
    void readsAFlowWithoutArguments() {
        assertThat(parse(SampleFlows.Empty.class, "{}").arguments()).isEmpty();
    }

    @Test
    void readsEveryKindOfValue() {
        List<Object> arguments = parse(SampleFlows.Many.class, MANY).arguments();

        assertThat(arguments.subList(0, 10))
                .containsExactly(
                        9007199254740993L,
                        true,
                        "5",
                        new BigDecimal("1.10"),
                        SampleFlows.Colour.GREEN,
                        SecureHash.parse("7633BA4F8F578AB410EECAFFD388604F2D6B01E9F4D4DEF9098ECA92121E11D5"),
                        pounds(10_050),
                        new UniqueIdentifier("x", UUID.fromString("c5084132-4f88-49e4-a4ce-c53242e731f0")),
                        List.of(PARTY_B, PARTY_A),
                        List.of(new SampleFlows.Line("one", 1)));
        assertThat((byte[]) arguments.get(10)).containsExactly(1, 2);
    }

    @Test
    void readsKotlinFlows() {
        FlowCall issue =
                parse(CashIssueFlow.class, "{'amount': '100 GBP', 'issuerBankPartyRef': 'ref', 'notary': 'Notary'}");
        FlowCall payment = parse(
                CashIssueAndPaymentFlow.class,
                "{'amount': '1 GBP', 'issueRef': 'r', 'recipient': 'PartyB', 'anonymous': false, 'notary': 'Notary'}");

        assertThat(issue.arguments())
                .containsExactly(pounds(10_000), new OpaqueBytes("ref".getBytes(StandardCharsets.UTF_8)), NOTARY);
        assertThat(payment.arguments()).contains(PARTY_B, false);
    }

    @Test
    void choosesTheConstructorByNamesAndThenByTypes() {
        assertThat(parse(SampleFlows.Overloaded.class, "{'party': 'PartyA'}").arguments())
                .containsExactly(PARTY_A);
        assertThat(parse(SampleFlows.Overloaded.class, "{'party': 'PartyA', 'value': 1}")
                        .arguments())
                .containsExactly(PARTY_A, 1);
        assertThat(parse(SampleFlows.Overloaded.class, "{'value': 1}").arguments())
                .containsExactly(1);
        assertThat(parse(SampleFlows.Overloaded.class, "{'value': 'one'}").arguments())
                .containsExactly("one");
    }

    @Test
    void takesNullOnlyWhereTheParameterSaysSo() {
        assertThat(parse(SampleFlows.WithNull.class, "{'note': null}").arguments())
                .containsExactly((Object) null);
        assertThat(problem(SampleFlows.Iou.class, "{'iouValue': 1, 'otherParty': null}")
                        .type())
                .isEqualTo(ProblemType.INVALID_ARGUMENT);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "5.5               | a whole number from -2147483648 to 2147483647, but is 5.5",
                "5.0               | a whole number",
                "\"5\"             | but is \"5\"",
                "\"\"              | a whole number",
                "true              | but is true",
                "null              | but is null",
                "2147483648        | but is 2147483648",
                "{}                | a whole number",
                "[5]               | a whole number",
            })
    void takesOnlyWholeNumbersForAnInt(String value, String detail) {
        Problem problem = problem(SampleFlows.Iou.class, "{'otherParty': 'PartyB', 'iouValue': " + value + "}");

        assertThat(problem.type()).isEqualTo(ProblemType.INVALID_ARGUMENT);
        assertThat(problem.toJson("/").get("field").textValue()).isEqualTo("args.iouValue");
        assertThat(problem).hasMessageContaining(detail);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "\"O=Nobody,L=London,C=GB\" | Could not find a Party with name",
                "\"London\"                 | Ambiguous name match",
                "\"Xyzzy\"                  | No matching Party found",
                "\"a, b\"                   | a party of the network",
                "5                          | a party of the network",
                "[]                         | a party of the network",
            })
    void takesOnlyKnownParties(String value, String detail) {
        Problem problem = problem(SampleFlows.Iou.class, "{'iouValue': 1, 'otherParty': " + value + "}");

        assertThat(problem.type()).isEqualTo(ProblemType.INVALID_ARGUMENT);
        assertThat(problem.toJson("/").get("field").textValue()).isEqualTo("args.otherParty");
        assertThat(problem).hasMessageContaining(detail);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "number  | 1.5               | args.number",
                "truth   | 1                 | args.truth",
                "truth   | \"true\"          | args.truth",
                "text    | 5                 | args.text",
                "decimal | \"much\"          | args.decimal",
                "colour  | \"BLUE\"          | args.colour",
                "colour  | 0                 | args.colour",
                "hash    | \"12\"            | args.hash",
                "amount  | \"-100 GBP\"      | args.amount",
                "amount  | \"100 Knuts\"     | args.amount",
                "id      | \"x\"             | args.id",
                "parties | \"PartyA\"        | args.parties",
                "parties | [\"PartyA\", 1]   | args.parties[1]",
                "lines   | [{\"label\": \"a\", \"value\": \"b\"}] | args.lines[0].value",
                "lines   | [{\"label\": \"a\", \"value\": 1, \"x\": 1}] | args.lines[0].x",
                "bytes   | \"***\"           | args.bytes",
            })
    void refusesWrongValuesOfEveryKind(String name, String value, String field) {
        ObjectNode arguments = json(MANY);
        arguments.set(name, Json.read(value.getBytes(StandardCharsets.UTF_8)));

        Problem problem =
                catchThrowableOfType(Problem.class, () -> parser.parse(definition(SampleFlows.Many.class), arguments));

        assertThat(problem).isNotNull();
        assertThat(problem.type()).isEqualTo(ProblemType.INVALID_ARGUMENT);
        assertThat(problem.toJson("/").get("field").textValue()).isEqualTo(field);
    }

    @Test
    void takesExactDecimalsAsStrings() {
        ObjectNode arguments = json(MANY);
        arguments.put("decimal", "1.10");

        assertThat(parser.parse(definition(SampleFlows.Many.class), arguments).arguments())
                .contains(new BigDecimal("1.10"));
    }

    @Test
    void namesTheMissingArgumentAndWhatThereIs() {
        Problem problem = problem(SampleFlows.Iou.class, "{'iouValue': 1}");

        assertThat(problem.type()).isEqualTo(ProblemType.MISSING_ARGUMENT);
        assertThat(problem.toJson("/").get("field").textValue()).isEqualTo("args.otherParty");
        assertThat(problem).hasMessageContaining("Iou(iouValue: int, otherParty: Party)");
    }

    @Test
    void namesTheUnknownArgumentAndWhatThereIs() {
        Problem problem = problem(SampleFlows.Iou.class, "{'iouValue': 1, 'otherParty': 'PartyB', 'value': 2}");

        assertThat(problem.type()).isEqualTo(ProblemType.UNKNOWN_ARGUMENT);
        assertThat(problem.toJson("/").get("field").textValue()).isEqualTo("args.value");
    }

    @Test
    void fingerprintsTheFlowAndItsArgumentsWhateverTheirOrder() {
        String one = parse(SampleFlows.Iou.class, "{'iouValue': 1, 'otherParty': 'PartyB'}")
                .fingerprint();

        assertThat(parse(SampleFlows.Iou.class, "{'otherParty': 'PartyB', 'iouValue': 1}")
                        .fingerprint())
                .isEqualTo(one);
        assertThat(parse(SampleFlows.Iou.class, "{'iouValue': 2, 'otherParty': 'PartyB'}")
                        .fingerprint())
                .isNotEqualTo(one);
    }

    private FlowCall parse(Class<? extends FlowLogic<?>> flow, String arguments) {
        return parser.parse(definition(flow), json(arguments));
    }

    private Problem problem(Class<? extends FlowLogic<?>> flow, String arguments) {
        return catchThrowableOfType(Problem.class, () -> parse(flow, arguments));
    }

    private static FlowDefinition definition(Class<? extends FlowLogic<?>> flow) {
        return FlowDefinition.of(flow, flow.getSimpleName());
    }

    /** Parses JSON with apostrophes for quotes, which is more readable in Java. */
    private static ObjectNode json(String text) {
        return (ObjectNode) Json.read(text.replace('\'', '"').getBytes(StandardCharsets.UTF_8));
    }

    private static Amount<Currency> pounds(long pence) {
        return new Amount<>(pence, Currency.getInstance("GBP"));
    }
}
