package org.cordalab.bridge.run;

import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * The client ids that one node keeps because a caller knows them, each until its retention ends.
 *
 * <p>An entry takes about {@value #ENTRY_BYTES} bytes, and their number is limited. A further id is not entered and stays on
 * the node. It is entered at the next sweep after half of the entries have gone, so it is kept longer, never shorter.
 */
final class KeptIds {

    static final int MAX_IDS = 100_000;

    private static final int ENTRY_BYTES = 512;

    private final long retentionNanos;
    private final int maxIds;
    private final LongSupplier nanoTime;
    /** In the order of entry, which is the order of expiry, because all ids have the same retention. */
    private final Map<String, Kept> byId = new LinkedHashMap<>();

    private boolean incomplete;
    private boolean hasOverflowed;

    /**
     * One client id on the node.
     *
     * @param fingerprint of the start; empty if an earlier bridge made the start
     */
    record Kept(Optional<String> fingerprint, long until) {}

    KeptIds(Duration retention, int maxIds, LongSupplier nanoTime) {
        this.maxIds = maxIds;
        this.retentionNanos = retention.toNanos();
        this.nanoTime = nanoTime;
    }

    /** Returns how many ids fit into this many bytes, at most {@link #MAX_IDS}. */
    static int fitting(long bytes) {
        return Math.clamp(bytes / ENTRY_BYTES, 1, MAX_IDS);
    }

    /** Enters an id whose start this bridge made. */
    synchronized void keep(String clientId, String fingerprint) {
        byId.remove(clientId);
        enter(clientId, Optional.of(fingerprint));
    }

    /** Enters an id that an earlier bridge left on the node, unless it was entered already. */
    synchronized void adopt(String clientId) {
        if (!byId.containsKey(clientId)) {
            enter(clientId, Optional.empty());
        }
    }

    private void enter(String clientId, Optional<String> fingerprint) {
        if (byId.size() < maxIds) {
            byId.put(clientId, new Kept(fingerprint, nanoTime.getAsLong() + retentionNanos));
        } else {
            incomplete = true;
            hasOverflowed = true;
        }
    }

    synchronized Optional<Kept> find(String clientId) {
        return Optional.ofNullable(byId.get(clientId));
    }

    synchronized void forget(String clientId) {
        byId.remove(clientId);
    }

    /** Takes an id whose retention has ended, if there is one. */
    synchronized Optional<String> takeExpired() {
        Iterator<Map.Entry<String, Kept>> entries = byId.entrySet().iterator();
        if (!entries.hasNext()) {
            return Optional.empty();
        }
        Map.Entry<String, Kept> oldest = entries.next();
        if (nanoTime.getAsLong() - oldest.getValue().until() < 0) {
            return Optional.empty();
        }
        String clientId = oldest.getKey();
        entries.remove();
        return Optional.of(clientId);
    }

    synchronized int size() {
        return byId.size();
    }

    /** Returns how many ids there are whose retention has ended, at most {@code limit}. */
    synchronized int expired(int limit) {
        long now = nanoTime.getAsLong();
        return (int) byId.values().stream()
                .limit(limit)
                .takeWhile(one -> now - one.until() >= 0)
                .count();
    }

    /** Returns whether an id was ever left out. */
    synchronized boolean hasOverflowed() {
        return hasOverflowed;
    }

    /** Returns whether ids are missing that can be entered now. */
    synchronized boolean hasRoomAgain() {
        return incomplete && byId.size() <= maxIds / 2;
    }

    /** Called before all ids of the node are offered again. */
    synchronized void expectAll() {
        incomplete = false;
    }
}
