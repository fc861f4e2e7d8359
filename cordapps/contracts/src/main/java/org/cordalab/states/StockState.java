package org.cordalab.states;

import net.corda.core.contracts.BelongsToContract;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;
import org.cordalab.contracts.AssetContract;

/** Shares of a company, which a settlement exchanges for cash. */
// Implements Asset directly, because the vault finds a state only by the interfaces that its own class declares.
@BelongsToContract(AssetContract.class)
public class StockState extends AssetState implements Asset {
    /**
     * @param quantity the number of shares
     * @param product the ticker
     */
    public StockState(Party issuer, AbstractParty owner, long quantity, String product) {
        super(issuer, owner, quantity, product);
    }

    @Override
    public StockState withOwner(AbstractParty newOwner, long newQuantity) {
        return new StockState(getIssuer(), newOwner, newQuantity, getProduct());
    }
}
