package org.cordalab.states;

import net.corda.core.contracts.BelongsToContract;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;
import org.cordalab.contracts.AssetContract;

/** Lean cash: what {@code corda-finance} has, without tables of its own in the vault. */
// Names Asset itself, because the vault knows a state only by the interfaces that its own class names.
@BelongsToContract(AssetContract.class)
public class CashState extends AssetState implements Asset {
    /**
     * @param quantity in the currency's smallest unit
     * @param product the currency's code
     */
    public CashState(Party issuer, AbstractParty owner, long quantity, String product) {
        super(issuer, owner, quantity, product);
    }

    @Override
    public CashState withOwner(AbstractParty newOwner, long newQuantity) {
        return new CashState(getIssuer(), newOwner, newQuantity, getProduct());
    }
}
