package org.cordalab.bridge.node;

import java.time.Instant;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import net.corda.core.contracts.ContractState;
import net.corda.core.crypto.SecureHash;
import net.corda.core.node.services.Vault;

/**
 * A page of the transactions that recorded states in a vault.
 *
 * @param ids each transaction once, in the order of their states
 * @param states number of states in all pages, on some nodes with those that were recorded before
 */
public record VaultTransactions(List<SecureHash> ids, long states) {

    /** A node answers a query with whole states, about 2 kB each, and an RPC message may have up to 10 MiB. */
    static final int MAX_STATES_PER_QUERY = 1000;

    public VaultTransactions {
        ids = List.copyOf(ids);
    }

    /** A query whose states are in a fixed order: first those of one transaction, then those of the next. */
    @FunctionalInterface
    interface Query {

        /** Returns a page of states. The first page has the number 1. */
        Vault.Page<? extends ContractState> page(int number, int size);
    }

    /**
     * Reads a page of states with as many queries as necessary. Omits the transaction of the last state before it, to
     * whose page that transaction belongs, and transactions that were recorded before a time.
     */
    static VaultTransactions read(Query query, Instant since, int page, int pageSize) {
        long from = (page - 1L) * pageSize;
        int size = Math.min(pageSize, MAX_STATES_PER_QUERY);
        Set<SecureHash> ids = new LinkedHashSet<>();
        long states = 0;
        boolean more = true;
        for (int number = (int) (from / size) + 1; more && (number - 1L) * size < from + pageSize; number++) {
            Vault.Page<? extends ContractState> part = query.page(number, size);
            List<Vault.StateMetadata> found = part.getStatesMetadata();
            for (int i = 0; i < found.size(); i++) {
                long position = (number - 1L) * size + i;
                boolean isOnPage = position >= from && position < from + pageSize;
                if (isOnPage && !found.get(i).getRecordedTime().isBefore(since)) {
                    ids.add(found.get(i).getRef().getTxhash());
                }
            }
            states = part.getTotalStatesAvailable();
            more = found.size() == size;
        }
        if (page > 1) {
            // In pages of one state, the number of a page is that of its state.
            query.page((int) from, 1)
                    .getStatesMetadata()
                    .forEach(before -> ids.remove(before.getRef().getTxhash()));
        }
        return new VaultTransactions(List.copyOf(ids), states);
    }
}
