package org.cordalab.timing;

import java.util.Locale;

/** What a flow of the lab spends its time on. The stages of one flow follow one another without gap or overlap. */
public enum Stage {
    /** From the flow's construction, on the thread of the RPC or the peer's message, to its call on the flow thread. */
    WAIT,
    /** Finding the states to consume, here or at a peer, and resolving what is not known of them. */
    SELECT,
    /** Building the transaction. */
    BUILD,
    /** Running the contracts before anything is signed. */
    VERIFY,
    /** Signing; at a responder everything until its signature is on its way, resolving and verifying included. */
    SIGN,
    /** Asking the other parties for their signatures. */
    COLLECT_SIGNATURES,
    /** From the request to the notary to its answer. */
    NOTARISE,
    /** Verifying for the last time, recording here, and sending the transaction to the other parties. */
    FINALISE,
    /** At a responder: waiting for the final transaction, verifying and recording it. */
    RECORD,
    /** Whatever else. */
    OTHER;

    /** The name in metrics, rows and reports. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
