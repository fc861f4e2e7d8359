package org.cordalab.bridge.stub;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import net.corda.core.crypto.Crypto;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.FlowException;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.identity.Party;
import org.cordalab.bridge.config.ConfigException;
import org.cordalab.bridge.flow.FlowCall;
import org.cordalab.bridge.flow.PartyDirectory;
import org.cordalab.bridge.metrics.MetricsPage;
import org.cordalab.bridge.node.NodeGateway;
import org.cordalab.bridge.node.RecordedTransaction;

/**
 * Nodes that are no Corda nodes: their flows only take time, as a plan says, and what truly happened is known.
 *
 * <p>The pipeline from the generator to the report is tested against them. A flow that succeeds records one state, with
 * a transaction id of its own, at its node and at the party among its arguments. Flows end within a fraction of a
 * millisecond after they are due, and the log has the time at which they did.
 */
public final class StubNetwork implements AutoCloseable {

    static final Party NOTARY = party(CordaX500Name.parse("O=Notary,L=London,C=GB"));

    /** What a flow of two parties has. */
    private static final int SIGNATURES = 2;

    /** The bridge's summary of it takes about 10 MiB, the list itself nothing. */
    private static final List<Object> LONG_RESULT = Collections.nCopies(40_000, new Object() {
        @Override
        public String toString() {
            return "x".repeat(200);
        }
    });

    private final StubPlan plan;
    private final List<StubNode> nodes;
    private final StubSchedule schedule;
    private final List<StubFlow> flows = new ArrayList<>();
    private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(
            1,
            Thread.ofPlatform()
                    .daemon()
                    .name("stub-timer")
                    .priority(Thread.MAX_PRIORITY)
                    .factory());

    StubNetwork(StubPlan plan) {
        this.plan = plan;
        this.schedule = new StubSchedule(plan);
        List<Party> parties =
                plan.nodes().stream().map(node -> party(node.x500Name())).toList();
        var directory = new PartyDirectory();
        directory.replaceAll(parties);
        directory.add(List.of(NOTARY));
        this.nodes = plan.nodes().stream()
                .map(node -> new StubNode(node, plan, directory, this))
                .toList();
    }

    /**
     * Creates the nodes of a plan.
     *
     * @param cordapps the class loader of the flow and the state
     * @throws ConfigException naming every mistake in the plan
     */
    public static StubNetwork of(Path plan, ClassLoader cordapps) {
        return new StubNetwork(StubPlan.read(plan, cordapps));
    }

    /** Returns the nodes in the order of the plan. */
    public List<NodeGateway> gateways() {
        return List.copyOf(nodes);
    }

    /** Returns what truly happened to each flow until now, in the order of the starts. */
    public List<ObjectNode> log() {
        List<StubFlow> started;
        synchronized (flows) {
            started = List.copyOf(flows);
        }
        return started.stream().map(StubFlow::json).toList();
    }

    /**
     * Returns the metrics page of one node.
     *
     * @param accept the request's Accept header, or null
     */
    public MetricsPage metrics(String node, String accept) {
        return nodes.stream()
                .filter(each -> each.name().equals(node))
                .findFirst()
                .orElseThrow()
                .metrics()
                .page(accept);
    }

    @Override
    public void close() {
        timer.shutdownNow();
    }

    StubFlow start(StubNode node, String clientId, FlowCall call) {
        StubFlow flow;
        long due;
        synchronized (flows) {
            StubFlow.Moment now = StubFlow.Moment.now();
            StubSchedule.Slot slot = schedule.start(now.nanos());
            due = slot.due();
            flow = new StubFlow(node.name(), clientId, slot.index(), now, due);
            flows.add(flow);
        }
        Optional<StubNode> counterparty = counterparty(call);
        timer.schedule(() -> end(flow, node, counterparty), due - System.nanoTime(), TimeUnit.NANOSECONDS);
        return flow;
    }

    /** Returns the node of the party among the arguments. */
    private Optional<StubNode> counterparty(FlowCall call) {
        return call.arguments().stream()
                .filter(Party.class::isInstance)
                .map(Party.class::cast)
                .flatMap(party -> nodes.stream().filter(node -> node.x500Name().equals(party.getName())))
                .findFirst();
    }

    private void end(StubFlow flow, StubNode node, Optional<StubNode> counterparty) {
        StubFlow.Moment now = StubFlow.Moment.now();
        Optional<Exception> error = error(flow.index());
        // As on a real node, a flow's result is sent after everything else.
        if (error.isPresent()) {
            node.countFailure();
            flow.fail(now, error.get());
        } else {
            SecureHash transactionId = SecureHash.randomSHA256();
            node.vault().record(transactionId, now.wall());
            counterparty.ifPresent(other -> other.vault().record(transactionId, now.wall()));
            node.countSuccess();
            Object result = plan.longResults().get(flow.index())
                    ? LONG_RESULT
                    : new RecordedTransaction(transactionId, SIGNATURES);
            flow.succeed(now, transactionId.toString(), result);
        }
    }

    private Optional<Exception> error(int index) {
        if (index >= plan.delayNanos().length) {
            return Optional.of(new FlowException(
                    "The plan has %d delays, but this is flow %d.".formatted(plan.delayNanos().length, index)));
        }
        return plan.failures().get(index)
                ? Optional.of(new FlowException("Flow %d fails, as planned.".formatted(index)))
                : Optional.empty();
    }

    private static Party party(CordaX500Name name) {
        return new Party(name, Crypto.generateKeyPair().getPublic());
    }
}
