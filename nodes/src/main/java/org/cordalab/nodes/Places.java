package org.cordalab.nodes;

import java.nio.file.Path;

/** Where the bootstrapper reads and writes. */
final class Places {
    /** The folder {@code configs/} of the checkout. */
    final Path configs;
    /** What every service may read. It contains no keys and no passwords. */
    final Path network;
    /** A folder for each node, of which the node sees its own: keys and settings. */
    final Path nodes;
    /** What only the bootstrapper sees: the keys of the network's root, and all generated passwords. */
    final Path authority;
    /** A folder for each other service, of which the service sees its own: its passwords. */
    final Path secrets;

    Places(Path configs, Path network, Path nodes, Path authority, Path secrets) {
        this.configs = configs;
        this.network = network;
        this.nodes = nodes;
        this.authority = authority;
        this.secrets = secrets;
    }
}
