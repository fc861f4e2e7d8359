package org.cordalab.bridge.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import net.corda.core.contracts.ContractState;
import net.corda.core.contracts.StateRef;
import net.corda.core.crypto.SecureHash;
import net.corda.core.node.services.Vault;
import net.corda.core.node.services.Vault.StateMetadata;
import net.corda.core.node.services.Vault.StateStatus;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class VaultTransactionsTest {

    private final List<SecureHash> transactions = new ArrayList<>();
    private final List<StateMetadata> states = new ArrayList<>();
    private Instant recordedAt = Instant.EPOCH;
    private int largestQuery;

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7, 100, 999, 1000, 1001, 2500, 5000})
    void listsEachTransactionOnceWhateverTheSizeOfAPage(int pageSize) {
        IntStream.range(0, pageSize < 100 ? 30 : 1500).forEach(i -> transaction(1 + i % 4));

        List<SecureHash> listed = new ArrayList<>();
        int page = 1;
        do {
            VaultTransactions part = VaultTransactions.read(this::page, Instant.EPOCH, page, pageSize);
            assertThat(part.states()).isEqualTo(states.size());
            listed.addAll(part.ids());
        } while ((long) page++ * pageSize < states.size());

        assertThat(listed).isEqualTo(transactions);
        assertThat(largestQuery).isLessThanOrEqualTo(VaultTransactions.MAX_STATES_PER_QUERY);
    }

    @Test
    void aTransactionThatFillsSeveralPagesIsInTheFirst() {
        transaction(5);

        assertThat(VaultTransactions.read(this::page, Instant.EPOCH, 1, 2).ids())
                .isEqualTo(transactions);
        assertThat(VaultTransactions.read(this::page, Instant.EPOCH, 2, 2).ids())
                .isEmpty();
        assertThat(VaultTransactions.read(this::page, Instant.EPOCH, 3, 2).ids())
                .isEmpty();
    }

    @Test
    void anEmptyVaultHasAnEmptyPage() {
        assertThat(VaultTransactions.read(this::page, Instant.EPOCH, 1, 1000))
                .isEqualTo(new VaultTransactions(List.of(), 0));
        assertThat(VaultTransactions.read(this::page, Instant.EPOCH, 2, 1000))
                .isEqualTo(new VaultTransactions(List.of(), 0));
    }

    @Test
    void aTransactionThatWasRecordedBeforeIsLeftOut() {
        transaction(2);
        recordedAt = Instant.EPOCH.plusSeconds(1);
        transaction(1);

        assertThat(VaultTransactions.read(this::page, recordedAt, 1, 1000).ids())
                .isEqualTo(transactions.subList(1, 2));
        assertThat(VaultTransactions.read(this::page, recordedAt, 1, 1).ids()).isEmpty();
    }

    private void transaction(int outputs) {
        SecureHash id = SecureHash.sha256(transactions.size() + " ");
        transactions.add(id);
        // A transaction may have outputs of other classes, so the first index is not always 0.
        IntStream.range(1, outputs + 1).forEach(index -> states.add(metadata(new StateRef(id, index))));
    }

    private StateMetadata metadata(StateRef ref) {
        return new StateMetadata(ref, "State", recordedAt, null, StateStatus.UNCONSUMED, null, null, null);
    }

    /** Pages as the vault of a node does. */
    private Vault.Page<ContractState> page(int number, int size) {
        largestQuery = Math.max(largestQuery, size);
        List<StateMetadata> part =
                states.stream().skip((number - 1L) * size).limit(size).toList();
        return new Vault.Page<>(List.of(), part, states.size(), StateStatus.ALL, List.of());
    }
}
