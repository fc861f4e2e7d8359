package org.cordalab.nodes;

/** Where something listens. */
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
