package org.cordalab.flows;

import java.util.List;
import net.corda.core.flows.FlowException;
import net.corda.core.identity.Party;
import net.corda.core.node.ServiceHub;

/**
 * Checks of a flow's arguments. What is wrong becomes a {@link FlowException}, the one kind of exception that a node
 * passes on to an RPC client unchanged, whose message begins with the argument's name.
 */
final class Arguments {
    /** Most states that one flow makes ready. */
    static final int COUNT_MAX = 10_000;

    private Arguments() {}

    static void requirePositive(String name, long value) throws FlowException {
        if (value <= 0) {
            throw new FlowException(name + " must be positive, but it is " + value + ".");
        }
    }

    static void requireCount(String name, int value, int most) throws FlowException {
        if (value < 1 || value > most) {
            throw new FlowException(name + " must be 1 to " + most + ", but it is " + value + ".");
        }
    }

    static void requireOther(String name, Party party, ServiceHub services) throws FlowException {
        if (services.getMyInfo().isLegalIdentity(party)) {
            throw new FlowException(name + " must be another party than this node, " + party.getName() + ".");
        }
    }

    /** The notary of that name, or the first of the network where none is named. */
    static Party notary(Party named, ServiceHub services) throws FlowException {
        List<Party> notaries = services.getNetworkMapCache().getNotaryIdentities();
        if (notaries.isEmpty()) {
            throw new FlowException("The network parameters name no notary, so no transaction can be finalised.");
        }
        if (named != null && !notaries.contains(named)) {
            throw new FlowException("notaryName must be a notary of this network, but it is " + named.getName() + ".");
        }
        return named == null ? notaries.get(0) : named;
    }
}
