package org.cordalab.states;

import java.util.Arrays;
import java.util.List;
import net.corda.core.contracts.BelongsToContract;
import net.corda.core.contracts.ContractState;
import net.corda.core.crypto.SecureHash;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;
import org.cordalab.contracts.AttachmentContract;

/** A record that one party sent an attachment to another. Both parties store it in their vaults. */
@BelongsToContract(AttachmentContract.class)
public class AttachmentState implements ContractState {
    private final SecureHash attachmentId;
    private final Party sender;
    private final Party recipient;

    public AttachmentState(SecureHash attachmentId, Party sender, Party recipient) {
        this.attachmentId = attachmentId;
        this.sender = sender;
        this.recipient = recipient;
    }

    public SecureHash getAttachmentId() {
        return attachmentId;
    }

    public Party getSender() {
        return sender;
    }

    public Party getRecipient() {
        return recipient;
    }

    @Override
    public List<AbstractParty> getParticipants() {
        return Arrays.asList(sender, recipient);
    }
}
