package org.cordalab.bridge.node;

import java.time.Duration;
import java.util.Optional;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import org.cordalab.bridge.flow.StateLookup;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/**
 * The unconsumed states of a node's vault, by reference. Each takes one RPC, before the flow starts. After the time limit
 * of one call, those of a request are looked up no more.
 */
public final class VaultStates implements StateLookup {

    private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

    private final NodeGateway gateway;
    private final TimedCalls calls;

    /**
     * @param calls limits the time of each call, and how many are made at once
     */
    public VaultStates(NodeGateway gateway, TimedCalls calls) {
        this.gateway = gateway;
        this.calls = calls;
    }

    @Override
    public StateAndRef<?> unconsumed(StateRef ref) {
        NodeSession session = gateway.session().orElseThrow(this::unavailable);
        Optional<VaultState> found;
        try {
            found = calls.call(() -> session.state(ref));
        } catch (NodeUnavailableException e) {
            throw unavailable();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw unavailable();
        }
        if (found.isEmpty()) {
            throw new IllegalArgumentException("it is not in the vault of " + gateway.name());
        }
        if (found.get().consumed()) {
            throw new IllegalArgumentException("it is already consumed in the vault of " + gateway.name());
        }
        return found.get().state();
    }

    @Override
    public StateLookup forOneRequest() {
        long began = System.nanoTime();
        return ref -> {
            if (System.nanoTime() - began >= calls.limit().toNanos()) {
                throw new Problem(
                                ProblemType.NODE_UNAVAILABLE,
                                "%s has not answered all questions about states within %d s."
                                        .formatted(gateway.name(), calls.limit().toSeconds()))
                        .retryAfter(RETRY_AFTER);
            }
            return unconsumed(ref);
        };
    }

    private Problem unavailable() {
        return new Problem(ProblemType.NODE_UNAVAILABLE, "There is no connection to %s.".formatted(gateway.name()))
                .retryAfter(RETRY_AFTER);
    }
}
