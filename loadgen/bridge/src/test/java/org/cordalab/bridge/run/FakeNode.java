package org.cordalab.bridge.run;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import net.corda.core.contracts.ContractState;
import net.corda.core.contracts.StateRef;
import net.corda.core.crypto.SecureHash;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.node.services.Vault.StateStatus;
import org.cordalab.bridge.flow.FlowCall;
import org.cordalab.bridge.flow.FlowCatalog;
import org.cordalab.bridge.flow.PartyDirectory;
import org.cordalab.bridge.flow.SampleFlows;
import org.cordalab.bridge.flow.TestParties;
import org.cordalab.bridge.node.NodeGateway;
import org.cordalab.bridge.node.NodeProfile;
import org.cordalab.bridge.node.NodeSession;
import org.cordalab.bridge.node.NodeUnavailableException;
import org.cordalab.bridge.node.StartedFlow;
import org.cordalab.bridge.node.VaultChange;
import org.cordalab.bridge.node.VaultState;
import org.cordalab.bridge.node.VaultTransactions;

/**
 * Stands in for a real node. Keeps flows by client id as Corda does, and ends flows and breaks its connection on
 * request of the test.
 */
public final class FakeNode implements NodeGateway {

    private final CordaX500Name name = CordaX500Name.parse("O=PartyA,L=London,C=GB");
    private final PartyDirectory parties = TestParties.directory();
    private final Map<String, Flow> flows = new ConcurrentHashMap<>();
    private final List<String> startedIds = new ArrayList<>();
    private final BlockingQueue<String> removed = new LinkedBlockingQueue<>();
    private final Set<SecureHash> attachments = ConcurrentHashMap.newKeySet();
    private final Map<SecureHash, Instant> recorded = Collections.synchronizedMap(new LinkedHashMap<>());
    private final Map<StateRef, VaultState> states = new ConcurrentHashMap<>();
    private volatile boolean supportsClientIds = true;
    private volatile BiFunction<String, FlowCall, RuntimeException> onStart = (id, call) -> null;
    private final CountDownLatch answering = new CountDownLatch(1);
    private final List<CompletableFuture<Object>> attached = Collections.synchronizedList(new ArrayList<>());
    private volatile boolean silent;
    private Session session;
    private boolean closed;

    /** A flow on the node. Its result outlives connections. */
    private record Flow(String flowId, CompletableFuture<Object> result) {}

    public FakeNode connect() {
        replaceSession(new Session());
        return this;
    }

    /** Breaks the connection. Flows continue. */
    public void disconnect() {
        Session broken = replaceSession(null);
        if (broken != null) {
            broken.discard(null);
        }
    }

    public FakeNode withoutClientIds() {
        supportsClientIds = false;
        return this;
    }

    /** Adds ended flows that an earlier bridge left on the node. */
    public FakeNode withEndedFlows(String... clientIds) {
        for (String clientId : clientIds) {
            flows.put(clientId, new Flow(UUID.randomUUID().toString(), CompletableFuture.completedFuture(clientId)));
        }
        return this;
    }

    /** Returns the client ids of all flows that the node knows. */
    public Set<String> knownIds() {
        return Set.copyOf(flows.keySet());
    }

    /** Returns the number of callers that still wait for the outcome of a flow. */
    public long subscriptions() {
        return attached.stream().filter(result -> !result.isDone()).count();
    }

    /** Sets which exception further start RPCs throw before the node sees them. Null lets them through. */
    public void onStart(BiFunction<String, FlowCall, RuntimeException> behaviour) {
        onStart = behaviour;
    }

    /** From now on, answers no call but flow starts, until {@link #speak}. */
    public void fallSilent() {
        silent = true;
    }

    /** Answers all calls. */
    public void speak() {
        silent = false;
        answering.countDown();
    }

    /** Adds a transaction to the vault. */
    public void recorded(SecureHash transactionId, Instant at) {
        recorded.put(transactionId, at);
    }

    /** Adds a state to the vault. */
    public void keeps(VaultState state) {
        states.put(state.state().getRef(), state);
    }

    public void complete(String clientId, Object value) {
        flows.get(clientId).result().complete(value);
    }

    public void fail(String clientId, Throwable error) {
        flows.get(clientId).result().completeExceptionally(error);
    }

    /** Forgets a flow, like a node whose database was lost. */
    public void forget(String clientId) {
        flows.remove(clientId);
    }

    /** Waits until the node has the flow, which the bridge starts on its own thread. */
    public synchronized void awaitStarted(String clientId) throws InterruptedException {
        while (!startedIds.contains(clientId)) {
            wait();
        }
    }

    /** Returns the client ids of flows that were actually started, once per start. */
    public synchronized List<String> startedIds() {
        return List.copyOf(startedIds);
    }

    /** Returns a queue of the removed client ids, in order, on which a test can wait for the next. */
    BlockingQueue<String> removed() {
        return removed;
    }

    @Override
    public String name() {
        return "PartyA";
    }

    @Override
    public boolean ready() {
        return session().isPresent();
    }

    @Override
    public Optional<NodeProfile> profile() {
        var catalog = new FlowCatalog(
                List.of(
                        SampleFlows.Iou.class.getName(),
                        SampleFlows.Empty.class.getName(),
                        SampleFlows.Insure.class.getName(),
                        SampleFlows.WithState.class.getName(),
                        "com.example.NotHere"),
                FakeNode.class.getClassLoader());
        return Optional.of(new NodeProfile(
                name,
                12,
                supportsClientIds,
                Set.of(TestParties.NOTARY.getName()),
                Set.of(TestParties.NOTARY.getName()),
                List.of(new NodeProfile.Cordapp("samples", "1", "Workflow CorDapp")),
                catalog));
    }

