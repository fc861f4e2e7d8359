package org.cordalab.states;

import net.corda.core.contracts.BelongsToContract;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;
import org.cordalab.contracts.AssetContract;

/** Lightweight cash: like that of {@code corda-finance}, but without its own tables in the vault. */
// Implements Asset directly, because the vault finds a state only by the interfaces that its own class declares.
@BelongsToContract(AssetContract.class)
public class CashState extends AssetState implements Asset {
    /**
     * @param quantity in the currency's smallest unit
     * @param product the currency code
     */
    public CashState(Party issuer, AbstractParty owner, long quantity, String product) {
        super(issuer, owner, quantity, product);
    }

    @Override
    public CashState withOwner(AbstractParty newOwner, long newQuantity) {
        return new CashState(getIssuer(), newOwner, newQuantity, getProduct());
    }
}
