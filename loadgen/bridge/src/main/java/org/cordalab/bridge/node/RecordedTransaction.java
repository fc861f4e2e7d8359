package org.cordalab.bridge.node;

import net.corda.core.crypto.SecureHash;

/** What a node without real transactions returns in place of a signed one. */
public record RecordedTransaction(SecureHash id, int signatures) {}
