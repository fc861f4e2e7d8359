package org.cordalab.bridge.http;

import io.helidon.common.buffers.BufferData;
import io.helidon.common.buffers.DataReader;
import io.helidon.common.buffers.DataWriter;
import io.helidon.common.concurrency.limits.Limit;
import io.helidon.common.socket.HelidonSocket;
import io.helidon.common.socket.PeerInfo;
import io.helidon.webserver.ConnectionContext;
import io.helidon.webserver.ListenerContext;
import io.helidon.webserver.ProxyProtocolData;
import io.helidon.webserver.Router;
import io.helidon.webserver.http1.Http1Config;
import io.helidon.webserver.http1.Http1ConnectionSelector;
import io.helidon.webserver.spi.ServerConnection;
import io.helidon.webserver.spi.ServerConnectionSelector;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import org.cordalab.bridge.config.HttpLimits;

/**
 * All connections of clients: limits their number, and closes those of clients that are too slow.
 *
 * <p>It puts a {@link ClientConnection} around each of Helidon's own connections. Helidon stops to accept connections at
 * its limit, so that clients wait without an answer. Here, some more are accepted, and told so.
 */
final class ClientConnections implements ServerConnectionSelector, AutoCloseable {

    /** Connections beyond the limit, which may only ask for the health. */
    static final int SPARE = 64;

    private static final Duration CHECK_INTERVAL = Duration.ofMillis(250);

    private final ThreadLocal<ClientConnection> current = new ThreadLocal<>();
    private final Set<ClientConnection> open = ConcurrentHashMap.newKeySet();
    private final AtomicInteger count = new AtomicInteger();
    private final HttpLimits limits;
    private final int max;
    private final ServerConnectionSelector http;
    private final Thread watchdog =
            Thread.ofPlatform().daemon().name("connection-deadlines").unstarted(this::watch);

    /**
     * @param max number of connections that may ask for anything
     */
    ClientConnections(HttpLimits limits, int max, Http1Config config) {
        this.limits = limits;
        this.max = max;
        this.http = Http1ConnectionSelector.builder().config(config).build();
        watchdog.start();
    }

    /** Returns the connection of the request that this thread answers. */
    ClientConnection current() {
        return current.get();
    }

    /** Returns the number of connections. */
    int count() {
        return count.get();
    }

    @Override
    public void close() {
        watchdog.interrupt();
    }

    private void watch() {
        try {
            while (true) {
                Thread.sleep(CHECK_INTERVAL);
                long now = System.nanoTime();
                open.forEach(connection -> connection.closeIfLate(now));
            }
        } catch (InterruptedException e) {
            // Closed.
        }
    }

    @Override
    public int bytesToIdentifyConnection() {
        return http.bytesToIdentifyConnection();
    }

    @Override
    public Support supports(BufferData data) {
        return http.supports(data);
    }

    @Override
    public Set<String> supportedApplicationProtocols() {
        return http.supportedApplicationProtocols();
    }

    @Override
    public ServerConnection connection(ConnectionContext context) {
        var client = new ClientConnection(context, limits, count.get() >= max);
        return new Counted(client, http.connection(new Context(context, client.reader())));
    }

    /** Counts a connection while Helidon serves it. */
    private final class Counted implements ServerConnection {
        private final ClientConnection client;
        private final ServerConnection connection;

        Counted(ClientConnection client, ServerConnection connection) {
            this.client = client;
            this.connection = connection;
        }

        @Override
        public void handle(Limit limit) throws InterruptedException {
            count.incrementAndGet();
            client.begin();
            open.add(client);
            current.set(client);
            try {
                connection.handle(limit);
            } finally {
                current.remove();
                open.remove(client);
                count.decrementAndGet();
            }
        }

        @Override
        public Duration idleTime() {
            return connection.idleTime();
        }

        @Override
        public void close(boolean interrupt) {
            connection.close(interrupt);
        }
    }

    /** Helidon's own context, with another reader. */
    private record Context(ConnectionContext helidon, DataReader dataReader) implements ConnectionContext {

        @Override
        public ListenerContext listenerContext() {
            return helidon.listenerContext();
        }

        @Override
        public ExecutorService executor() {
            return helidon.executor();
        }

        @Override
        public DataWriter dataWriter() {
            return helidon.dataWriter();
        }

        @Override
        public Router router() {
            return helidon.router();
        }

        @Override
        public Optional<ProxyProtocolData> proxyProtocolData() {
            return helidon.proxyProtocolData();
        }

        @Override
        public HelidonSocket serverSocket() {
            return helidon.serverSocket();
        }

        @Override
        public PeerInfo remotePeer() {
            return helidon.remotePeer();
        }

        @Override
        public PeerInfo localPeer() {
            return helidon.localPeer();
        }

        @Override
        public boolean isSecure() {
            return helidon.isSecure();
        }

        @Override
        public String socketId() {
            return helidon.socketId();
        }

        @Override
        public String childSocketId() {
            return helidon.childSocketId();
        }
    }
}
