package org.cordalab.bridge.node;

import java.io.ByteArrayInputStream;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import net.corda.client.rpc.RPCException;
import net.corda.core.contracts.ContractState;
import net.corda.core.contracts.StateRef;
import net.corda.core.crypto.SecureHash;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.identity.Party;
import net.corda.core.messaging.CordaRPCOps;
import net.corda.core.messaging.FlowHandle;
import net.corda.core.node.NodeInfo;
import net.corda.core.node.services.NetworkMapCache.MapChange;
import net.corda.core.node.services.Vault;
import net.corda.core.node.services.Vault.StateStatus;
import net.corda.core.node.services.vault.BinaryComparisonOperator;
import net.corda.core.node.services.vault.ColumnPredicate;
import net.corda.core.node.services.vault.PageSpecification;
import net.corda.core.node.services.vault.QueryCriteria.TimeCondition;
import net.corda.core.node.services.vault.QueryCriteria.TimeInstantType;
import net.corda.core.node.services.vault.QueryCriteria.VaultQueryCriteria;
import net.corda.core.node.services.vault.Sort;
import net.corda.core.node.services.vault.Sort.CommonStateAttribute;
import net.corda.core.node.services.vault.SortAttribute;
import org.apache.activemq.artemis.api.core.ActiveMQException;
import org.cordalab.bridge.flow.FlowCall;
import org.cordalab.bridge.flow.FlowCatalog;
import org.cordalab.bridge.flow.PartyDirectory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A session over Corda RPC. */
final class RpcSession implements NodeSession {

    /** Platform version of Corda 4.6, which introduced client ids. */
    private static final int CLIENT_ID_PLATFORM_VERSION = 8;

    /**
     * Platform version of Corda 4.0, 4.1 and 4.2. A node of 4.0 refuses every query that compares (CORDA-2782): "Class
     * java.lang.Comparable is not on the whitelist".
     */
    private static final int UNCOMPARING_PLATFORM_VERSION = 4;

    private static final String ATTACHMENT_UPLOADER = "corda-lab";

    private static final Logger LOG = LoggerFactory.getLogger(RpcSession.class);

    /**
     * Messages of the client library itself about a broken connection. Its versions differ in the exception class, not
     * in the message.
     */
    private static final Set<String> CONNECTION_FAILURES =
            Set.of("Connection failure detected.", "RPC server is not available.", "RPC Proxy is closed");

    private final String node;
    private final RpcClient client;
    private final RpcConnections connections;
    /** For everything that is rare. Calls of flows take turns over all connections. */
    private final CordaRPCOps ops;

    private final FlowStarts starts;

    private final CountDownLatch broken = new CountDownLatch(1);
    /** When the node was last heard from, by {@link System#nanoTime()}. */
    private volatile long silentSince = System.nanoTime();
    /** Pending results. The client library does not promise to complete all of them when a connection is closed. */
    private final Set<CompletableFuture<Object>> results = ConcurrentHashMap.newKeySet();

    private final Callers callers = new Callers();

    RpcSession(String node, RpcClient client, RpcConnections connections, FlowStarts starts) {
        this.node = node;
        this.client = client;
        this.connections = connections;
        this.ops = connections.first();
        this.starts = starts;
    }

    /** Returns the number of connections that all requests share. */
    int connections() {
        return connections.count();
    }

    /** Asks the node about itself. */
    NodeProfile profile(ClassLoader cordapps) {
        return call(() -> {
            Set<CordaX500Name> notaries =
                    ops.notaryIdentities().stream().map(Party::getName).collect(Collectors.toSet());
            return new NodeProfile(
                    ops.nodeInfo().getLegalIdentities().getFirst().getName(),
                    connections.platformVersion(),
                    supportsClientIds(),
                    notaries,
                    notaryNodes(notaries),
                    cordapps(),
                    new FlowCatalog(ops.registeredFlows(), cordapps));
        });
    }

    private Set<CordaX500Name> notaryNodes(Set<CordaX500Name> notaries) {
        return ops.networkMapSnapshot().stream()
                .map(info ->
                        info.getLegalIdentities().stream().map(Party::getName).collect(Collectors.toSet()))
                .filter(names -> names.stream().anyMatch(notaries::contains))
                .flatMap(Set::stream)
                .collect(Collectors.toSet());
    }

    private List<NodeProfile.Cordapp> cordapps() {
        try {
            return client.cordapps(ops);
        } catch (RuntimeException e) {
            if (isConnectionFailure(e)) {
                throw e;
            }
            // Corda before 4.4 does not have this call.
            LOG.debug("{}: diagnostic info is not available", node, e);
            return List.of();
        }
    }

    /**
     * Fills the directory and keeps it up to date. The end of the feed is also the first sign of a broken connection.
     */
    void follow(PartyDirectory parties) {
        var feed = call(ops::networkMapFeed);
        parties.replaceAll(partiesOf(feed.getSnapshot()));
        feed.getUpdates().subscribe(change -> apply(change, parties), this::discard);
    }

