package org.cordalab.bridge.stub;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import net.corda.core.contracts.ContractState;
import net.corda.core.contracts.StateRef;
import net.corda.core.crypto.SecureHash;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.node.services.Vault.StateStatus;
import org.cordalab.bridge.flow.FlowCall;
import org.cordalab.bridge.flow.FlowCatalog;
import org.cordalab.bridge.flow.PartyDirectory;
import org.cordalab.bridge.node.NodeGateway;
import org.cordalab.bridge.node.NodeProfile;
import org.cordalab.bridge.node.NodeSession;
import org.cordalab.bridge.node.StartedFlow;
import org.cordalab.bridge.node.VaultChange;
import org.cordalab.bridge.node.VaultState;
import org.cordalab.bridge.node.VaultTransactions;

/** A node of a {@link StubNetwork}. It is its own session, because its connection never breaks. */
final class StubNode implements NodeGateway, NodeSession {

    /** Corda 4.10. */
    private static final int PLATFORM_VERSION = 12;

    private final StubPlan.Node node;
    private final StubPlan plan;
    private final PartyDirectory parties;
    private final StubNetwork network;
    private final NodeProfile profile;
    private final StubVault vault = new StubVault();
    private final StubMetrics metrics;
    private final LongAdder started = new LongAdder();
    private final LongAdder succeeded = new LongAdder();
    private final LongAdder failed = new LongAdder();
    /** Until the client id is removed, as on a real node. */
    private final Map<String, StubFlow> byClientId = new ConcurrentHashMap<>();

    private volatile boolean closed;

    StubNode(StubPlan.Node node, StubPlan plan, PartyDirectory parties, StubNetwork network) {
        this.node = node;
        this.plan = plan;
        this.parties = parties;
        this.network = network;
        this.metrics = new StubMetrics(plan.flow().getName(), started::sum, succeeded::sum, failed::sum);
        this.profile = new NodeProfile(
                node.x500Name(),
                PLATFORM_VERSION,
                true,
                Set.of(StubNetwork.NOTARY.getName()),
                Set.of(StubNetwork.NOTARY.getName()),
                List.of(new NodeProfile.Cordapp("stub", "1", "no CorDapp")),
                new FlowCatalog(List.of(plan.flow().getName()), plan.flow().getClassLoader()));
    }

    CordaX500Name x500Name() {
        return node.x500Name();
    }

    StubVault vault() {
        return vault;
    }

    StubMetrics metrics() {
        return metrics;
    }

    void countSuccess() {
        succeeded.increment();
    }

    void countFailure() {
        failed.increment();
    }

    @Override
    public String name() {
        return node.name();
    }

    @Override
    public boolean ready() {
        return !closed;
    }

    @Override
    public Optional<NodeProfile> profile() {
        return Optional.of(profile);
    }

    /** Returns 0: there is nothing to connect to. */
    @Override
    public int rpcConnections() {
        return 0;
    }

    @Override
    public PartyDirectory parties() {
        return parties;
    }

    @Override
    public Optional<NodeSession> session() {
        return closed ? Optional.empty() : Optional.of(this);
    }

    @Override
    public Optional<NodeSession> awaitSession() {
        return session();
    }

    @Override
    public void close() {
        closed = true;
    }

    @Override
    public boolean supportsClientIds() {
        return true;
    }

    @Override
    public StartedFlow start(String clientId, FlowCall call) {
        return attached(byClientId.computeIfAbsent(clientId, id -> {
            started.increment();
            return network.start(this, id, call);
        }));
    }

    @Override
    public StartedFlow startWithoutClientId(FlowCall call) {
        return start(UUID.randomUUID().toString(), call);
    }

    @Override
    public Optional<StartedFlow> reattach(String clientId) {
        return Optional.ofNullable(byClientId.get(clientId)).map(StubNode::attached);
    }

    private static StartedFlow attached(StubFlow flow) {
        return new StartedFlow(flow.flowId(), flow.result().copy());
    }

    @Override
    public void removeClientId(String clientId) {
        byClientId.computeIfPresent(clientId, (id, flow) -> flow.hasEnded() ? null : flow);
    }

    @Override
    public Set<String> endedClientIds() {
        return byClientId.entrySet().stream()
                .filter(entry -> entry.getValue().hasEnded())
                .map(Map.Entry::getKey)
                .collect(Collectors.toSet());
    }

    @Override
    public long count(Class<? extends ContractState> stateType, StateStatus status) {
        return status == StateStatus.CONSUMED || !stateType.isAssignableFrom(plan.stateType()) ? 0 : vault.size();
    }

    @Override
    public VaultTransactions transactions(
            Class<? extends ContractState> stateType, Instant since, int page, int pageSize) {
        return stateType.isAssignableFrom(plan.stateType())
                ? vault.transactions(since, page, pageSize)
                : new VaultTransactions(List.of(), 0);
    }

    @Override
    public List<VaultChange> changes(Instant since) {
        long recorded = vault.transactions(since, 1, Integer.MAX_VALUE).states();
        return recorded == 0
                ? List.of()
                : List.of(new VaultChange(plan.stateType().getName(), recorded, 0));
    }

    /** Returns nothing: a stub's states are counted, but have no content. */
    @Override
    public Optional<VaultState> state(StateRef ref) {
        return Optional.empty();
    }

    @Override
    public Optional<SecureHash> upload(byte[] content, String fileName) {
        throw new UnsupportedOperationException("stub nodes keep no attachments");
    }

    @Override
    public boolean hasAttachment(SecureHash id) {
        return false;
    }

    /** Does nothing, because there is no connection. */
    @Override
    public void discard(Throwable cause) {}
}
