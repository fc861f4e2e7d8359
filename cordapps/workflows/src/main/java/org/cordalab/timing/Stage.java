package org.cordalab.timing;

import java.util.Locale;

/** A stage of one of the lab's flows. The stages of a flow follow one another without gaps or overlaps. */
public enum Stage {
    /** From the flow's construction, on the thread of the RPC or the peer's message, to its call on the flow thread. */
    WAIT,
    /** Finding the states to consume, here or at a peer, and resolving their unknown backchains. */
    SELECT,
    /** Building the transaction. */
    BUILD,
    /** Running the contracts before the first signature. */
    VERIFY,
    /** Signing. For a responder: everything until its signature is sent, including resolving and verifying. */
    SIGN,
    /** Asking the other parties for their signatures. */
    COLLECT_SIGNATURES,
    /** Waiting for the notary, from the request to its answer. */
    NOTARISE,
    /** Verifying for the last time, recording at this node, and sending the transaction to the other parties. */
    FINALISE,
    /** For a responder: waiting for the final transaction, verifying and recording it. */
    RECORD,
    /** Everything else. */
    OTHER;

    /** Returns the stage's name in metrics, rows and reports. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
