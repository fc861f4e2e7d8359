package org.cordalab.flows;

import net.corda.core.contracts.StateRef;
import net.corda.core.serialization.CordaSerializable;

/** What an exchange asks of one party of a settlement. */
@CordaSerializable
public final class SettlementRequest {
    private final boolean cash;
    private final StateRef state;

    /**
     * @param cash whether the party pays cash and gets stock; otherwise the other way round
     * @param state what it delivers; null for whatever it has
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
