"""Corda Benchmark Lab: the command line behind ``scripts/lab``.

The version is defined only here. ``scripts/lab --version`` reads this file before anything is installed, so it imports
nothing and any Python 3 can parse it.
"""

__version__ = "0.2.0"
