"""Corda Benchmark Lab: the command line behind ``scripts/lab``."""

__version__ = "0.2.0"
