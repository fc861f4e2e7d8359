package net.corda.core.contracts;

/** Corda 4's annotation of a state, for the compiler alone: Corda 3 neither has nor misses it, so it is not packed. */
public @interface BelongsToContract {
    Class<? extends Contract> value();
}
