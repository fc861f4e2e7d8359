"""Workload files: read, checked and rendered by one piece of code, which the generator and the command line share."""
