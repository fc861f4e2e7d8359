package org.cordalab.bridge.node;

/** The connection to the node broke, or there is none, so that it is not known what became of a call. */
public final class NodeUnavailableException extends RuntimeException {

    public NodeUnavailableException(String message, Throwable cause) {
        super(message, cause);
    }

    public NodeUnavailableException(String message) {
        this(message, null);
    }
}
