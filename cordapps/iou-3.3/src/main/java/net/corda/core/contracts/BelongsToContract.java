package net.corda.core.contracts;

/** Corda 4's annotation for states. Only the compiler needs it: Corda 3 does not know it, so the jar leaves it out. */
public @interface BelongsToContract {
    Class<? extends Contract> value();
}
