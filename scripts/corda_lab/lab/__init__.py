"""A lab: what can be asked of it, its settings and shape, and how it is checked, started and stopped."""
