"""Workload files and the flows of the running network: lists flows, creates and checks files, resolves names."""
