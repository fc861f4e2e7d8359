package org.cordalab.bridge.node;

import java.time.Instant;
import java.util.List;
import java.util.TreeMap;
import net.corda.core.node.services.Vault.StateMetadata;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/**
 * How many states of one class a vault has recorded and consumed since a time.
 *
 * @param stateType class name
 */
public record VaultChange(String stateType, long recorded, long consumed) {

    /** Maximum number of states in a list of changes. It is for single flows, not for loads. */
    static final int MAX_STATES = 10_000;

    /**
     * Counts the states by class.
     *
     * @param recorded the states that were recorded since the time; may have others too
     * @param consumed the states that were consumed since the time; may have others too
     * @return sorted by class name
     * @throws Problem invalid-request if there are too many states to read
     */
    static List<VaultChange> read(VaultTransactions.Query recorded, VaultTransactions.Query consumed, Instant since) {
        var changes = new TreeMap<String, VaultChange>();
        for (int number = 1; add(recorded, number, since, changes, Kind.RECORDED); number++) {
            // Until there is no further page.
        }
        for (int number = 1; add(consumed, number, since, changes, Kind.CONSUMED); number++) {
            // The same.
        }
        return List.copyOf(changes.values());
    }

    private enum Kind {
        RECORDED,
        CONSUMED
    }

    /** Adds the states of a page. Returns whether there may be another page. */
    private static boolean add(
            VaultTransactions.Query query, int number, Instant since, TreeMap<String, VaultChange> changes, Kind kind) {
        int size = VaultTransactions.MAX_STATES_PER_QUERY;
        List<StateMetadata> found = query.page(number, size).getStatesMetadata();
        for (StateMetadata each : found) {
            Instant at = kind == Kind.RECORDED ? each.getRecordedTime() : each.getConsumedTime();
            if (at != null && !at.isBefore(since)) {
                changes.merge(each.getContractStateClassName(), of(each, kind), VaultChange::plus);
            }
        }
        if (found.size() == size && number * size >= MAX_STATES) {
            throw new Problem(
                            ProblemType.INVALID_REQUEST,
                            "There are more than %d states to read; choose a later time.".formatted(MAX_STATES))
                    .field("since");
        }
        return found.size() == size;
    }

    private static VaultChange of(StateMetadata state, Kind kind) {
        return new VaultChange(
                state.getContractStateClassName(), kind == Kind.RECORDED ? 1 : 0, kind == Kind.CONSUMED ? 1 : 0);
    }

    private VaultChange plus(VaultChange other) {
        return new VaultChange(stateType, recorded + other.recorded, consumed + other.consumed);
    }
}
