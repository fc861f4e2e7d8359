package org.cordalab;

import static java.util.Arrays.asList;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import net.corda.core.concurrent.CordaFuture;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.FlowLogic;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import net.corda.testing.node.MockNetwork;
import net.corda.testing.node.StartedMockNode;
import org.cordalab.flows.AssetPrepare;
import org.cordalab.flows.Settlement;
import org.cordalab.flows.SettlementParallel;
import org.cordalab.states.Asset;
import org.cordalab.states.CashState;
import org.cordalab.states.StockState;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests settlements between two pairs of parties, coordinated by a fifth party. */
class SettlementIT {
    private static MockNetwork network;
    private static StartedMockNode exchange;
    private static List<StartedMockNode> nodes;

    private final Map<StartedMockNode, Integer> transactionsBefore = new HashMap<>();
    private Set<StateRef> before;

    @BeforeAll
    static void startNetwork() {
        network = new MockNetwork(MockParties.networkParameters());
        exchange = network.createPartyNode(new CordaX500Name("Exchange", "London", "GB"));
        nodes = new ArrayList<>();
        for (String name : asList("Payer1", "Payer2", "Seller1", "Seller2")) {
            nodes.add(network.createPartyNode(new CordaX500Name(name, "London", "GB")));
        }
    }

    @AfterAll
    static void stopNetwork() {
        network.stopNodes();
    }

