package org.cordalab.bridge.node;

/** Thrown if there is no connection to the node or if it broke, so that the outcome of a call is unknown. */
public final class NodeUnavailableException extends RuntimeException {

    public NodeUnavailableException(String message, Throwable cause) {
        super(message, cause);
    }

    public NodeUnavailableException(String message) {
        this(message, null);
    }
}
