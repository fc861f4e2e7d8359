package org.cordalab.flows;

import net.corda.core.flows.FlowException;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;
import net.corda.core.serialization.CordaSerializable;
import org.cordalab.states.Asset;
import org.cordalab.states.CashState;
import org.cordalab.states.StockState;

/** The asset that each side of a settlement delivers. */
@CordaSerializable
enum AssetKind {
    CASH(CashState.class),
    STOCK(StockState.class);

    private static final long CASH_QUANTITY = 100;
    private static final long STOCK_QUANTITY = 1;

    final Class<? extends Asset> state;

    AssetKind(Class<? extends Asset> state) {
        this.state = state;
    }

    /** Returns the kind that the other side of a settlement delivers. */
    AssetKind other() {
        return this == CASH ? STOCK : CASH;
    }

    /** Returns one asset of this kind: a dollar or a share. */
    Asset make(Party issuer, AbstractParty owner) {
        return this == CASH
                ? new CashState(issuer, owner, CASH_QUANTITY, "USD")
                : new StockState(issuer, owner, STOCK_QUANTITY, "LAB");
    }

    static AssetKind parse(String asset) throws FlowException {
        for (AssetKind kind : values()) {
            if (kind.name().equalsIgnoreCase(asset)) {
                return kind;
            }
        }
        throw new FlowException("asset must be cash or stock, but it is " + asset + ".");
    }
}
