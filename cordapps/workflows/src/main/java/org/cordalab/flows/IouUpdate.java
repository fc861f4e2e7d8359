package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.security.PublicKey;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.UniqueIdentifier;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatingFlow;
import net.corda.core.flows.StartableByRPC;
import net.corda.core.identity.Party;
import net.corda.core.node.services.Vault;
import net.corda.core.node.services.vault.QueryCriteria;
import net.corda.core.transactions.SignedTransaction;
import net.corda.core.transactions.TransactionBuilder;
import org.cordalab.contracts.IouContract;
import org.cordalab.states.IouState;
import org.cordalab.timing.TimedFlow;

/**
 * Replaces an IOU whose lender is this node with one of a different value. The transaction consumes the old state, so
 * the notary signs it, and the updates of one IOU form a chain.
 */
@InitiatingFlow
@StartableByRPC
public class IouUpdate extends TimedFlow<SignedTransaction> {
    private final String linearId;
    private final int iouValue;

    /**
     * @param linearId the linear id of the IOU, as returned by {@link IouPrepare}
     * @param iouValue the new number of units owed, 1 or more
     */
    public IouUpdate(String linearId, int iouValue) {
        this.linearId = linearId;
        this.iouValue = iouValue;
    }

    /** Returns the transaction, signed by both parties and the notary and recorded by both parties. */
    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        Arguments.requirePositive("iouValue", iouValue);

        StateAndRef<IouState> current = current();

        Party borrower = current.getState().getData().getBorrower();
        Arguments.requireOther("linearId: the borrower", borrower, getServiceHub());
        List<PublicKey> signers = Arrays.asList(getOurIdentity().getOwningKey(), borrower.getOwningKey());
        TransactionBuilder builder = new TransactionBuilder(current.getState().getNotary())
                .addInputState(current)
                .addOutputState(current.getState().getData().withValue(iouValue), IouContract.ID)
                .addCommand(new IouContract.Commands.Update(), signers);

        builder.verify(getServiceHub());

        SignedTransaction signedByLender = getServiceHub().signInitialTransaction(builder);

        List<FlowSession> sessions = Collections.singletonList(initiateFlow(borrower));
        return finalise(collectSignatures(signedByLender, sessions), sessions);
    }

    private StateAndRef<IouState> current() throws FlowException {
        UniqueIdentifier id;
        try {
            id = new UniqueIdentifier(null, UUID.fromString(linearId));
        } catch (IllegalArgumentException e) {
            throw new FlowException("linearId must be a UUID, but it is " + linearId + ".");
        }
        QueryCriteria criteria = new QueryCriteria.LinearStateQueryCriteria(
                null, Collections.singletonList(id), Vault.StateStatus.UNCONSUMED, null);
        List<StateAndRef<IouState>> found = getServiceHub()
                .getVaultService()
                .queryBy(IouState.class, criteria)
                .getStates();
        if (found.isEmpty()) {
            throw new FlowException(
                    "linearId must be the id of an IOU in this node's vault, but " + linearId + " is not.");
        }
        return found.get(0);
    }
}
