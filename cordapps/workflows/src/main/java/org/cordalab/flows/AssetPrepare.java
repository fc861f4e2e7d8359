package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.security.PublicKey;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatingFlow;
import net.corda.core.flows.StartableByRPC;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import net.corda.core.transactions.TransactionBuilder;
import org.cordalab.contracts.AssetContract;
import org.cordalab.states.Asset;
import org.cordalab.timing.TimedFlow;

/**
 * Prepares assets of this node for a settlement. Each asset has a backchain: it is issued and then transferred back
 * and forth between this node and another one. A party that has not seen the asset fetches its whole backchain.
 */
@InitiatingFlow
@StartableByRPC
public class AssetPrepare extends TimedFlow<List<String>> {
    /** The maximum length of a backchain. */
    static final int BACKCHAIN_MAX = 10_000;

    private static final int ASSETS_PER_ISSUE = 100;

    private final String asset;
    private final Party otherPartyName;
    private final int backchainSize;
    private final int count;

    /**
     * @param asset {@code cash} or {@code stock}
     * @param otherPartyName the party with which the assets are transferred back and forth
     * @param backchainSize the number of transfers, of which the last is to this node; 0 to {@value #BACKCHAIN_MAX}
     * @param count the number of assets
     */
    public AssetPrepare(String asset, Party otherPartyName, int backchainSize, int count) {
        this.asset = asset;
        this.otherPartyName = otherPartyName;
        this.backchainSize = backchainSize;
        this.count = count;
    }

    /** Returns references to the assets. */
    @Override
    @Suspendable
    protected List<String> run() throws FlowException {
        AssetKind kind = AssetKind.parse(asset);
        Arguments.requireOther("otherPartyName", otherPartyName, getServiceHub());
        Arguments.requireCount("count", count, Arguments.COUNT_MAX);
        if (backchainSize < 0 || backchainSize > BACKCHAIN_MAX) {
            throw new FlowException(
                    "backchainSize must be 0 to " + BACKCHAIN_MAX + ", but it is " + backchainSize + ".");
        }
        List<String> prepared = new ArrayList<>(count);
        while (prepared.size() < count) {
            prepared.addAll(
                    backchainSize == 0
                            ? issue(kind, Math.min(ASSETS_PER_ISSUE, count - prepared.size()))
                            : Collections.singletonList(chain(kind)));
        }
        return prepared;
    }

    @Suspendable
    private List<String> issue(AssetKind kind, int next) throws FlowException {
        TransactionBuilder builder = new TransactionBuilder(Arguments.notary(null, getServiceHub()))
                .addCommand(new AssetContract.Commands.Issue(), getOurIdentity().getOwningKey());
        for (int made = 0; made < next; made++) {
            builder.addOutputState(kind.make(getOurIdentity(), getOurIdentity()), AssetContract.ID);
        }
        return StateRefs.ofOutputs(finalise(getServiceHub().signInitialTransaction(builder), Collections.emptyList()));
    }

    /** Prepares one asset. Its first owner is chosen such that the last transfer is to this node. */
    @Suspendable
    private String chain(AssetKind kind) throws FlowException {
        Party owner = backchainSize % 2 == 0 ? getOurIdentity() : otherPartyName;
        TransactionBuilder issue = new TransactionBuilder(Arguments.notary(null, getServiceHub()))
                .addOutputState(kind.make(getOurIdentity(), owner), AssetContract.ID)
                .addCommand(new AssetContract.Commands.Issue(), bothKeys());
        SignedTransaction last = signAndFinalise(issue);
        for (int transfers = 0; transfers < backchainSize; transfers++) {
            owner = owner.equals(otherPartyName) ? getOurIdentity() : otherPartyName;
            StateAndRef<Asset> current = last.getTx().outRef(0);
            Asset held = current.getState().getData();
            last = signAndFinalise(new TransactionBuilder(current.getState().getNotary())
                    .addInputState(current)
                    .addOutputState(held.withOwner(owner, held.getQuantity()), AssetContract.ID)
                    .addCommand(new AssetContract.Commands.Move(), bothKeys()));
        }
        return StateRefs.ofOutputs(last).get(0);
    }

    /** Returns both keys. Both parties sign every transfer, so that this node can also build the other one's. */
    private List<PublicKey> bothKeys() {
        return Arrays.asList(getOurIdentity().getOwningKey(), otherPartyName.getOwningKey());
    }

    @Suspendable
    private SignedTransaction signAndFinalise(TransactionBuilder builder) throws FlowException {
        List<FlowSession> sessions = Collections.singletonList(initiateFlow(otherPartyName));
        return finalise(collectSignatures(getServiceHub().signInitialTransaction(builder), sessions), sessions);
    }
}
