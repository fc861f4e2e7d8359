package org.cordalab.flows;

import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import net.corda.core.contracts.TransactionResolutionException;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.FlowException;
import net.corda.core.node.ServiceHub;
import net.corda.core.transactions.SignedTransaction;
import org.cordalab.states.Asset;

/** State references as text, {@code <transaction id>(<index>)}, in the arguments and results of flows. */
final class StateRefs {
    private static final Pattern TEXT = Pattern.compile("([0-9A-Fa-f]{64})\\((\\d{1,9})\\)");

    private StateRefs() {}

    /** Returns references to all outputs of a transaction. */
    static List<String> ofOutputs(SignedTransaction transaction) {
        int count = transaction.getTx().getOutputStates().size();
        return IntStream.range(0, count)
                .mapToObj(index -> new StateRef(transaction.getId(), index).toString())
                .collect(Collectors.toList());
    }

    static StateRef parse(String argument, String text) throws FlowException {
        Matcher matcher = TEXT.matcher(text);
        if (!matcher.matches()) {
            throw new FlowException(
                    argument + " must be a state reference, <transaction id>(<index>), but it is " + text + ".");
        }
        return new StateRef(SecureHash.parse(matcher.group(1)), Integer.parseInt(matcher.group(2)));
    }

    /** Returns the asset that {@code ref} refers to. It must be of this kind, and this node must own it. */
    static <T extends Asset> StateAndRef<T> own(String argument, StateRef ref, Class<T> kind, ServiceHub services)
            throws FlowException {
        StateAndRef<Asset> found;
        try {
            found = services.toStateAndRef(ref);
        } catch (TransactionResolutionException | IndexOutOfBoundsException e) {
            throw new FlowException(argument + " must be a state that this node has, but " + ref + " is not.", e);
        }
        if (!kind.isInstance(found.getState().getData())
                || !services.getKeyManagementService()
                        .filterMyKeys(Collections.singletonList(
                                found.getState().getData().getOwner().getOwningKey()))
                        .iterator()
                        .hasNext()) {
            throw new FlowException(
                    argument + " must be a " + kind.getSimpleName() + " of this node, but " + ref + " is not.");
        }
        @SuppressWarnings("unchecked")
        StateAndRef<T> own = (StateAndRef<T>) (StateAndRef<?>) found;
        return own;
    }
}
