"""Sweeps: many steps from one YAML file. They run one after another, are stored one by one and become one run."""
