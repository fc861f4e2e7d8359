"""Sweeps: many steps from one YAML file, run one after the other, kept as they end, and put together as one run."""
