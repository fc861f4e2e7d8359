"""What the generator and the command line share: workload files, read, checked and rendered, and the terms of a load."""
