"""The verbs of ``scripts/lab``: each reads its options, calls the package that does the work, and prints the outcome."""
