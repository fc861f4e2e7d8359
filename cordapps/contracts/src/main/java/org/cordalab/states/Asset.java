package org.cordalab.states;

import net.corda.core.contracts.ContractState;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;

/** A quantity of cash or stock, guaranteed by an issuer and held by an owner, who is the only participant. */
public interface Asset extends ContractState {
    /** Returns the party that guarantees the asset. */
    Party getIssuer();

    /** Returns the party that may spend the asset. It is anonymous if the payment requested that. */
    AbstractParty getOwner();

    /** Returns the quantity in the smallest units, such as cents or shares. */
    long getQuantity();

    /** Returns the currency code or ticker. Assets are interchangeable only if issuer and product are the same. */
    String getProduct();

    /** Returns {@code quantity} of the same product of the same issuer, held by {@code owner}. */
    Asset withOwner(AbstractParty owner, long quantity);
}
