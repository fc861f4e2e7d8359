package org.cordalab.bridge.node;

import net.corda.core.contracts.StateAndRef;

/** A state of a vault, and whether a transaction has consumed it. */
public record VaultState(StateAndRef<?> state, boolean consumed) {}