    @Override
    public int rpcConnections() {
        return session().isPresent() ? 1 : 0;
    }

    @Override
    public PartyDirectory parties() {
        return parties;
    }

    @Override
    public synchronized Optional<NodeSession> session() {
        return Optional.ofNullable(session);
    }

    @Override
    public synchronized Optional<NodeSession> awaitSession() throws InterruptedException {
        while (session == null && !closed) {
            wait();
        }
        return Optional.ofNullable(session);
    }

    @Override
    public synchronized void close() {
        closed = true;
        session = null;
        notifyAll();
    }

    private synchronized Session replaceSession(Session next) {
        Session previous = session;
        session = next;
        notifyAll();
        return previous;
    }

    private synchronized void remember(String clientId) {
        startedIds.add(clientId);
        notifyAll();
    }

    private final class Session implements NodeSession {
        private final CompletableFuture<Object> broken = new CompletableFuture<>();
        private final CountDownLatch discarded = new CountDownLatch(1);

        @Override
        public boolean supportsClientIds() {
            return supportsClientIds;
        }

        @Override
        public StartedFlow start(String clientId, FlowCall call) {
            RuntimeException error = onStart.apply(clientId, call);
            if (error != null) {
                throw error;
            }
            requireConnected();
            var flow = new Flow(UUID.randomUUID().toString(), new CompletableFuture<>());
            Flow before = flows.putIfAbsent(clientId, flow);
            if (before == null) {
                remember(clientId);
            }
            return attached(before == null ? flow : before);
        }

        private void awaitAnswer() {
            if (silent) {
                try {
                    answering.await();
                } catch (InterruptedException e) {
                    throw new NodeUnavailableException("interrupted", e);
                }
            }
        }

        private void requireConnected() {
            if (discarded.getCount() == 0) {
                throw new NodeUnavailableException("broken");
            }
        }

        @Override
        public StartedFlow startWithoutClientId(FlowCall call) {
            return start(UUID.randomUUID().toString(), call);
        }

        @Override
        public Optional<StartedFlow> reattach(String clientId) {
            awaitAnswer();
            requireConnected();
            return supportsClientIds ? Optional.ofNullable(flows.get(clientId)).map(this::attached) : Optional.empty();
        }

        private StartedFlow attached(Flow flow) {
            var result = new CompletableFuture<Object>();
            flow.result().whenComplete((value, error) -> {
                if (error == null) {
                    result.complete(value);
                } else {
                    result.completeExceptionally(error);
                }
            });
            broken.whenComplete((value, error) -> result.completeExceptionally(error));
            attached.add(result);
            return new StartedFlow(flow.flowId(), result);
        }

        @Override
        public void removeClientId(String clientId) {
            requireConnected();
            Flow flow = flows.get(clientId);
            if (supportsClientIds && flow != null && flow.result().isDone()) {
                flows.remove(clientId);
                removed.add(clientId);
            }
        }

        @Override
        public Set<String> endedClientIds() {
            requireConnected();
            return flows.entrySet().stream()
                    .filter(flow ->
                            supportsClientIds && flow.getValue().result().isDone())
                    .map(Map.Entry::getKey)
                    .collect(Collectors.toSet());
        }

        @Override
        public long count(Class<? extends ContractState> stateType, StateStatus status) {
            awaitAnswer();
            return status == StateStatus.UNCONSUMED ? 3 : 2;
        }

        /** Returns the transactions of {@link #recorded}, each with one state. */
        @Override
        public VaultTransactions transactions(
                Class<? extends ContractState> stateType, Instant since, int page, int pageSize) {
            awaitAnswer();
            requireConnected();
            List<SecureHash> ids = recorded.entrySet().stream()
                    .filter(entry -> !entry.getValue().isBefore(since))
                    .map(Map.Entry::getKey)
                    .toList();
            return new VaultTransactions(
                    ids.stream().skip((page - 1L) * pageSize).limit(pageSize).toList(), ids.size());
        }

        /** Returns the states of {@link #recorded}, all of one class and none consumed. */
        @Override
        public List<VaultChange> changes(Instant since) {
            awaitAnswer();
            requireConnected();
            long found =
                    recorded.values().stream().filter(at -> !at.isBefore(since)).count();
            return found == 0 ? List.of() : List.of(new VaultChange("com.example.State", found, 0));
        }

        @Override
        public Optional<VaultState> state(StateRef ref) {
            awaitAnswer();
            requireConnected();
            return Optional.ofNullable(states.get(ref));
        }

        @Override
        public Optional<SecureHash> upload(byte[] content, String fileName) {
            awaitAnswer();
            SecureHash id = SecureHash.sha256(content);
            return attachments.add(id) ? Optional.of(id) : Optional.empty();
        }

        @Override
        public boolean hasAttachment(SecureHash id) {
            awaitAnswer();
            return attachments.contains(id);
        }

        @Override
        public void discard(Throwable cause) {
            discarded.countDown();
            broken.completeExceptionally(new NodeUnavailableException("broken", cause));
            synchronized (FakeNode.this) {
                if (session == this) {
                    session = null;
                }
            }
        }
    }
}
