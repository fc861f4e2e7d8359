"""Corda Benchmark Lab: the command line behind ``scripts/lab``."""
