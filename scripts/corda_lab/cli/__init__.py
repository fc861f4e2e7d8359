"""The verbs of ``scripts/lab``. Each reads its options, calls the package that does the work and prints the result.

Its module is imported when the verb or its help is asked for, so ``lab --help`` loads no large library.
"""
