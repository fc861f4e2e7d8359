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
import org.cordalab.states.IouState;

/**
 * The rules for transactions with an {@link IouState}. A transaction issues one new IOU or replaces an existing one.
 * Its value is positive, the lender and the borrower are different parties, and both sign.
 *
 * <p>The limit of the published benchmark (the acceptor signs only below 100) is a policy of the acceptor, not a rule
 * of the ledger. Therefore the responder flow checks it, and the contract does not.
 */
public class IouContract implements Contract {
    /** The name under which transactions refer to this contract. */
    public static final String ID = IouContract.class.getName();

    @Override
    public void verify(LedgerTransaction tx) {
        CommandWithParties<Commands> command = requireSingleCommand(tx.getCommands(), Commands.class);
        requireThat(require -> {
            require.using(
                    "An IOU is the only output.",
                    tx.getOutputStates().size() == 1
                            && tx.outputsOfType(IouState.class).size() == 1);
            IouState iou = tx.outputsOfType(IouState.class).get(0);
            if (command.getValue() instanceof Commands.Create) {
                require.using(
                        "A new IOU consumes no inputs.", tx.getInputStates().isEmpty());
            } else {
                List<IouState> inputs = tx.inputsOfType(IouState.class);
                require.using(
                        "An update consumes one IOU and nothing else.",
                        tx.getInputStates().size() == 1 && inputs.size() == 1);
                require.using(
                        "An update keeps the identifier and the parties.",
                        inputs.get(0).getLinearId().equals(iou.getLinearId())
                                && inputs.get(0).getParticipants().equals(iou.getParticipants()));
            }
            require.using("The lender and the borrower are not the same party.", !isLenderTheBorrower(iou));
            require.using("The IOU's value is positive.", iou.getValue() > 0);
            require.using(
                    "The lender and the borrower both sign.",
                    command.getSigners().containsAll(participantKeys(iou)));
            return null;
        });
    }

    private static boolean isLenderTheBorrower(IouState iou) {
        return iou.getLender().getOwningKey().equals(iou.getBorrower().getOwningKey());
    }

    private static List<PublicKey> participantKeys(IouState iou) {
        return iou.getParticipants().stream().map(AbstractParty::getOwningKey).collect(Collectors.toList());
    }

    /** The commands for IOUs. */
    public interface Commands extends CommandData {
        /** Issues one IOU. */
        class Create implements Commands {}

        /** Replaces an IOU with one between the same parties, usually with a different value. */
        class Update implements Commands {}
    }
}
