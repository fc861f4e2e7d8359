package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.security.PublicKey;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.stream.Collectors;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.ReceiveStateAndRefFlow;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import net.corda.core.transactions.TransactionBuilder;
import org.cordalab.contracts.AssetContract;
import org.cordalab.states.Asset;
import org.cordalab.timing.TimedFlow;

/**
 * The exchange's side of an atomic settlement. N parties exchange N assets in one transaction: the first half of the
 * parties pays cash, and the second half delivers stock. The exchange owns none of the assets; it builds and signs the
 * transaction. The subclasses define how signatures are collected and how the transaction is finalised.
 */
abstract class SettlementFlow extends TimedFlow<SignedTransaction> {
    private final List<Party> otherPartiesNames;
    private final List<String> states;

    SettlementFlow(List<Party> otherPartiesNames, List<String> states) {
        this.otherPartiesNames = otherPartiesNames;
        this.states = states;
    }

    /** Collects the signatures of all parties, and has the transaction notarised and recorded. */
    @Suspendable
    abstract SignedTransaction complete(SignedTransaction signed, List<FlowSession> sessions) throws FlowException;

    /** Returns the transaction, recorded by all parties and the exchange. */
    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        checkArguments();

        List<FlowSession> sessions = new ArrayList<>();
        for (int index = 0; index < otherPartiesNames.size(); index++) {
            FlowSession session = initiateFlow(otherPartiesNames.get(index));
            session.send(new SettlementRequest(
                    index < otherPartiesNames.size() / 2,
                    states == null ? null : StateRefs.parse("states", states.get(index))));
            sessions.add(session);
        }
        List<StateAndRef<Asset>> assets = new ArrayList<>();
        for (FlowSession session : sessions) {
            assets.addAll(subFlow(new ReceiveStateAndRefFlow<Asset>(session)));
        }

        TransactionBuilder builder = exchange(assets);
        builder.verify(getServiceHub());
        SignedTransaction signed = getServiceHub().signInitialTransaction(builder);
        return complete(signed, sessions);
    }

    private void checkArguments() throws FlowException {
        int count = otherPartiesNames.size();
        if (count < 2 || count % 2 != 0) {
            throw new FlowException("otherPartiesNames must be an even number of parties, not " + count + ".");
        }
        if (new HashSet<>(otherPartiesNames).size() != count) {
            throw new FlowException("otherPartiesNames must be different parties.");
        }
        for (Party party : otherPartiesNames) {
            Arguments.requireOther("otherPartiesNames", party, getServiceHub());
        }
        if (states != null && states.size() != count) {
            throw new FlowException(
                    "states must have one entry for each of the " + count + " parties, not " + states.size() + ".");
        }
    }

    /** Builds the exchange. Each asset goes to the owner of the asset half the list away. */
    private TransactionBuilder exchange(List<StateAndRef<Asset>> assets) throws FlowException {
        int count = otherPartiesNames.size();
        if (assets.size() != count) {
            throw new FlowException("The parties were asked for " + count + " assets and sent " + assets.size() + ".");
        }
        TransactionBuilder builder =
                new TransactionBuilder(assets.get(0).getState().getNotary());
        for (int index = 0; index < count; index++) {
            Asset asset = assets.get(index).getState().getData();
            Asset partner = assets.get((index + count / 2) % count).getState().getData();
            builder.addInputState(assets.get(index));
            builder.addOutputState(asset.withOwner(partner.getOwner(), asset.getQuantity()), AssetContract.ID);
        }
        List<PublicKey> signers = assets.stream()
                .map(each -> each.getState().getData().getOwner().getOwningKey())
                .collect(Collectors.toList());
        signers.add(getOurIdentity().getOwningKey());
        return builder.addCommand(new AssetContract.Commands.Move(), signers);
    }
}
