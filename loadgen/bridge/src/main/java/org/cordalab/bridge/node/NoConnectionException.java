package org.cordalab.bridge.node;

/** Thrown if no RPC connection could be opened for a flow start. Nothing was sent to the node. */
public final class NoConnectionException extends RuntimeException {

    public NoConnectionException(String message, Throwable cause) {
        super(message, cause);
    }

    public NoConnectionException(String message) {
        this(message, null);
    }
}
