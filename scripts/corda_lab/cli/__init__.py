"""The verbs of ``scripts/lab``. Each reads its options, calls the package that does the work and prints the result.

A verb imports that package inside its function. The modules import at the top only what the options and their help
need, so ``lab --help`` does not load polars or any other large library.
"""