    private static void apply(MapChange change, PartyDirectory parties) {
        List<Party> current = partiesOf(List.of(change.getNode()));
        switch (change) {
            case MapChange.Added added -> parties.add(current);
            case MapChange.Removed removed -> parties.remove(current);
            case MapChange.Modified modified -> {
                parties.remove(partiesOf(List.of(modified.getPreviousNode())));
                parties.add(current);
            }
            default -> LOG.warn("Unknown network map change: {}", change);
        }
    }

    private static List<Party> partiesOf(List<NodeInfo> nodes) {
        return nodes.stream()
                .flatMap(info -> info.getLegalIdentities().stream())
                .toList();
    }

    /**
     * Returns whether the node answers its cheapest RPC within the limit. The call waits for an RPC thread of the node
     * like any other, so behind the flow starts that came before it.
     */
    boolean answersWithin(Duration limit) throws InterruptedException {
        var answer = new CompletableFuture<Object>();
        Thread.ofVirtual().start(() -> {
            try {
                answer.complete(call(() -> connections.next().currentNodeTime()));
            } catch (RuntimeException e) {
                answer.completeExceptionally(e);
            }
        });
        try {
            answer.get(limit.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (ExecutionException | TimeoutException e) {
            return false;
        }
    }

    /** Returns for how long the node has answered no call and ended no flow. */
    Duration silence() {
        return Duration.ofNanos(System.nanoTime() - silentSince);
    }

    /** Forgets the silence up to now. */
    void countSilenceFromNow() {
        silentSince = System.nanoTime();
    }

    @Override
    public boolean supportsClientIds() {
        return connections.platformVersion() >= CLIENT_ID_PLATFORM_VERSION;
    }

    @Override
    public StartedFlow start(String clientId, FlowCall call) {
        if (!supportsClientIds()) {
            return startWithoutClientId(call);
        }
        return started(call(() -> starts.<FlowHandle<?>>start(ops -> client.start(ops, clientId, call))));
    }

    @Override
    public StartedFlow startWithoutClientId(FlowCall call) {
        return started(call(() ->
                starts.<FlowHandle<?>>start(ops -> ops.startFlowDynamic(call.flowClass(), call.argumentArray()))));
    }

    @Override
    public Optional<StartedFlow> reattach(String clientId) {
        if (!supportsClientIds()) {
            return Optional.empty();
        }
        FlowHandle<?> handle = call(() -> client.reattach(connections.next(), clientId));
        return Optional.ofNullable(handle).map(this::started);
    }

    private StartedFlow started(FlowHandle<?> handle) {
        var result = new CompletableFuture<Object>();
        results.add(result);
        result.whenComplete((value, error) -> {
            results.remove(result);
            if (result.isCancelled()) {
                handle.close();
            }
        });
        handle.getReturnValue().toCompletableFuture().whenComplete((value, error) -> {
            if (error == null) {
                countSilenceFromNow();
                result.complete(value);
            } else if (isConnectionFailure(error)) {
                discard(error);
                result.completeExceptionally(unavailable(error));
            } else {
                countSilenceFromNow();
                result.completeExceptionally(error);
            }
        });
        if (isBroken()) {
            result.completeExceptionally(unavailable(null));
        }
        return new StartedFlow(handle.getId().getUuid().toString(), result);
    }

    @Override
    public void removeClientId(String clientId) {
        if (supportsClientIds()) {
            call(() -> client.removeClientId(connections.next(), clientId));
        }
    }

    @Override
    public Set<String> endedClientIds() {
        return supportsClientIds() ? new HashSet<>(call(() -> client.endedClientIds(ops))) : Set.of();
    }

    @Override
    public long count(Class<? extends ContractState> stateType, StateStatus status) {
        // The vault counts only if a page is requested. The smallest page is enough.
        var onePage = new PageSpecification(1, 1);
        // Not Set.of(), because a Corda 3 node knows only the empty sets of Java 8.
        var unsorted = new Sort(Collections.emptySet());
        return call(() -> ops.vaultQueryBy(new VaultQueryCriteria(status), onePage, unsorted, stateType)
                .getTotalStatesAvailable());
    }

    @Override
    public VaultTransactions transactions(
            Class<? extends ContractState> stateType, Instant since, int page, int pageSize) {
        return VaultTransactions.read(
                inOrder(since(StateStatus.ALL, TimeInstantType.RECORDED, since), stateType), since, page, pageSize);
    }

    @Override
    public List<VaultChange> changes(Instant since) {
        return VaultChange.read(
                inOrder(since(StateStatus.ALL, TimeInstantType.RECORDED, since), ContractState.class),
                inOrder(since(StateStatus.CONSUMED, TimeInstantType.CONSUMED, since), ContractState.class),
                since);
    }

    @Override
    public Optional<VaultState> state(StateRef ref) {
        var criteria = new VaultQueryCriteria(StateStatus.ALL, null, new ArrayList<>(List.of(ref)), null, null, null);
        var onePage = new PageSpecification(1, 1);
        var unsorted = new Sort(Collections.emptySet());
        Vault.Page<ContractState> found =
                call(() -> connections.next().vaultQueryBy(criteria, onePage, unsorted, ContractState.class));
        if (found.getStates().isEmpty()) {
            return Optional.empty();
        }
        boolean isConsumed = found.getStatesMetadata().getFirst().getStatus() == StateStatus.CONSUMED;
        return Optional.of(new VaultState(found.getStates().getFirst(), isConsumed));
    }

    /** Returns the states since a time; all, if the node cannot compare. */
    private VaultQueryCriteria since(StateStatus status, TimeInstantType instant, Instant since) {
        TimeCondition condition = connections.platformVersion() == UNCOMPARING_PLATFORM_VERSION
                ? null
                : new TimeCondition(
                        instant,
                        new ColumnPredicate.BinaryComparison<>(BinaryComparisonOperator.GREATER_THAN_OR_EQUAL, since));
        return new VaultQueryCriteria(status, null, null, null, null, condition);
    }

    /** Returns a query whose states are in the order of their references. */
    private VaultTransactions.Query inOrder(VaultQueryCriteria criteria, Class<? extends ContractState> stateType) {
        var inOrder = new Sort(new ArrayList<>(
                List.of(column(CommonStateAttribute.STATE_REF_TXN_ID), column(CommonStateAttribute.STATE_REF_INDEX))));
        return (number, size) ->
                call(() -> ops.vaultQueryBy(criteria, new PageSpecification(number, size), inOrder, stateType));
    }

    private static Sort.SortColumn column(CommonStateAttribute attribute) {
        return new Sort.SortColumn(new SortAttribute.Standard(attribute), Sort.Direction.ASC);
    }

    @Override
    public Optional<SecureHash> upload(byte[] content, String fileName) {
        try {
            return Optional.of(call(() -> uploadNow(content, fileName)));
        } catch (NodeUnavailableException e) {
            throw e;
        } catch (RuntimeException e) {
            // How a node reports that it already has the attachment depends on its version and mode.
            if (hasAttachment(SecureHash.sha256(content))) {
                return Optional.empty();
            }
            throw e;
        }
    }

    private SecureHash uploadNow(byte[] content, String fileName) {
        try {
            return uploadOrRefuse(content, fileName);
        } catch (FileAlreadyExistsException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Declares an exception that Corda 3 also throws, but does not declare. */
    private SecureHash uploadOrRefuse(byte[] content, String fileName) throws FileAlreadyExistsException {
        return ops.uploadAttachmentWithMetadata(new ByteArrayInputStream(content), ATTACHMENT_UPLOADER, fileName);
    }

    @Override
    public boolean hasAttachment(SecureHash id) {
        return call(() -> ops.attachmentExists(id));
    }

    @Override
    public void discard(Throwable cause) {
        if (isBroken()) {
            return;
        }
        LOG.debug("{}: discarding the connection", node, cause);
        broken.countDown();
        List.copyOf(results).forEach(result -> result.completeExceptionally(unavailable(cause)));
    }

    boolean isBroken() {
        return broken.getCount() == 0;
    }

    boolean awaitBroken(Duration limit) throws InterruptedException {
        return broken.await(limit.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Releases the threads and sockets without waiting for the node. */
    void close() {
        discard(null);
        connections.close();
        callers.interruptAll();
    }

    private <T> T call(Supplier<T> rpc) {
        callers.enter();
        try {
            T answer = rpc.get();
            countSilenceFromNow();
            return answer;
        } catch (RuntimeException e) {
            if (isBroken() || isConnectionFailure(e)) {
                discard(e);
                throw unavailable(e);
            }
            throw e;
        } finally {
            callers.leave();
        }
    }

    private NodeUnavailableException unavailable(Throwable cause) {
        return new NodeUnavailableException("The connection to " + node + " broke", cause);
    }

    /**
     * Returns whether the client library itself raised the error. An {@link RPCException} may also be the node's
     * answer.
     */
    static boolean isConnectionFailure(Throwable error) {
        return error instanceof RPCException
                && (error.getCause() instanceof ActiveMQException
                        || error.getMessage() != null && CONNECTION_FAILURES.contains(error.getMessage()));
    }

    /**
     * The threads inside an RPC. When a connection is closed, the client library forgets threads whose request it has
     * not sent yet. Without an interrupt, they would wait forever.
     */
    private static final class Callers {
        private final ReentrantLock lock = new ReentrantLock();
        private final Set<Thread> inside = new HashSet<>();
        private boolean closed;

        void enter() {
            lock.lock();
            try {
                if (closed) {
                    throw new NodeUnavailableException("The connection is closed");
                }
                inside.add(Thread.currentThread());
            } finally {
                lock.unlock();
            }
        }

        /** Removes the current thread. From then on, it is not interrupted, and an earlier interrupt is cleared. */
        void leave() {
            lock.lock();
            try {
                inside.remove(Thread.currentThread());
                if (closed) {
                    Thread.interrupted();
                }
            } finally {
                lock.unlock();
            }
        }

        void interruptAll() {
            lock.lock();
            try {
                closed = true;
                inside.forEach(Thread::interrupt);
            } finally {
                lock.unlock();
            }
        }
    }
}
