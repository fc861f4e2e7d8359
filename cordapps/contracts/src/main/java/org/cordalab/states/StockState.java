package org.cordalab.states;

import java.util.Collections;
import java.util.List;
import net.corda.core.contracts.BelongsToContract;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;
import org.cordalab.contracts.AssetContract;

/** Shares of a company: the other half of a settlement. */
@BelongsToContract(AssetContract.class)
public class StockState implements Asset {
    private final Party issuer;
    private final AbstractParty owner;
    private final long quantity;
    private final String product;

    /**
     * @param quantity shares
     * @param product the ticker
     */
    public StockState(Party issuer, AbstractParty owner, long quantity, String product) {
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
    public StockState withOwner(AbstractParty newOwner, long newQuantity) {
        return new StockState(issuer, newOwner, newQuantity, product);
    }

    @Override
    public List<AbstractParty> getParticipants() {
        return Collections.singletonList(owner);
    }
}
