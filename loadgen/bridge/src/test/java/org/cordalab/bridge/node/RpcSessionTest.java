package org.cordalab.bridge.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import net.corda.client.rpc.CordaRPCConnection;
import net.corda.client.rpc.RPCConnection;
import net.corda.core.crypto.SecureHash;
import net.corda.core.messaging.CordaRPCOps;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RpcSessionTest {

    /** Longer than a busy machine takes for one call. */
    private static final Duration PROBE_TIMEOUT = Duration.ofSeconds(2);

    /** Probes wait for it, as behind thousands of flow starts. */
    private final CountDownLatch probesAnswered = new CountDownLatch(1);

    /** Without what starts flows: no test starts one. */
    private final RpcSession session =
            new RpcSession("PartyA", null, RpcConnections.open(1, () -> new CordaRPCConnection(connection())), null);

    @Test
    void aNodeThatAnswersOtherCallsThanTheProbeIsNotSilent() throws Exception {
        assertThat(session.answersWithin(PROBE_TIMEOUT)).isFalse();
        assertThat(session.silence()).isGreaterThanOrEqualTo(PROBE_TIMEOUT);

        session.hasAttachment(SecureHash.zeroHash);

        assertThat(session.silence()).isLessThan(PROBE_TIMEOUT);
    }

    @Test
    void aProbeThatIsAnsweredLateEndsTheSilenceToo() throws Exception {
        assertThat(session.answersWithin(PROBE_TIMEOUT)).isFalse();

        probesAnswered.countDown();
        assertThat(session.answersWithin(Duration.ofSeconds(30))).isTrue();

        assertThat(session.silence()).isLessThan(PROBE_TIMEOUT);
    }

    private RPCConnection<CordaRPCOps> connection() {
        CordaRPCOps ops = stub(CordaRPCOps.class, method -> switch (method) {
            case "currentNodeTime" -> {
                await(probesAnswered);
                yield Instant.EPOCH;
            }
            case "attachmentExists" -> true;
            default -> throw new UnsupportedOperationException(method);
        });
        @SuppressWarnings("unchecked")
        RPCConnection<CordaRPCOps> connection = stub(RPCConnection.class, method -> ops);
        return connection;
    }

    private static <T> T stub(Class<T> type, Function<String, Object> answer) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> answer.apply(method.getName())));
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
