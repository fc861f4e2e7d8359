package org.cordalab.bridge.node;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import net.corda.core.contracts.ContractState;
import net.corda.core.contracts.StateRef;
import net.corda.core.crypto.SecureHash;
import net.corda.core.node.services.Vault.StateStatus;
import org.cordalab.bridge.flow.FlowCall;

/**
 * One connection to a node, from login until it breaks.
 *
 * <p>Every method blocks for one RPC round trip, throws {@link NodeUnavailableException} if the connection breaks
 * during the call, and passes on any exception that the node answers with.
 */
public interface NodeSession {

    /** Returns whether the node supports client ids (Corda ≥ 4.6). Without them, a start cannot be repeated safely. */
    boolean supportsClientIds();

    /**
     * Starts a flow, or attaches to the flow that was started earlier with this client id.
     *
     * @param clientId ignored if the node does not support client ids
     * @throws NoConnectionException if every start has a connection of its own, and none could be opened
     */
    StartedFlow start(String clientId, FlowCall call);

    /** Starts a flow to which no one can reattach. Versions without client ids can do nothing else. */
    StartedFlow startWithoutClientId(FlowCall call);

    /** Attaches to the flow with this client id, running or ended, if the node supports client ids and knows it. */
    Optional<StartedFlow> reattach(String clientId);

    /** Removes the outcome of an ended flow from the node. Does nothing if the flow is running or unknown. */
    void removeClientId(String clientId);

    /** Returns the client ids of all ended flows of this RPC user whose outcome the node still keeps. */
    Set<String> endedClientIds();

    /** Counts the states of one contract state class in the vault. */
    long count(Class<? extends ContractState> stateType, StateStatus status);

    /**
     * Returns the transactions that recorded states of one contract state class in the vault, whether consumed since or
     * not.
     *
     * <p>The states are in the order of their references, and a page is a part of them. A transaction belongs to the
     * page of its first state, so it is in one page only, as long as no state is recorded between the queries.
     *
     * @param since the earliest time at which the node recorded a state
     * @param page 1 for the first page
     * @param pageSize maximum number of states in a page
     */
    VaultTransactions transactions(Class<? extends ContractState> stateType, Instant since, int page, int pageSize);

    /**
     * Returns how many states of each class the vault has recorded and consumed since a time, sorted by class name.
     *
     * @throws org.cordalab.bridge.problem.Problem invalid-request if there are too many states to read
     */
    List<VaultChange> changes(Instant since);

    /** Returns the state with this reference, consumed or not, if it is in the vault. */
    Optional<VaultState> state(StateRef ref);

    /**
     * Stores an attachment.
     *
     * @param content a whole jar or zip file
     * @return the attachment's id, or empty if the node already has it
     */
    Optional<SecureHash> upload(byte[] content, String fileName);

    /** Returns whether the node has this attachment. */
    boolean hasAttachment(SecureHash id);

    /** Declares the connection broken. Pending calls and flows fail, and the node gets a new connection. */
    void discard(Throwable cause);
}
