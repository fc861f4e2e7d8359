"""``lab bench repeats``: how much repeats of one load vary on this machine."""
