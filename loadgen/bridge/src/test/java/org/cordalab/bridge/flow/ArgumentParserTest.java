package org.cordalab.bridge.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.tuple;
import static org.cordalab.bridge.flow.TestParties.NOTARY;
import static org.cordalab.bridge.flow.TestParties.PARTY_A;
import static org.cordalab.bridge.flow.TestParties.PARTY_B;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.Currency;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import net.corda.core.contracts.Amount;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import net.corda.core.contracts.UniqueIdentifier;
import net.corda.core.crypto.Crypto;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.FlowLogic;
import net.corda.core.identity.AnonymousParty;
import net.corda.core.node.services.vault.PageSpecification;
import net.corda.core.utilities.OpaqueBytes;
import net.corda.finance.flows.CashIssueAndPaymentFlow;
import net.corda.finance.flows.CashIssueFlow;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.cordalab.bridge.run.ResultSummary;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

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

    private static final FlowDefinition WITH_STATE = definition(SampleFlows.WithState.class);

    private static final String INSURE = """
            {
              'policy': {
                'number': 'P-1',
                'insured': 50000,
                'vehicles': [{'plate': 'AB 1', 'colour': 'RED'}, {'plate': 'AB 2', 'colour': 'GREEN'}],
                'shares': {'PartyB': 100},
                'notes': ['new'],
                'instalments': [1, 2],
                'from': '2026-01-31',
                'until': null
              },
              'insured': 'PartyB'
            }
            """;

    private static final String ODD = """
            {
              'odd': {
                'chosen': {'name': 'x', 'number': 7},
                'bean': {'name': 'bean', 'number': 1},
                'shape': {'radius': 3, '@class': 'org.cordalab.bridge.flow.SampleClasses$Circle'},
                'tree': {'value': 'PartyA', 'children': [{'value': 'PartyB', 'children': []}]},
                'page': {'pageNumber': 2}
              }
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
    void buildsTheClassesOfCordapps() {
        var policy = (SampleClasses.Policy)
                parse(SampleFlows.Insure.class, INSURE).arguments().getFirst();

        assertThat(policy.getNumber()).isEqualTo("P-1");
        assertThat(policy.getInsured()).isEqualTo(50_000);
        assertThat(policy.getVehicles())
                .extracting(SampleClasses.Vehicle::getPlate)
                .containsExactly("AB 1", "AB 2");
        assertThat(policy.getVehicles().getLast().getColour()).isEqualTo(SampleFlows.Colour.GREEN);
        assertThat(policy.getShares()).containsExactlyEntriesOf(Map.of(PARTY_B, 100));
        assertThat(policy.getNotes()).containsExactly("new");
        assertThat(policy.getInstalments()).containsExactly(1, 2);
        assertThat(policy.getFrom()).isEqualTo(LocalDate.of(2026, 1, 31));
        assertThat(policy.getUntil()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "'insured': 50000    | 'insured': 'x'     | .insured             | must be a whole number, but is \"x\"",
                "'insured': 50000    | 'insured': null    | .insured             | must be a whole number, but is null",
                "'insured': 50000    | 'insured': -1      | ``                   | insured for less than nothing",
                "'insured': 50000,   | ``                 | .insured             | is missing in Policy(number: String, ",
                "'insured': 50000    | 'insurd': 50000    | .insurd              | is not a field of Policy(number: String, ",
                "'GREEN'             | 'BLUE'             | .vehicles[1].colour  | must be one of \"RED\", \"GREEN\"",
                "'plate': 'AB 1'     | 'plate': 1         | .vehicles[0].plate   | must be a string, but is 1",
                "'2026-01-31'        | 'tomorrow'         | .from                | must be a date such as",
                "'PartyB': 100       | 'PartyB': 'all'    | .shares.PartyB       | must be a whole number",
                "[1, 2]              | [1, 'x']           | .instalments[1]      | must be a whole number",
            })
    void namesThePathOfAWrongField(String from, String to, String path, String detail) {
        Problem problem = problem(SampleFlows.Insure.class, INSURE.replace(from, to));

        assertThat(problem.type()).isEqualTo(ProblemType.INVALID_ARGUMENT);
        assertThat(problem.toJson("/").get("field").textValue()).isEqualTo("args.policy" + path);
        assertThat(problem).hasMessageContaining("args.policy" + path + " ").hasMessageContaining(detail);
    }

    @Test
    void buildsClassesAsCordaDoes() {
        var odd = (SampleClasses.Odd)
                parse(SampleFlows.OddClasses.class, ODD).arguments().getFirst();

        assertThat(odd.getChosen().getNumber()).isEqualTo(7);
        assertThat(odd.getBean().getName()).isEqualTo("bean");
        assertThat(((SampleClasses.Circle) odd.getShape()).getRadius()).isEqualTo(3);
        assertThat(odd.getTree().getChildren().getFirst().getValue()).isEqualTo(PARTY_B);
        assertThat(odd.getPage()).isEqualTo(new PageSpecification(2, 200));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"java.lang.String", "org.cordalab.bridge.flow.SampleClasses$Vehicle", "com.example.None", ""})
    void buildsOnlyClassesThatTheTypeAllows(String name) {
        String circle = "org.cordalab.bridge.flow.SampleClasses$Circle";

        Problem problem = problem(SampleFlows.OddClasses.class, ODD.replace(circle, name));

        assertThat(problem.toJson("/").get("field").textValue()).isEqualTo("args.odd.shape.@class");
        assertThat(problem).hasMessageContaining("a class that is a Shape").hasMessageContaining("\"" + name + "\"");
    }

    @Test
    void saysWhatAClassLacksThatCannotBeBuilt() {
        assertThat(problem(SampleFlows.WithContradiction.class, "{'contradiction': {'one': 1, 'two': 2}}"))
                .hasMessageContaining("args.contradiction cannot be built: ")
                .hasMessageContaining("Contradiction needs -parameters");
    }

    @Test
    void buildsForeignClassesByTheSerialisersOfCordapps() {
        var own = new ArgumentParser(ArgumentMapper.create(
                TestParties.directory(), StateLookup.none(), List.of(new SampleClasses.ForeignSerializer())));
        FlowDefinition flow = definition(SampleFlows.WithForeign.class);

        var foreign = (SampleClasses.Foreign)
                own.parse(flow, json("{'foreign': {'open': 'x'}}")).arguments().getFirst();

        assertThat(foreign.reveal()).isEqualTo("x!");
    }

    @Test
    void takesWhatFlowsReturnAsItIs() {
        List<Object> returned = List.of(
                new UniqueIdentifier("a_b", UUID.randomUUID()),
                SecureHash.randomSHA256(),
                new StateRef(SecureHash.randomSHA256(), 3),
                PARTY_A,
                new AnonymousParty(Crypto.generateKeyPair().getPublic()),
                new AnonymousParty(Crypto.generateKeyPair().getPublic()),
                Crypto.generateKeyPair().getPublic(),
                new OpaqueBytes(new byte[] {1, -1}),
                pounds(1_050),
                List.of(new UniqueIdentifier(null, UUID.randomUUID()), new UniqueIdentifier("x", UUID.randomUUID())));
        FlowDefinition flow = definition(SampleFlows.WithReturned.class);
        ObjectNode arguments = Json.object();
        Iterator<Object> values = returned.iterator();
        flow.constructors()
                .getFirst()
                .parameters()
                .forEach(parameter -> arguments.set(
                        parameter.name(), ResultSummary.of(values.next()).value()));

        List<Object> taken = parser.parse(flow, arguments).arguments();

        assertThat(taken).isEqualTo(returned);
        // Two identifiers are equal if their UUIDs are.
        assertThat(taken.getFirst()).hasToString(returned.getFirst().toString());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "'c5084132-4f88-49e4-a4ce-c53242e731f0'",
                "{'externalId': null, 'id': 'c5084132-4f88-49e4-a4ce-c53242e731f0'}",
                "{'id': 'c5084132-4f88-49e4-a4ce-c53242e731f0'}",
            })
    void takesAUniqueIdentifierInEveryForm(String id) {
        assertThat(parse(SampleFlows.Proposal.Initiator.class, "{'proposalId': " + id + "}")
                        .arguments())
                .containsExactly(new UniqueIdentifier(null, UUID.fromString("c5084132-4f88-49e4-a4ce-c53242e731f0")));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "''",
                "'x_'",
                "'xc5084132-4f88-49e4-a4ce-c53242e731f0'",
                "{}",
                "{'externalId': 'x'}",
                "{'id': 5}",
                "{'id': 'x'}",
                "{'id': 'c5084132-4f88-49e4-a4ce-c53242e731f0', 'x': 1}",
                "5",
                "[]",
            })
    void refusesWhatIsNoUniqueIdentifier(String id) {
        Problem problem = problem(SampleFlows.Proposal.Initiator.class, "{'proposalId': " + id + "}");

        assertThat(problem.type()).isEqualTo(ProblemType.INVALID_ARGUMENT);
        assertThat(problem.toJson("/").get("field").textValue()).startsWith("args.proposalId");
    }

    @Test
    void takesATransactionForItsHash() {
        ObjectNode arguments = json(MANY);
        String id = arguments.get("hash").textValue();
        arguments.putObject("hash").put("txId", id).put("signatures", 2);

        assertThat(parser.parse(definition(SampleFlows.Many.class), arguments).arguments())
                .contains(SecureHash.parse(id));
    }

    @Test
    void looksStatesUpByTheirReferences() {
        StateRef ref = new StateRef(SecureHash.randomSHA256(), 0);
        StateAndRef<?> state = SampleClasses.State.at(ref);

        FlowCall call = withVault(each -> state).parse(WITH_STATE, states(ref, ref));

        assertThat(call.arguments()).containsExactly(state, List.of(state));
    }

    @Test
    void saysWhyAStateCannotBeUsed() {
        StateRef ref = new StateRef(SecureHash.randomSHA256(), 0);
        ArgumentParser own = withVault(each -> {
            if (each.getIndex() > 0) {
                throw new IllegalArgumentException("it is not in the vault of PartyA");
            }
            return SampleClasses.State.at(each);
        });
        StateRef unknown = new StateRef(ref.getTxhash(), 1);

        Problem first = catchThrowableOfType(Problem.class, () -> own.parse(WITH_STATE, states(unknown, ref)));
        Problem second = catchThrowableOfType(Problem.class, () -> own.parse(WITH_STATE, states(ref, unknown)));

        assertThat(first.toJson("/").get("field").textValue()).isEqualTo("args.state");
        assertThat(first)
                .hasMessageContaining("args.state must be an unconsumed state of the node's vault by its reference")
                .hasMessageContaining("(it is not in the vault of PartyA)");
        assertThat(second.toJson("/").get("field").textValue()).isEqualTo("args.others[0]");
        assertThat(second).hasMessageContaining("it is not in the vault of PartyA");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void passesOnThatTheNodeCannotBeAsked(int unavailable) {
        SecureHash transaction = SecureHash.randomSHA256();
        ArgumentParser own = withVault(each -> {
            if (each.getIndex() == unavailable) {
                throw new Problem(ProblemType.NODE_UNAVAILABLE, "There is no connection to PartyA.");
            }
            return SampleClasses.State.at(each);
        });
        ObjectNode arguments = states(new StateRef(transaction, 0), new StateRef(transaction, 1));

        Problem problem = catchThrowableOfType(Problem.class, () -> own.parse(WITH_STATE, arguments));

        assertThat(problem.type()).isEqualTo(ProblemType.NODE_UNAVAILABLE);
    }

    @Test
    void asksANodeThatCannotBeAskedOnlyOnce() {
        var asked = new AtomicInteger();
        ArgumentParser own = withVault(each -> {
            asked.incrementAndGet();
            throw new Problem(ProblemType.NODE_UNAVAILABLE, "There is no connection to PartyA.");
        });
        StateRef ref = new StateRef(SecureHash.randomSHA256(), 0);
        ObjectNode arguments = Json.object().put("state", ref.toString());
        arguments.putArray("words");

        Problem problem = catchThrowableOfType(
                Problem.class, () -> own.parse(definition(SampleFlows.WithStateOverloaded.class), arguments));

        assertThat(problem.type()).isEqualTo(ProblemType.NODE_UNAVAILABLE);
        assertThat(asked).hasValue(1);
    }

    @Test
    void looksUpOnlySoManyStates() {
        StateRef ref = new StateRef(SecureHash.randomSHA256(), 0);
        ObjectNode arguments = states(ref, ref);
        for (int i = 0; i < ReturnedValues.MAX_STATES; i++) {
            arguments.withArray("others").add(ref.toString());
        }

        Problem problem = catchThrowableOfType(
                Problem.class, () -> withVault(SampleClasses.State::at).parse(WITH_STATE, arguments));

        assertThat(problem.toJson("/").get("field").textValue()).isEqualTo("args.others[100]");
        assertThat(problem).hasMessageContaining("is beyond the 100 states");
    }

    @Test
    void buildsARequestOfAKotlinFlow() {
        FlowCall issue =
                parse(CashIssueFlow.class, "{'request': {'amount': '5 GBP', 'issueRef': '01', 'notary': 'Notary'}}");

        assertThat(issue.arguments().getFirst()).isInstanceOfSatisfying(CashIssueFlow.IssueRequest.class, request -> {
            assertThat(request.getAmount()).isEqualTo(pounds(500));
            assertThat(request.getNotary()).isEqualTo(NOTARY);
        });
        FlowParameter request = definition(CashIssueFlow.class).constructors().stream()
                .map(FlowConstructor::parameters)
                .filter(parameters -> parameters.size() == 1)
                .findFirst()
                .orElseThrow()
                .getFirst();
        assertThat(parser.describe(request).fields())
                .extracting(FieldDescription::name, FieldDescription::type)
                .containsExactly(
                        tuple("amount", "Amount<Currency>"),
                        tuple("issueRef", "OpaqueBytes"),
                        tuple("notary", "Party"));
    }

    @Test
    void describesTheFieldsOfClasses() {
        FieldDescription policy = describe(SampleFlows.Insure.class);
        FieldDescription odd = describe(SampleFlows.OddClasses.class);

        assertThat(policy.type()).isEqualTo("Policy");
        assertThat(policy.fields())
                .extracting(FieldDescription::name, FieldDescription::type)
                .startsWith(tuple("number", "String"), tuple("insured", "long"), tuple("vehicles", "List<Vehicle>"))
                .contains(tuple("shares", "Map<Party, Integer>"), tuple("until", "Optional<LocalDate>"));
        FieldDescription vehicles = policy.fields().get(2);
        assertThat(vehicles.fields()).extracting(FieldDescription::name).containsExactly("plate", "colour");
        assertThat(vehicles.fields().getLast().values()).containsExactly("RED", "GREEN");
        assertThat(odd.fields())
                .extracting(FieldDescription::name)
                .containsExactly("chosen", "bean", "shape", "tree", "page");
        assertThat(odd.fields().get(1).fields())
                .extracting(FieldDescription::name)
                .containsExactlyInAnyOrder("name", "number");
        assertThat(odd.fields().get(2).isAbstract()).isTrue();
        // A tree has trees, which are not described again.
        assertThat(odd.fields().get(3).fields().getLast().fields()).isEmpty();
        assertThat(odd.fields().get(4).fields()).allMatch(FieldDescription::optional);
    }

    @Test
    void describesNoFieldsOfCordasOwnValues() {
        assertThat(definition(SampleFlows.WithReturned.class)
                        .constructors()
                        .getFirst()
                        .parameters())
                .allSatisfy(parameter ->
                        assertThat(parser.describe(parameter).fields()).isEmpty());
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

    private static ArgumentParser withVault(StateLookup vault) {
        return new ArgumentParser(ArgumentMapper.create(TestParties.directory(), vault, List.of()));
    }

    /** Returns the arguments of {@link SampleFlows.WithState}. */
    private static ObjectNode states(StateRef state, StateRef other) {
        ObjectNode arguments = Json.object().put("state", state.toString());
        arguments.putArray("others").add(other.toString());
        return arguments;
    }

    private FieldDescription describe(Class<? extends FlowLogic<?>> flow) {
        return parser.describe(
                definition(flow).constructors().getFirst().parameters().getFirst());
    }

    @Test
    void theSameArgumentsHaveTheSameFingerprintInAnyOrder() {
        String ordered = MANY.replace("{\"label\": \"one\", \"value\": 1}", "{\"value\": 1, \"label\": \"one\"}");
        String other = MANY.replace("\"value\": 1", "\"value\": 2");

        String fingerprint = parse(SampleFlows.Many.class, MANY).fingerprint();

        assertThat(parse(SampleFlows.Many.class, ordered).fingerprint()).isEqualTo(fingerprint);
        assertThat(parse(SampleFlows.Many.class, other).fingerprint()).isNotEqualTo(fingerprint);
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
