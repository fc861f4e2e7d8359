package org.cordalab.bridge.stub;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import net.corda.core.crypto.SecureHash;
import org.cordalab.bridge.node.VaultTransactions;

/** The unconsumed states of a stub node, one per transaction. */
final class StubVault {

    private final List<Recorded> states = new ArrayList<>();

    private record Recorded(SecureHash transactionId, Instant at) {}

    synchronized void record(SecureHash transactionId, Instant at) {
        states.add(new Recorded(transactionId, at));
    }

    synchronized int size() {
        return states.size();
    }

    /** Returns a page, see {@link org.cordalab.bridge.node.NodeSession#transactions}. */
    synchronized VaultTransactions transactions(Instant since, int page, int pageSize) {
        List<SecureHash> ids = states.stream()
                .filter(state -> !state.at().isBefore(since))
                .map(Recorded::transactionId)
                .sorted(Comparator.comparing(SecureHash::toString))
                .toList();
        return new VaultTransactions(
                ids.stream().skip((page - 1L) * pageSize).limit(pageSize).toList(), ids.size());
    }
}
