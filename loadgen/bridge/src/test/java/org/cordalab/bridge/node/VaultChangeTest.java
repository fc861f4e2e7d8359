package org.cordalab.bridge.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import net.corda.core.contracts.StateRef;
import net.corda.core.crypto.SecureHash;
import net.corda.core.node.services.Vault;
import net.corda.core.node.services.Vault.StateMetadata;
import net.corda.core.node.services.Vault.StateStatus;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.junit.jupiter.api.Test;

class VaultChangeTest {

    private static final Instant SINCE = Instant.ofEpochSecond(1_790_000_000);
    private static final StateRef REF = new StateRef(SecureHash.randomSHA256(), 0);

    private final List<StateMetadata> recorded = new ArrayList<>();
    private final List<StateMetadata> consumed = new ArrayList<>();

    @Test
    void countsByClassWhatWasRecordedAndWhatWasConsumed() {
        recorded.add(state("Trade", SINCE, null));
        recorded.add(state("Proposal", SINCE, SINCE.plusSeconds(1)));
        recorded.add(state("Proposal", SINCE.minusNanos(1), null));
        consumed.add(state("Proposal", SINCE, SINCE.plusSeconds(1)));
        consumed.add(state("Proposal", SINCE.minusSeconds(9), SINCE));
        consumed.add(state("Trade", SINCE.minusSeconds(9), SINCE.minusNanos(1)));

        assertThat(read()).containsExactly(new VaultChange("Proposal", 1, 2), new VaultChange("Trade", 1, 0));
    }

    @Test
    void anUnchangedVaultHasNone() {
        assertThat(read()).isEmpty();
    }

    @Test
    void readsSeveralPages() {
        recorded.addAll(Collections.nCopies(2500, state("Trade", SINCE, null)));

        assertThat(read()).containsExactly(new VaultChange("Trade", 2500, 0));
    }

    @Test
    void readsNoVaultOfALoad() {
        recorded.addAll(Collections.nCopies(VaultChange.MAX_STATES + 1, state("Trade", SINCE, null)));

        Problem problem = catchThrowableOfType(Problem.class, this::read);

        assertThat(problem.type()).isEqualTo(ProblemType.INVALID_REQUEST);
        assertThat(problem).hasMessageContaining("more than 10000 states");
    }

    private List<VaultChange> read() {
        return VaultChange.read(query(recorded), query(consumed), SINCE);
    }

    private static StateMetadata state(String type, Instant recordedAt, Instant consumedAt) {
        StateStatus status = consumedAt == null ? StateStatus.UNCONSUMED : StateStatus.CONSUMED;
        return new StateMetadata(REF, type, recordedAt, consumedAt, status, null, null, null);
    }

    private static VaultTransactions.Query query(List<StateMetadata> states) {
        return (number, size) -> {
            List<StateMetadata> part =
                    states.stream().skip((number - 1L) * size).limit(size).toList();
            return new Vault.Page<>(List.of(), part, states.size(), StateStatus.ALL, List.of());
        };
    }
}
