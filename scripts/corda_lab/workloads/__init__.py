"""Workload files and the flows of the running network: list, write, check, resolve."""
