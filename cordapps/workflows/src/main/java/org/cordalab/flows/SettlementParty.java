package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.util.Collections;
import net.corda.core.contracts.ContractState;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.SendStateAndRefFlow;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.services.Coins;
import org.cordalab.states.Asset;
import org.cordalab.timing.TimedFlow;

/**
 * A party's side of a settlement: offers one asset, and signs if it gets one of the other kind in return. If the
 * settlement fails, the asset is free again.
 */
abstract class SettlementParty extends TimedFlow<SignedTransaction> {
    private final FlowSession exchangeSession;

    SettlementParty(FlowSession exchangeSession) {
        this.exchangeSession = exchangeSession;
    }

    final FlowSession exchange() {
        return exchangeSession;
    }

    /** Signs the exchange's transaction if {@link #check} accepts it, and records it. */
    @Suspendable
    abstract SignedTransaction complete(StateRef offered, AssetKind kind) throws FlowException;

    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        SettlementRequest request =
                exchangeSession.receive(SettlementRequest.class).unwrap(received -> received);
        AssetKind kind = request.getCash() ? AssetKind.CASH : AssetKind.STOCK;
        Coins coins = getServiceHub().cordaService(Coins.class);

        StateRef offered = request.getState();
        if (offered == null) {
            offered = coins.take(kind.state, 1);
        } else {
            coins.reserve(kind.state, offered);
        }
        if (offered == null) {
            throw new FlowException(
                    "This node has no free " + kind.state.getSimpleName() + ": prepare some with AssetPrepare.");
        }
        try {
            StateAndRef<?> asset = StateRefs.own("states", offered, kind.state, getServiceHub());
            subFlow(new SendStateAndRefFlow(exchangeSession, Collections.singletonList(asset)));
            return complete(offered, kind);
        } catch (FlowException | RuntimeException e) {
            getServiceHub().cordaService(Coins.class).giveBack(kind.state, offered);
            throw e;
        }
    }

    /** Checks what the contract cannot: that this party gives what it offered, and gets an asset of the other kind. */
    final void check(SignedTransaction transaction, StateRef offered, AssetKind kind) throws FlowException {
        if (!transaction.getTx().getInputs().contains(offered)) {
            throw new FlowException("The settlement does not consume the asset offered, " + offered + ".");
        }
        for (ContractState output : transaction.getTx().getOutputStates()) {
            if (kind.other().state.isInstance(output)
                    && ((Asset) output)
                            .getOwner()
                            .getOwningKey()
                            .equals(getOurIdentity().getOwningKey())) {
                return;
            }
        }
        throw new FlowException("The settlement gives " + getOurIdentity().getName() + " nothing for its "
                + kind.state.getSimpleName() + ".");
    }
}
