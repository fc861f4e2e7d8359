"""The folder ``results/``: the folders of runs, their files, and the code that writes and reads them."""
