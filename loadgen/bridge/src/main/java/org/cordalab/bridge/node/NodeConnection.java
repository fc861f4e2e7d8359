package org.cordalab.bridge.node;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.cordalab.bridge.config.NodeAddress;
import org.cordalab.bridge.flow.PartyDirectory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection to one node, shared by all requests and replaced in the background whenever it breaks.
 *
 * <p>One platform thread per node connects, probes and reconnects. It is not a virtual thread, because the client
 * library blocks inside {@code synchronized} while it connects, which would hold a carrier.
 *
 * <p>The bridge may start long before the nodes. At first, it only checks whether the node's port accepts connections,
 * which costs almost nothing, and uses the client library once it does. A node accepts connections before it answers
 * RPCs, and the login waits for the answer.
 */
public final class NodeConnection implements NodeGateway {

    private static final Duration PORT_CHECK_INTERVAL = Duration.ofSeconds(1);
    private static final Duration PORT_CHECK_TIMEOUT = Duration.ofSeconds(5);
    /** Time after which an absent node is logged. Eleven nodes on two cores start in half of it. */
    private static final Duration PATIENCE = Duration.ofMinutes(7);

    private static final Duration FIRST_BACKOFF = Duration.ofMillis(500);
    private static final Duration MAX_BACKOFF = Duration.ofSeconds(5);
    /**
     * Time between two probes of a node that answers: about that of the container's health check. A node keeps all
     * requests until it has a megabyte of them. So with many probes, the heap of an idle node would seem to grow.
     */
    private static final Duration PROBE_INTERVAL = Duration.ofSeconds(20);
    /** The same of a node that does not answer. */
    private static final Duration SILENT_PROBE_INTERVAL = Duration.ofSeconds(2);

    private static final Duration PROBE_TIMEOUT = Duration.ofSeconds(5);
    /**
     * Time after which a node that says nothing at all gets a new connection. A node under load may be silent for
     * seconds. One with far more flow starts than it can make lets a probe wait for minutes, but goes on to answer the
     * starts and to end flows, so it is not silent.
     */
    private static final Duration SILENCE_LIMIT = Duration.ofSeconds(60);

    private static final Logger LOG = LoggerFactory.getLogger(NodeConnection.class);

    private final NodeAddress address;
    private final RpcConnector connector;
    private final PartyDirectory parties = new PartyDirectory();
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Thread supervisor;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private volatile RpcSession session;
    private volatile NodeProfile profile;
    private volatile boolean answering;

    public NodeConnection(NodeAddress address, RpcConnector connector) {
        this.address = address;
        this.connector = connector;
        this.supervisor = Thread.ofPlatform()
                .daemon()
                .name("node-connection-" + address.name())
                .unstarted(this::supervise);
    }

    /** Starts to connect in the background. */
    public NodeConnection start() {
        supervisor.start();
        return this;
    }

    @Override
    public String name() {
        return address.name();
    }

    @Override
    public boolean ready() {
        return answering && session().isPresent();
    }

    @Override
    public Optional<NodeProfile> profile() {
        return Optional.ofNullable(profile);
    }

    @Override
    public int rpcConnections() {
        RpcSession current = session;
        return (current == null ? 0 : current.connections()) + connector.leftOpen(address);
    }

    @Override
    public PartyDirectory parties() {
        return parties;
    }

    @Override
    public Optional<NodeSession> session() {
        RpcSession current = session;
        return current == null || current.isBroken() ? Optional.empty() : Optional.of(current);
    }

    @Override
    public Optional<NodeSession> awaitSession() throws InterruptedException {
        lock.lock();
        try {
            while (session().isEmpty() && !isClosed()) {
                changed.await();
            }
            return session();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        closed.countDown();
        supervisor.interrupt();
        publish(null);
    }

    private boolean isClosed() {
        return closed.getCount() == 0;
    }

    private void supervise() {
        Duration backoff = FIRST_BACKOFF;
        boolean reported = false;
        try {
            while (awaitListening()) {
                try (var current = new Attempt()) {
                    if (reported) {
                        LOG.warn("{}: reconnected", name());
                    }
                    backoff = FIRST_BACKOFF;
                    reported = false;
                    watch(current.session);
                    LOG.warn("{}: connection lost, reconnecting", name());
                    reported = true;
                } catch (InterruptedException e) {
                    throw e;
                } catch (Exception | LinkageError e) {
                    // The client library is written in Kotlin and throws checked exceptions that it does not declare.
                    if (!reported && !isClosed()) {
                        LOG.warn(
                                "{}: cannot connect to {}:{}, retrying: {}",
                                name(),
                                address.host(),
                                address.port(),
                                e.toString());
                    }
                    LOG.debug("{}: connection attempt failed", name(), e);
                    reported = true;
                }
                closed.await(backoff.toMillis(), TimeUnit.MILLISECONDS);
                backoff = min(backoff.multipliedBy(2), MAX_BACKOFF);
            }
        } catch (InterruptedException e) {
            // Closed.
        } finally {
            publish(null);
        }
    }

    /** Waits until the node accepts connections. Returns false if this connection was closed meanwhile. */
    private boolean awaitListening() throws InterruptedException {
        long since = System.nanoTime();
        boolean reported = false;
        while (!isClosed()) {
            if (isListening()) {
                return true;
            }
            if (!reported && System.nanoTime() - since > PATIENCE.toNanos()) {
                LOG.warn("{}: nothing is listening on {}:{}, still waiting", name(), address.host(), address.port());
                reported = true;
            }
            closed.await(PORT_CHECK_INTERVAL.toMillis(), TimeUnit.MILLISECONDS);
        }
        return false;
    }

    private boolean isListening() {
        try (var socket = new Socket()) {
            socket.connect(new InetSocketAddress(address.host(), address.port()), (int) PORT_CHECK_TIMEOUT.toMillis());
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** Probes the node regularly. Returns when the connection is broken. */
    private void watch(RpcSession current) throws InterruptedException {
        while (!current.awaitBroken(answering ? PROBE_INTERVAL : SILENT_PROBE_INTERVAL)) {
            if (answering) {
                // The time since the last probe says nothing: the node was not asked.
                current.countSilenceFromNow();
            }
            answering = current.answersWithin(PROBE_TIMEOUT);
            if (!answering && current.silence().compareTo(SILENCE_LIMIT) > 0) {
                current.discard(null);
            }
        }
    }

    private void publish(RpcSession next) {
        lock.lock();
        try {
            session = next;
            answering = next != null;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private static Duration min(Duration a, Duration b) {
        return a.compareTo(b) <= 0 ? a : b;
    }

    /** A connection from login until it is given up, published only after the node has answered about itself. */
    private final class Attempt implements AutoCloseable {
        private final RpcSession session;

        Attempt() {
            session = connector.connect(address);
            try {
                profile = session.profile(NodeConnection.class.getClassLoader());
                session.follow(parties);
            } catch (Throwable e) {
                // The client library also throws checked exceptions that it does not declare. Every attempt that failed
                // with one would leave a connection open.
                session.close();
                throw e;
            }
            publish(session);
        }

        @Override
        public void close() {
            publish(null);
            session.close();
        }
    }
}
