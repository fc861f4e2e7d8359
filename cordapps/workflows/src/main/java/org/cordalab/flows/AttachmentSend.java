package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.security.PublicKey;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatingFlow;
import net.corda.core.flows.StartableByRPC;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import net.corda.core.transactions.TransactionBuilder;
import org.cordalab.contracts.AttachmentContract;
import org.cordalab.states.AttachmentState;
import org.cordalab.timing.TimedFlow;

/**
 * Sends an attachment from this node to another party, in a transaction that both sign and record. A recipient without
 * the attachment fetches and stores it before it signs.
 */
@InitiatingFlow
@StartableByRPC
public class AttachmentSend extends TimedFlow<SignedTransaction> {
    private final SecureHash attachmentId;
    private final Party otherPartyName;

    /**
     * @param attachmentId the id of an attachment on this node
     * @param otherPartyName the recipient
     */
    public AttachmentSend(SecureHash attachmentId, Party otherPartyName) {
        this.attachmentId = attachmentId;
        this.otherPartyName = otherPartyName;
    }

    /** Returns the transaction, recorded by both parties. */
    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        Arguments.requireOther("otherPartyName", otherPartyName, getServiceHub());
        if (!getServiceHub().getAttachments().hasAttachment(attachmentId)) {
            throw new FlowException(
                    "attachmentId must be the id of an attachment on this node, but it is " + attachmentId + ".");
        }

        List<PublicKey> signers = Arrays.asList(getOurIdentity().getOwningKey(), otherPartyName.getOwningKey());
        TransactionBuilder builder = new TransactionBuilder(Arguments.notary(null, getServiceHub()))
                .addOutputState(
                        new AttachmentState(attachmentId, getOurIdentity(), otherPartyName), AttachmentContract.ID)
                .addCommand(new AttachmentContract.Commands.Send(), signers)
                .addAttachment(attachmentId);
        builder.verify(getServiceHub());
        SignedTransaction signed = getServiceHub().signInitialTransaction(builder);

        List<FlowSession> sessions = Collections.singletonList(initiateFlow(otherPartyName));
        return finalise(collectSignatures(signed, sessions), sessions);
    }
}