    @BeforeEach
    void rememberWhatThereIs() {
        before = new HashSet<>();
        for (StartedMockNode node : everyNode()) {
            vault(node, Asset.class).forEach(each -> before.add(each.getRef()));
            transactionsBefore.put(node, stored(node));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void allAssetsChangeHandsInOneTransaction(boolean parallel) throws Exception {
        prepareEach(0);

        SignedTransaction settled = run(exchange, settlement(parallel, parties(), null));

        assertEquals(4, settled.getTx().getInputs().size());
        assertEquals(4, settled.getTx().getOutputStates().size());
        settled.verifyRequiredSignatures();
        assertExchanged();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aPartyFetchesWhatItHasNotSeen(boolean parallel) throws Exception {
        List<String> states = prepareEach(3);

        SignedTransaction settled = run(exchange, settlement(parallel, parties(), states));

        assertEquals(
                states,
                settled.getTx().getInputs().stream().map(Object::toString).collect(Collectors.toList()));
        assertExchanged();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void everyPartyLacksTheHistoriesOfAllOtherPairs(boolean parallel) throws Exception {
        int backchainSize = 3;
        List<String> states = prepareEach(backchainSize);
        int history = backchainSize + 1;
        assertEquals(0, transactionsOf(exchange));
        for (StartedMockNode node : nodes) {
            assertEquals(2 * history, transactionsOf(node));
        }

        run(exchange, settlement(parallel, parties(), states));

        for (StartedMockNode node : nodes) {
            assertEquals(4 * history + 1, transactionsOf(node));
        }
        assertEquals(4 * history + 1, transactionsOf(exchange));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anAssetWhoseSettlementFailedIsFreeAgain(boolean parallel) throws Exception {
        run(nodes.get(0), new AssetPrepare("cash", party(nodes.get(1)), 0, 1));
        List<Party> pair = asList(party(nodes.get(0)), party(nodes.get(2)));
        assertRefused(
                "This node has no free StockState: prepare some with AssetPrepare.", settlement(parallel, pair, null));

        run(nodes.get(2), new AssetPrepare("stock", party(nodes.get(3)), 0, 1));
        run(exchange, settlement(parallel, pair, null));
        assertEquals(1, states(nodes.get(0), StockState.class).size());
    }

    @Test
    void aPreparedAssetHasTheHistoryAskedFor() throws Exception {
        for (int backchainSize : new int[] {0, 1, 2, 5}) {
            String state = run(nodes.get(0), new AssetPrepare("stock", party(nodes.get(1)), backchainSize, 1))
                    .get(0);
            assertEquals(backchainSize + 1, historyOf(nodes.get(0), state));
            assertTrue(states(nodes.get(0), StockState.class).size() > 0);
        }
        assertEquals(4, states(nodes.get(0), StockState.class).size());
    }

    @Test
    void argumentsThatMakeNoSenseAreRefused() {
        Party first = party(nodes.get(0));
        assertRefused(
                "otherPartiesNames must be an even number of parties, not 1.",
                new Settlement(Collections.singletonList(first)));
        assertRefused("otherPartiesNames must be different parties.", new Settlement(asList(first, first)));
        assertRefused(
                "otherPartiesNames must be a party other than this node, O=Exchange, L=London, C=GB.",
                new Settlement(asList(first, party(exchange))));
        assertRefused(
                "states must have one entry for each of the 2 parties, not 1.",
                new Settlement(asList(first, party(nodes.get(1))), Collections.singletonList("x")));
        assertRefused("asset must be cash or stock, but it is gold.", new AssetPrepare("gold", first, 0, 1));
        assertRefused("count must be 1 to 10000, but it is 0.", new AssetPrepare("cash", first, 0, 0));
        assertRefused("backchainSize must be 0 to 10000, but it is -1.", new AssetPrepare("cash", first, -1, 1));
    }

    /** Prepares one asset of each party. Its history is within the party's own pair: a payer and its seller. */
    private List<String> prepareEach(int backchainSize) throws Exception {
        List<String> states = new ArrayList<>();
        for (int index = 0; index < 4; index++) {
            Party partner = party(nodes.get((index + 2) % 4));
            String asset = index < 2 ? "cash" : "stock";
            states.addAll(run(nodes.get(index), new AssetPrepare(asset, partner, backchainSize, 1)));
        }
        return states;
    }

    private void assertExchanged() {
        for (int index = 0; index < 4; index++) {
            assertEquals(
                    index < 2 ? 0 : 1, states(nodes.get(index), CashState.class).size());
            assertEquals(
                    index < 2 ? 1 : 0,
                    states(nodes.get(index), StockState.class).size());
        }
        assertEquals(0, states(exchange, CashState.class).size());
    }

    private static FlowLogic<SignedTransaction> settlement(boolean parallel, List<Party> parties, List<String> states) {
        return parallel ? new SettlementParallel(parties, states) : new Settlement(parties, states);
    }

    private List<Party> parties() {
        return nodes.stream().map(SettlementIT::party).collect(Collectors.toList());
    }

    private static List<StartedMockNode> everyNode() {
        List<StartedMockNode> every = new ArrayList<>(nodes);
        every.add(exchange);
        return every;
    }

    /** Returns the number of transactions that a node has stored in this test. */
    private int transactionsOf(StartedMockNode node) {
        return stored(node) - transactionsBefore.get(node);
    }

    private static int stored(StartedMockNode node) {
        return node.transaction(() -> node.getServices()
                .getValidatedTransactions()
                .track()
                .getSnapshot()
                .size());
    }

    /** Returns the length of a state's backchain, including its own transaction. No transaction has two inputs. */
    private static int historyOf(StartedMockNode node, String state) {
        return node.transaction(() -> {
            int length = 0;
            String id = state.substring(0, state.indexOf('('));
            while (id != null) {
                SignedTransaction transaction =
                        node.getServices().getValidatedTransactions().getTransaction(SecureHash.parse(id));
                length++;
                id = transaction.getTx().getInputs().isEmpty()
                        ? null
                        : transaction.getTx().getInputs().get(0).getTxhash().toString();
            }
            return length;
        });
    }

    private <T> T run(StartedMockNode node, FlowLogic<T> flow) throws Exception {
        CordaFuture<T> outcome = node.startFlow(flow);
        network.runNetwork();
        return outcome.get();
    }

    private void assertRefused(String message, FlowLogic<?> flow) {
        CordaFuture<?> outcome = exchange.startFlow(flow);
        network.runNetwork();
        MockParties.assertFailure(message, outcome);
    }

    /** Returns a node's unspent states of a kind that are of this test. */
    private <T extends Asset> List<T> states(StartedMockNode node, Class<T> kind) {
        return vault(node, kind).stream()
                .filter(each -> !before.contains(each.getRef()))
                .map(each -> each.getState().getData())
                .collect(Collectors.toList());
    }

    private static <T extends Asset> List<StateAndRef<T>> vault(StartedMockNode node, Class<T> kind) {
        return node.transaction(() -> new ArrayList<>(
                node.getServices().getVaultService().queryBy(kind).getStates()));
    }

    private static Party party(StartedMockNode node) {
        return node.getInfo().getLegalIdentities().get(0);
    }
}
