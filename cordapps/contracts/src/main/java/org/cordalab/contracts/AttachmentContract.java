package org.cordalab.contracts;

import static net.corda.core.contracts.ContractsDSL.requireSingleCommand;
import static net.corda.core.contracts.ContractsDSL.requireThat;

import java.security.PublicKey;
import java.util.List;
import java.util.stream.Collectors;
import net.corda.core.contracts.CommandData;
import net.corda.core.contracts.CommandWithParties;
import net.corda.core.contracts.Contract;
import net.corda.core.identity.AbstractParty;
import net.corda.core.transactions.LedgerTransaction;
import org.cordalab.states.AttachmentState;

/** The rules for sending an attachment: the transaction contains it, and the sender and the recipient sign. */
public class AttachmentContract implements Contract {
    /** The name under which transactions refer to this contract. */
    public static final String ID = AttachmentContract.class.getName();

    @Override
    public void verify(LedgerTransaction tx) {
        CommandWithParties<Commands.Send> command = requireSingleCommand(tx.getCommands(), Commands.Send.class);
        requireThat(require -> {
            require.using("Sending consumes no inputs.", tx.getInputStates().isEmpty());
            require.using(
                    "What was sent is the only output.",
                    tx.getOutputStates().size() == 1
                            && tx.outputsOfType(AttachmentState.class).size() == 1);
            AttachmentState sent = tx.outputsOfType(AttachmentState.class).get(0);
            require.using(
                    "The attachment is part of the transaction.",
                    tx.getAttachments().stream().anyMatch(each -> each.getId().equals(sent.getAttachmentId())));
            List<PublicKey> parties = sent.getParticipants().stream()
                    .map(AbstractParty::getOwningKey)
                    .distinct()
                    .collect(Collectors.toList());
            require.using("The sender and the recipient are not the same party.", parties.size() == 2);
            require.using(
                    "The sender and the recipient both sign.",
                    command.getSigners().containsAll(parties));
            return null;
        });
    }

    /** The commands for attachments. */
    public interface Commands extends CommandData {
        /** Sends one attachment. */
        class Send implements Commands {}
    }
}
