package org.cordalab.bridge.flow;

import java.security.PublicKey;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.identity.Party;

/** The parties in one node's network map, cached so that a lookup needs no RPC. */
public final class PartyDirectory {

    private final Map<CordaX500Name, Party> byName = new ConcurrentHashMap<>();

    /** Replaces the parties with those of the current network map. */
    public void replaceAll(Collection<Party> parties) {
        Map<CordaX500Name, Party> current =
                parties.stream().collect(Collectors.toMap(Party::getName, party -> party, (first, second) -> second));
        byName.putAll(current);
        byName.keySet().retainAll(current.keySet());
    }

    public void add(Collection<Party> parties) {
        parties.forEach(party -> byName.put(party.getName(), party));
    }

    public void remove(Collection<Party> parties) {
        parties.forEach(party -> byName.remove(party.getName(), party));
    }

    /** Returns all parties, sorted by name. */
    public List<Party> all() {
        return byName.values().stream()
                .sorted(Comparator.comparing(party -> party.getName().toString()))
                .toList();
    }

    /** Returns the party with exactly this name, or null. */
    Party byName(CordaX500Name name) {
        return byName.get(name);
    }

    /** Returns the party with this key, or null. */
    Party byKey(PublicKey key) {
        return byName.values().stream()
                .filter(party -> party.getOwningKey().equals(key))
                .findFirst()
                .orElse(null);
    }

    /** Returns the parties with this organisation, or else those whose name contains it. Ignores case. */
    Set<Party> like(String query) {
        String wanted = query.strip().toLowerCase(Locale.ROOT);
        if (wanted.isEmpty()) {
            return Set.of();
        }
        Set<Party> exact = matching(party ->
                party.getName().getOrganisation().toLowerCase(Locale.ROOT).equals(wanted));
        return exact.isEmpty()
                ? matching(party ->
                        party.getName().toString().toLowerCase(Locale.ROOT).contains(wanted))
                : exact;
    }

    private Set<Party> matching(Predicate<Party> condition) {
        return byName.values().stream().filter(condition).collect(Collectors.toSet());
    }

    @Override
    public String toString() {
        return byName.keySet().toString();
    }
}
