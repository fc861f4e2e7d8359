package org.cordalab.bridge.node;

import java.util.List;
import java.util.Set;
import net.corda.core.identity.CordaX500Name;
import org.cordalab.bridge.flow.FlowCatalog;

/**
 * What a node reports about itself. It is queried once per connection.
 *
 * @param notaries the names that transactions use for their notary
 * @param notaryNodes the names of all nodes that run these notaries; they differ if a notary is a cluster of nodes
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
