package org.cordalab.bridge.node;

import java.util.List;
import java.util.Set;
import net.corda.core.identity.CordaX500Name;
import org.cordalab.bridge.flow.FlowCatalog;

/**
 * What a node says about itself, asked once per connection.
 *
 * @param notaries the names that transactions name as their notary
 * @param notaryNodes the names of all nodes behind those, which are others where several nodes are one notary
 */
public record NodeProfile(
        CordaX500Name x500Name,
        int platformVersion,
        boolean supportsClientIds,
        Set<CordaX500Name> notaries,
        Set<CordaX500Name> notaryNodes,
        List<Cordapp> cordapps,
        FlowCatalog flows) {

    public NodeProfile {
        notaries = Set.copyOf(notaries);
        notaryNodes = Set.copyOf(notaryNodes);
        cordapps = List.copyOf(cordapps);
    }

    /** One CorDapp installed on the node. */
    public record Cordapp(String name, String version, String type) {}
}
