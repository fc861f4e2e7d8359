package org.cordalab.flows;

import java.util.List;
import net.corda.core.flows.FlowException;
import net.corda.core.identity.Party;
import net.corda.core.node.ServiceHub;

/**
 * Checks the arguments of flows. An invalid argument causes a {@link FlowException}, because that is the only kind of
 * exception that a node passes to an RPC client unchanged. Its message begins with the name of the argument.
 */
final class Arguments {
    /** The maximum number of states that one flow prepares. */
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
            throw new FlowException(name + " must be a party other than this node, " + party.getName() + ".");
        }
    }

    /** Returns {@code named}, or the first notary of the network if it is null. */
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
