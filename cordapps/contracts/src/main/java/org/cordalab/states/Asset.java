package org.cordalab.states;

import net.corda.core.contracts.ContractState;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;

/** A quantity of something that an issuer stands for and an owner holds: cash or stock. Only the owner takes part. */
public interface Asset extends ContractState {
    /** Who stands for it. */
    Party getIssuer();

    /** Who may spend it; anonymous where the payment asked for that. */
    AbstractParty getOwner();

    /** Smallest units, such as cents or shares. */
    long getQuantity();

    /** What it is a quantity of: a currency code or a ticker. Only equal products of one issuer can be exchanged for one another. */
    String getProduct();

    /** As much of the same, held by {@code owner}. */
    Asset withOwner(AbstractParty owner, long quantity);
}
