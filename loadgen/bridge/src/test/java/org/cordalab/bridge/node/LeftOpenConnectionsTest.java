package org.cordalab.bridge.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.activemq.artemis.api.core.ActiveMQNotConnectedException;
import org.cordalab.bridge.config.NodeAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class LeftOpenConnectionsTest {

    private static final int LIMIT = 3;

    private final LeftOpenConnections connections = new LeftOpenConnections(LIMIT);

    @Test
    void opensANewConnectionEachTimeAndCountsThemByNode() {
        var opened = new AtomicInteger();

        assertThat(connections.open("PartyA", opened::incrementAndGet)).isEqualTo(1);
        assertThat(connections.open("PartyA", opened::incrementAndGet)).isEqualTo(2);
        assertThat(connections.open("PartyB", opened::incrementAndGet)).isEqualTo(3);

        assertThat(connections.count("PartyA")).isEqualTo(2);
        assertThat(connections.count("PartyB")).isEqualTo(1);
        assertThat(connections.count("PartyC")).isZero();
    }

    @Test
    void refusesAtTheLimitWithoutConnecting() {
        for (int i = 0; i < LIMIT; i++) {
            connections.open("PartyA", Object::new);
        }

        var opened = new AtomicInteger();
        var refused = catchThrowableOfType(
                NoConnectionException.class, () -> connections.open("PartyB", opened::incrementAndGet));

        assertThat(refused)
                .hasMessage("3 RPC connections have been left open, which is the limit (BRIDGE_RPC_LEFT_OPEN_MAX)."
                        + " Restart the bridge to close them.");
        assertThat(opened).hasValue(0);
    }

    @Test
    void neverExceedsTheLimitHoweverManyConnectAtOnce() throws Exception {
        int callers = 20;
        var go = new CountDownLatch(1);
        List<Future<Object>> opening = new ArrayList<>();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Callable<Object> open = () -> {
                go.await();
                return connections.open("PartyA", Object::new);
            };
            for (int i = 0; i < callers; i++) {
                opening.add(threads.submit(open));
            }
            go.countDown();
        }

        int refused = 0;
        for (Future<Object> each : opening) {
            try {
                each.get();
            } catch (ExecutionException e) {
                assertThat(e.getCause()).isInstanceOf(NoConnectionException.class);
                refused++;
            }
        }
        assertThat(refused).isEqualTo(callers - LIMIT);
        assertThat(connections.count("PartyA")).isEqualTo(LIMIT);
    }

    @Test
    void doesNotCountWhatCouldNotBeOpened() {
        Callable<Object> refusing = () -> {
            throw new ActiveMQNotConnectedException("refused");
        };

        for (int i = 0; i <= LIMIT; i++) {
            var failed = catchThrowableOfType(NoConnectionException.class, () -> connections.open("PartyA", refusing));
            assertThat(failed).hasMessageStartingWith("No RPC connection to PartyA could be opened: ");
            assertThat(failed).hasCauseInstanceOf(ActiveMQNotConnectedException.class);
        }

        assertThat(connections.count("PartyA")).isZero();
    }

    @Test
    void anotherTakesThePlaceOfAConnectionThatIsForgotten() {
        List<Object> opened = new ArrayList<>();
        for (int i = 0; i < LIMIT; i++) {
            opened.add(connections.open("PartyA", Object::new));
        }

        for (int retry = 0; retry < 3 * LIMIT; retry++) {
            connections.forget("PartyA", opened.removeFirst());
            opened.add(connections.open("PartyA", Object::new));
        }
        connections.forget("PartyA", new Object());
        connections.forget("PartyB", opened.getFirst());

        assertThat(connections.count("PartyA")).isEqualTo(LIMIT);
        assertThat(catchThrowableOfType(NoConnectionException.class, () -> connections.open("PartyB", Object::new)))
                .isNotNull();
    }

    @Test
    void connectsOnPlatformThreadsBecauseTheClientLibraryBlocksInSynchronized() throws Exception {
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            var connectedOn = threads.submit(() -> connections.open("PartyA", Thread::currentThread))
                    .get();

            assertThat(connectedOn.isVirtual()).isFalse();
            assertThat(connectedOn.isDaemon()).isTrue();
        }
    }

    @Test
    void aConnectorWithoutThemLeavesNothingOpen() {
        var address = new NodeAddress("PartyA", "partya", 10003);

        assertThat(new RpcConnector("user", "password", 1).leftOpen(address)).isZero();
    }
}
