"""The command line as a test starts it in a separate process: its environment."""

import os

from corda_lab.paths import ROOT

PYTHONPATH = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "loadgen" / "locust")])
"""The value that the launcher sets."""
