package org.cordalab.bridge.config;

/**
 * The address of one node's RPC interface.
 *
 * @param name the node's name in the API, in metrics and in messages, such as {@code PartyA}
 */
public record NodeAddress(String name, String host, int port) {}
