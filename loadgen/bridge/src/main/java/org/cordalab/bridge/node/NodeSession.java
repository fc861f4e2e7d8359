package org.cordalab.bridge.node;

import java.util.Optional;
import java.util.Set;
import net.corda.core.contracts.ContractState;
import net.corda.core.crypto.SecureHash;
import net.corda.core.node.services.Vault.StateStatus;
import org.cordalab.bridge.flow.FlowCall;

/**
 * One connection to a node, from login until it breaks.
 *
 * <p>Every method blocks for one RPC round trip, throws {@link NodeUnavailableException} when the connection breaks under
 * it, and passes on whatever exception the node answers with.
 */
public interface NodeSession {

    /** Whether the node knows client ids (Corda 4.6 and later); without them a start cannot be repeated safely. */
    boolean supportsClientIds();

    /**
     * Starts a flow, or attaches to the one that was started under this client id before.
     *
     * @param clientId not used where the node does not support client ids
     */
    StartedFlow start(String clientId, FlowCall call);

    /** Starts a flow that cannot be asked for again: all that versions without client ids can do. */
    StartedFlow startWithoutClientId(FlowCall call);

    /** Attaches to the flow of this client id, running or ended, if the node knows it. */
    Optional<StartedFlow> reattach(String clientId);

    /** Lets the node forget the outcome of an ended flow. */
    void removeClientId(String clientId);

    /** Client ids of all ended flows of this RPC user that the node still keeps the outcome of. */
    Set<String> endedClientIds();

    /** Counts the states of one contract state class in the vault. */
    long count(Class<? extends ContractState> stateType, StateStatus status);

    /**
     * Stores an attachment.
     *
     * @param content a whole jar or zip
     * @return its id; nothing when the node has it already
     */
    Optional<SecureHash> upload(byte[] content, String fileName);

    /** Whether the node has this attachment. */
    boolean hasAttachment(SecureHash id);

    /** Declares the connection broken: calls and flows under way fail, and the node is connected to anew. */
    void discard(Throwable cause);
}
