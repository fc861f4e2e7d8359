package org.cordalab.states;

import java.util.Collections;
import java.util.List;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;

/** The common base class of cash and stock. */
public abstract class AssetState implements Asset {
    private final Party issuer;
    private final AbstractParty owner;
    private final long quantity;
    private final String product;

    AssetState(Party issuer, AbstractParty owner, long quantity, String product) {
        this.issuer = issuer;
        this.owner = owner;
        this.quantity = quantity;
        this.product = product;
    }

    @Override
    public Party getIssuer() {
        return issuer;
    }

    @Override
    public AbstractParty getOwner() {
        return owner;
    }

    @Override
    public long getQuantity() {
        return quantity;
    }

    @Override
    public String getProduct() {
        return product;
    }

    @Override
    public List<AbstractParty> getParticipants() {
        return Collections.singletonList(owner);
    }
}
