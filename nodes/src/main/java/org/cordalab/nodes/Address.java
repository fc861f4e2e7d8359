package org.cordalab.nodes;

/** A host and a port. */
final class Address {
    final String host;
    final int port;

    Address(String host, int port) {
        this.host = host;
        this.port = port;
    }

    @Override
    public String toString() {
        return host + ":" + port;
    }
}
