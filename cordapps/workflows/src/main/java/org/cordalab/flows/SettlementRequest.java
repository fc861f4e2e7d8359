package org.cordalab.flows;

import net.corda.core.contracts.StateRef;
import net.corda.core.serialization.CordaSerializable;

/** The exchange's request to one party of a settlement. */
@CordaSerializable
public final class SettlementRequest {
    private final boolean cash;
    private final StateRef state;

    /**
     * @param cash whether the party pays cash and gets stock, and not vice versa
     * @param state the reference to the asset to deliver; null for any asset of the party
     */
    public SettlementRequest(boolean cash, StateRef state) {
        this.cash = cash;
        this.state = state;
    }

    public boolean getCash() {
        return cash;
    }

    public StateRef getState() {
        return state;
    }
}
