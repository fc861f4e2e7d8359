package org.cordalab.bridge.flow;

import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import org.cordalab.bridge.problem.Problem;

/** Finds states in the vault of one node. */
@FunctionalInterface
public interface StateLookup {

    /**
     * Returns the unconsumed state with this reference.
     *
     * @throws IllegalArgumentException saying that the vault has no such state, or that it is consumed
     * @throws Problem node-unavailable if the node does not answer
     */
    StateAndRef<?> unconsumed(StateRef ref);

    /** Returns a lookup for the arguments of one request, which has one time limit for all its states. */
    default StateLookup forOneRequest() {
        return this;
    }

    /** Returns a lookup for where there is no vault. */
    static StateLookup none() {
        return ref -> {
            throw new IllegalArgumentException("there is no vault to find the state " + ref + " in");
        };
    }
}
