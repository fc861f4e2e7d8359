package org.cordalab.bridge.node;

import java.util.List;
import net.corda.core.crypto.SecureHash;

/**
 * A page of the transactions that recorded states in a vault.
 *
 * @param ids each transaction once, in the order of their states
 * @param states number of states in all pages
 */
public record VaultTransactions(List<SecureHash> ids, long states) {

    public VaultTransactions {
        ids = List.copyOf(ids);
    }
}
