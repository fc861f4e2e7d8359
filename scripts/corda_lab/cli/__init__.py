"""The verbs of ``scripts/lab``: each reads its options, calls the package that does the work, and prints the outcome.

A verb imports the package that does its work inside its function. At the top of these modules is only what the options and
their help need, so ``lab --help`` waits for neither polars nor any other large library.
"""
