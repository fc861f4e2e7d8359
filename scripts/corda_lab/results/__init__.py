"""The folder ``results/``: run folders, their files, and how they are read back."""
